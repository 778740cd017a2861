"""How often the verdicts of a study were looked at while it grew: the more looks, the more are wrong by chance."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cseb.data.files import write_whole
from cseb.results.study import Study

FILE = "looks.json"


def look(folder: Path, study: Study) -> str:
    """Remember in `folder` that this study was judged with so many seeds; what is to be said of it, or "".

    A look is a number of seeds, so that looking twice at the same results counts once. Nothing is remembered in a
    folder that cannot be written.
    """
    path, name = folder / FILE, _identity(study)
    held = _read(path)
    seeds = sorted({*held.get(name, []), len({record.seed for record in study.records})})
    if seeds != held.get(name):
        try:
            write_whole(path, [json.dumps(held | {name: seeds}, indent=2, sort_keys=True).encode() + b"\n"])
        except OSError:
            return "This look at the verdicts is not recorded: the folder cannot be written."
    if len(seeds) == 1:
        return ""
    counts = ", ".join(map(str, seeds))
    return f"looks: {len(seeds)}, with {counts} seeds; stopping when a verdict pleases does not hold the error rate."


def _identity(study: Study) -> str:
    """The same while seeds are added: encoder, corpus and what is measured."""
    first = study.records[0]
    text = "\n".join((first.encoder.sha256, first.corpus.sha256, *first.protocol.tasks, first.protocol.dev))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(path: Path) -> dict[str, list[int]]:
    """What was remembered; a damaged file is begun anew."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(name): [seed for seed in seeds if isinstance(seed, int)]
        for name, seeds in found.items()
        if isinstance(seeds, list)
    }
