"""What commands leave in a folder of results besides results: of this machine, not for version control."""

from __future__ import annotations

import contextlib
from pathlib import Path

PLANS = "plan-*.tsv"  # the jobs of the grids that `cseb run` was asked for
HIDDEN = (".gitignore", ".*.tmp", PLANS, "running/", "slurm/")


def hide(folder: Path) -> None:
    """Have git leave these alone, in whoever's repository the folder lies; records stay the user's own choice.

    A `.gitignore` that is there already is the user's.
    """
    text = "# of this machine; records, items and models are yours to keep or to ignore\n" + "".join(
        f"/{name}\n" for name in HIDDEN
    )
    with contextlib.suppress(OSError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write(text)
