"""The recommended model as a folder that sentence-transformers loads: a copy of the scored and checked one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from cseb.advice.conclusion import Recommendation
from cseb.data.files import whole_folder, written
from cseb.data.finished_models import refuse_taken
from cseb.errors import BadResults, BadSpec
from cseb.methods.grammar import parse_method
from cseb.methods.spec import refuse_unsaved

CARD = """
## Recommendation

{recommendation}

This is the model that was scored: when it was saved, its vectors were compared with those of the scored one.
"""


def check(methods: Sequence[str], out: Path | None) -> None:
    """Refuse methods that do not train or cannot be saved, and a folder that cannot be written. Raises: CsebError."""
    for label in methods:
        method = parse_method(label).at(1.0)
        if not dict(method.recipe.options)["steps"]:
            raise BadSpec(f"{label} does not train; untrained poolings are always among the baselines")
        if out:
            refuse_unsaved(label, method)
    if out:
        refuse_taken(out)
        if not out.parent.is_dir():
            raise BadResults(f"{out} cannot be written: the folder {out.parent} does not exist; create it first")


def pooler_of(folder: Path) -> str:
    """Return the pooling that a folder of sentence-transformers names; `mean` for any but `cls`."""
    try:
        settings = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "mean"
    return "cls" if settings.get("pooling_mode_cls_token") or settings.get("pooling_mode") == "cls" else "mean"


def export(source: Path, out: Path, recommendation: Recommendation) -> None:
    """Copy a saved model to `out` with a card, and replace an older one there. Raises: BadResults."""
    with written(out), whole_folder(out, replaced=True) as staged:
        shutil.copytree(source, staged, dirs_exist_ok=True)
        card = (staged / "README.md").read_text("utf-8").replace(str(source), str(out))
        text = str(recommendation).replace("\n\n", "\n\n```\n", 1) + "\n```"
        (staged / "README.md").write_text(card + CARD.format(recommendation=text), encoding="utf-8")
