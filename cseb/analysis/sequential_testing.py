"""Interim analyses of a growing study: each one raises the rate of false positives."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cseb.analysis.study import Study
from cseb.data.bounded import read_json
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.records.bookkeeping import LOOKS, is_own

MOST = 1_000_000  # seeds


def interim_analysis(folder: Path, study: Study) -> str:
    """Remember in `folder` that this study was judged with so many seeds; what is to be said of it, or "".

    A look is a number of seeds, so that looking twice at the same results counts once. Nothing is remembered in a
    folder that no grid was run into, such as that of expected records or of somebody else: it does not grow, and what
    reads it leaves it as it is. Nor in one that cannot be written.
    """
    path, name = folder / LOOKS, _identity(study)
    if path.exists() and not path.is_file():
        return f"This interim analysis is not recorded: {LOOKS} is no file."
    held = _read(path)
    seeds = sorted({*held.get(name, []), len({record.seed for record in study.records})})
    if seeds != held.get(name) and is_own(folder):
        try:
            write_whole(path, [json.dumps(held | {name: seeds}, indent=2, sort_keys=True).encode() + b"\n"])
        except OSError:
            return "This interim analysis is not recorded: the folder cannot be written."
    if len(seeds) == 1:
        return ""
    counts = ", ".join(map(str, seeds))
    return (
        f"Sequential testing: {len(seeds)} analyses, with {counts} seeds; p-values are not corrected for this, and "
        "adding seeds until a difference is significant inflates false positives."
    )


def _identity(study: Study) -> str:
    """The same while seeds are added: encoder, corpus and what is measured."""
    first = study.records[0]
    text = "\n".join((first.encoder.sha256, first.corpus.sha256, *first.protocol.tasks, first.protocol.dev))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(path: Path) -> dict[str, list[int]]:
    """What was remembered; a damaged file is begun anew."""
    try:
        found = read_json(path) if path.exists() else {}
    except (BadData, OSError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(name): [seed for seed in seeds if isinstance(seed, int) and 0 < seed <= MOST]
        for name, seeds in found.items()
        if isinstance(seeds, list)
    }
