"""The recommended model as a folder that sentence-transformers loads, checked to be the model that was scored."""

from __future__ import annotations

import importlib.util
import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cseb.advice.conclusion import Recommendation
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadResults, BadSpec
from cseb.experiment.export import POOLING
from cseb.methods.grammar import parse_method
from cseb.registry import SLOTS
from cseb.tasks.evaluate import load_task
from cseb.tasks.pairs import row_cosine
from cseb.tasks.task import Items

CLOSE = 1e-3  # of cosines
TEXTS = 200  # whose vectors are compared
CARD = """
## Recommendation

{found}

This is the model that was scored: after export, its vectors were compared through sentence-transformers.
"""


def check_target(out: Path, methods: Sequence[str]) -> None:
    """Refuse a folder or a method that no model can be written of, before anything trains. Raises: CsebError."""
    for label in methods:
        method = parse_method(label).at(1.0)
        if method.tuning is not None and getattr(SLOTS["tuning"][method.tuning.name], "stays", False):
            raise BadSpec(
                f"{label} adds {method.tuning.name}, which sentence-transformers cannot load; leave `out` out"
            )
        if method.pooler.name not in POOLING:
            raise BadSpec(f"{label} pools with {method.pooler.name}, which sentence-transformers lacks; add +mean")
    if importlib.util.find_spec("sentence_transformers") is None:
        raise BadSpec("`out` needs sentence-transformers to check the model: pip install 'cseb[st]'")
    if out.exists() and not (out.is_dir() and ((out / "cseb.json").is_file() or not any(out.iterdir()))):
        raise BadResults(f"{out} exists and contains no model written by cseb; choose another folder")
    if not out.parent.is_dir():
        raise BadResults(f"{out} cannot be written: the folder {out.parent} does not exist; create it first")


def pooler_of(folder: Path) -> str:
    """Return the pooling that a folder of sentence-transformers names; `mean` for any but `cls`."""
    try:
        settings = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "mean"
    return "cls" if settings.get("pooling_mode_cls_token") or settings.get("pooling_mode") == "cls" else "mean"


def export(source: Path, out: Path, found: Recommendation, items: Items, task: str, data_dir: str) -> None:
    """Copy a saved model to `out` with a card, and replace an older one there, if it is the model that was scored.

    items: what the scored model did on each example of `task`. Raises: BadResults.
    """
    part = out.with_name(f".{out.name}.{uuid.uuid4().hex}.tmp")
    try:
        shutil.copytree(source, part)
        check_round_trip(source, part, items, task, data_dir)
        card = (part / "README.md").read_text("utf-8").replace(str(source), str(out))
        text = str(found).replace("\n\n", "\n\n```\n", 1) + "\n```"
        (part / "README.md").write_text(card + CARD.format(found=text), encoding="utf-8")
        if out.is_dir():
            shutil.rmtree(out)
        part.rename(out)
    except OSError as error:
        raise BadResults(f"{out} cannot be written: {error.strerror or error}; choose another folder") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_round_trip(scored: Path, written: Path, items: Items, task: str, data_dir: str) -> None:
    """Compare a folder, loaded by sentence-transformers, with the scored model: its vectors, and its examples.

    The options are those of `export`. Raises: BadResults if they differ.
    """
    loaded = load_task(task, Path(data_dir) if data_dir else None)
    embed = find(f"st:{written}", EncoderOptions()).open()
    texts = loaded.sentences()[:TEXTS]
    cosine = float(row_cosine(find(str(scored), EncoderOptions()).open()(texts), embed(texts)).min())
    close = np.asarray(np.isclose(items, loaded.items(embed), atol=CLOSE)).reshape(len(items), -1)
    other = int((~close).any(axis=1).sum())
    if not cosine >= 1 - CLOSE or other > max(1, len(items) // 100):  # rounding may change a prediction
        raise BadResults(
            "the exported model is not the model that was scored: loaded by sentence-transformers, its vectors have a "
            f"cosine of {cosine:.3f} with those of the scored model, and {other} of {len(items)} examples differ. "
            "Use a method pooled by mean or cls"
        )
