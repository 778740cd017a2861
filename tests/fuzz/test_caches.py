from __future__ import annotations

import hashlib
import io
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.harness import Case, Ended, Fuzz
from tests.fuzz.hostile import damaged, odd, text, zip_bomb

pytestmark = pytest.mark.slow
WORDS = (0, 1, 2**31, 2**32 - 1)  # what the numbers in a block's head may say


def test_caches_are_used_or_made_again(fuzz: Fuzz) -> None:
    """Whatever lies in a cache, the score is that of the encoder."""
    fuzz.run("caches", 120, _make, _same_score)


def _make(case: Case) -> None:
    rng, case.owned = case.rng, True
    shutil.copytree(case.data / "cache", case.folder / "cache")
    block = next(path for path in (case.folder / "cache").rglob("*") if path.is_file())
    roll = rng.random()
    if roll < 0.15:
        case.notes.append(odd(rng, block))
    elif roll < 0.25:
        case.notes.append(odd(rng, rng.choice((block.parent, block.parent.parent))))
    elif roll < 0.45:
        block.write_bytes(damaged(rng, block.read_bytes()))
    elif roll < 0.6:
        _head(case, block)
    elif roll < 0.8:
        _of_another(case, block)
    else:
        _archive(case, block)
    if rng.random() < 0.7:
        _named_by_content(block)
    case.then("eval", "../sound/tiny", "--pooler", "mean", "--tasks", "../sound/pairs.tsv", "--cache", "cache")


def _head(case: Case, block: Path) -> None:
    """Sizes that are wrong; perhaps the file is as long as they say."""
    content, place = bytearray(block.read_bytes()), case.rng.choice((0, 4, 8, 12, 16))
    content[place : place + 4] = case.rng.choice(WORDS).to_bytes(4, "little")
    block.write_bytes(content)
    if case.rng.random() < 0.3:
        with block.open("ab") as file:
            file.truncate(5 << 29)
    case.notes.append(f"bytes {place} to {place + 4} of the block")


def _of_another(case: Case, block: Path) -> None:
    """The block of another pooler in its place, or beside it."""
    others = [path for path in (case.data / "other-cache").rglob("*") if path.is_file()]
    if case.rng.random() < 0.5:
        block.unlink()
    for other in others:
        shutil.copy(other, block.parent / case.rng.choice((other.name, f"{'0' * 64}{other.suffix}")))
    case.notes.append("vectors of another pooler")


def _archive(case: Case, block: Path) -> None:
    """A NumPy archive of the names one may expect in it: odd shapes, types and sizes."""
    rng = case.rng
    if rng.random() < 0.1:
        zip_bomb(block, ("names", "vectors"))
        return
    names = np.zeros((8, 16), np.uint8)
    ways = (
        np.zeros((8, 16), np.float32),
        np.float32(0),
        np.zeros(0),
        np.array([text(rng)] * 3),
        np.array([{}], dtype=object),
        names,
    )
    buffer = io.BytesIO()
    np.savez(buffer, names=rng.choice((names, *ways)), vectors=rng.choice(ways))
    block.write_bytes(buffer.getvalue())
    block.rename(block.with_suffix(".npz"))


def _named_by_content(block: Path) -> None:
    for path in (block, block.with_suffix(".npz")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
            path.rename(path.with_name(f"{hashlib.sha256(path.read_bytes()).hexdigest()}{path.suffix}"))


def _same_score(case: Case, ended: list[Ended]) -> list[str]:
    """The sound score is that of the session's own evaluation."""
    last, wanted = ended[-1], _sound_score(case)
    shown = last.output.splitlines()[-1:]
    return [f"the score is {shown}, not {wanted}"] if last.code == 0 and wanted not in last.output else []


def _sound_score(case: Case) -> str:
    from cseb.records.store import Store

    records, _ = Store(case.data / "cached").load()
    value = next(one.scores[0].value for one in records if one.encoder.name.endswith("tiny"))
    return f"{value:.2f}"
