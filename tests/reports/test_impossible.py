"""Numbers that no job gives: their files are refused in a line, named and counted, and every command goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cseb.records.store import Store
from tests.command_line import call, printed
from tests.factory import record

Change = Callable[[dict[str, Any]], None]


def to(*path: str | int, value: object) -> Change:
    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


CHANGES: dict[str, Change] = {
    "score": to("scores", 0, "value", value=1e308),
    "score of -1e308": to("scores", 2, "value", value=-1e308),
    "detail": to("scores", 0, "detail", "spearman.mean", value=1e308),
    "seconds": to("cost", "train_seconds", value=1e308),
    "memory": to("cost", "peak_rss_mb", value=-1.0),
    "loss": to("trace", "curve", 0, 1, value=1e308),
    "dev points": to("trace", "curve", 1, 2, value=1e308),
    "steps": to("trace", "steps", value=10**400),
    "sentences": to("subset", "size", value=10**400),
    "share": to("subset", "fraction", value=5e-324),
    "seed": to("seed", value=10**400),
    "items": to("scores", 0, "items", value=10**400),
    "pairs": to("protocol", "dev_pairs", value=10**400),
}


@pytest.fixture
def folder(store: Store) -> Path:
    for method in ("simcse", "micse"):
        for seed in range(3):
            store.write(record(method, seed=seed, values=(50.0 + seed, 60.0, 70.0)), {})
    return store.folder


def spoil(folder: Path, change: Change) -> str:
    """Change the first record of micse; its key."""
    path, result = next(
        (path, result)
        for path in sorted((folder / "runs").iterdir())
        if (result := json.loads(path.read_bytes()))["method"] == "micse"
    )
    change(result)
    path.write_text(json.dumps(result))
    return path.stem


@pytest.mark.parametrize("name", CHANGES)
def test_a_record_that_cannot_be_is_left_out_and_counted(folder: Path, name: str) -> None:
    key = spoil(folder, CHANGES[name])
    shown = printed("report", folder, "--detail")
    assert "Excluded as unreadable: 1 file:" in " ".join(shown.split())
    assert key in shown
    plot = ["plot", "--out", folder / "plot.svg"]
    for command in (["compare"], ["status"], plot):
        result = printed(command[0], folder, *command[1:])
        assert "inf" not in result.split()
        assert "nan" not in result.split()
    for name in ("report", "compare"):
        text = call(name, folder, "--format", "json").stdout
        json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
