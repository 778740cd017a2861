"""Files of this machine in a folder of results, which do not belong into version control."""

from __future__ import annotations

import contextlib
from pathlib import Path

PLANS = "plan-*.tsv"  # the jobs of grids
HIDDEN = (".gitignore", ".*.tmp", PLANS, "running/", "slurm/")


def hide(folder: Path) -> None:
    """Write a `.gitignore` for these files, unless the folder has one; records, items and models are not listed."""
    text = "".join(f"{line}\n" for line in ("# of this machine", *(f"/{name}" for name in HIDDEN)))
    with contextlib.suppress(OSError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write(text)
