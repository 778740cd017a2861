"""Systems in the tables of the five papers that do not run here, each with the reason: for docs and listings."""

from __future__ import annotations

from collections.abc import Mapping

# By their names in benchmarks/published/scores.csv.
NOT_OFFERED: Mapping[str, str] = {
    "osscse": "no code was found and its abstract leaves generators, loss and every number open",
    "clsep": "printed is its supervised form, whose code was not read; without labels it is `clsep-unsup`",
    "sroberta": "a finished encoder: `cseb eval FOLDER --pooler mean`",
    "skip-thought": "learns from books read in order, for days",
}
