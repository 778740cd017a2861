from __future__ import annotations

import io
import json
import random
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import altered, damaged, dumped, number, odd, text, value, zip_bomb

pytestmark = pytest.mark.slow
FIELDS = ("method", "resolved", "benchmark", "encoder", "corpus", "outside", "subset", "seed", "vary", "protocol",
"scores", "trace",
          "failure", "cost", "origin", "data_seen", "status")  # fmt: skip
VALUES = (1e308, -1e308, 5e-324, 1e300, -0.0, 0.0, 100.0, 1e9, None, 3, -1)
ITEMS = (np.inf, -np.inf, np.nan, 1e38, -1e38, 0.0, 1.0)
FORMATS = ("terminal", "markdown", "latex", "csv", "json", "html")


def test_records_are_read_or_named(fuzz: Fuzz) -> None:
    fuzz.run("records", 350, _make)


def test_archives_of_items_that_fill_memory_are_refused(fuzz: Fuzz) -> None:
    def make(case: Case) -> None:
        results, key = _copied(case, "results")
        with np.load(results / f"items/{key}.npz") as held:
            names = held.files
        zip_bomb(results / f"items/{key}.npz", names[:1])
        case.then("compare", "results", "--baseline", "cls")
        case.then("verify", "results")

    fuzz.run("bombs", 1, make)


def _copied(case: Case, name: str) -> tuple[Path, str]:
    """The records to spoil, and the key of one of them."""
    results = case.folder / "results"
    shutil.copytree(case.data / name, results)
    return results, case.rng.choice(sorted(path.stem for path in (results / "runs").iterdir()))


def _make(case: Case) -> None:
    rng = case.rng
    name = "results" if rng.random() < 0.75 else "demo"
    results, key = _copied(case, name)
    for _ in range(rng.choice((1, 1, 2, 4))):
        key = rng.choice(sorted(path.stem for path in (results / "runs").iterdir() if len(path.stem) == 16))
        way = rng.choice((_fields, _fields, _numbers, _numbers, _all, _bytes, _items, _items, _place, _beside))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # numbers that no longer fit are what is wanted
            way(case, results, key)
    for command in rng.sample(
        _commands(rng, key, "toy-captions,toy-forum" if name == "results" else "open"), rng.choice((1, 2))
    ):
        case.then(*command)


def _commands(rng: random.Random, key: str, tasks: str) -> list[tuple[str, ...]]:
    form = rng.choice(FORMATS)
    items = rng.choice(
        ((), ("--mark", "examples"), ("--spread", "ci95"), ("--checkpoint", "both"), ("--mixed",), ("--tasks", tasks))
    )
    table = rng.choice(((), ("--table", "tasks"), ("--by", "encoder"), ("--table", "ablation", "--baseline", "cls"),
                        ("--table", "sensitivity", "--option", "recipe.batch_size"), ("--against",
                        "published")))  # fmt: skip
    return [
        ("report", "results", "--format", form, *items),
        ("report", "results", "--format", form, *table),
        (
            "report",
            "results",
            "--mixed",
            "--mark",
            "items",
            "--by",
            rng.choice(("method", "encoder", "fraction", "task")),
        ),
        (
            "compare",
            "results",
            "--format",
            rng.choice(FORMATS[:5]),
            *rng.choice(((), ("--all-pairs",), ("--detail",))),
        ),
        ("compare", "results", "--format", "json", "--baseline", "cls"),
        (
            "plot",
            "results",
            "--out",
            "p.svg",
            "--kind",
            rng.choice(("curves", "gain", "seeds", "training", "geometry")),
        ),
        ("status", "results"),
        ("show", key, rng.choice(("published", "../sound/results", "../sound/demo")), "--results", "results"),
        ("show", "results", rng.choice(("../sound/results", "../sound/demo", "results"))),
        ("verify", "results"),
        ("show", key, "--results", "results"),
        ("show", f"results/runs/{key}.json"),
        ("check", "demo", "--results", "results"),
        ("check", "demo", "--results", "results", "--against", "published"),
        ("run", "results/benchmark-world.yaml", "--results", "results", "--dry-run"),
        ("rerun", key, "--results", "results"),
    ]


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and not path.is_symlink():
        path.write_bytes(content)


def _read(path: Path) -> dict[str, object] | None:
    try:
        held = json.loads(path.read_bytes()) if path.is_file() and path.stat().st_size < 1 << 20 else None
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None


def _fields(case: Case, results: Path, key: str) -> None:
    """One field becomes something else, of the same type or any."""
    rng, path = case.rng, results / f"runs/{key}.json"
    if (held := _read(path)) is None:
        return
    field = rng.choice(FIELDS)
    old = held.get(field)
    if isinstance(old, str):
        held[field] = rng.choice(
            (text(rng), old + text(rng), number(rng), "simcse+" + text(rng), old.replace("=", text(rng)))
        )
    elif isinstance(old, dict | list) and old:
        held[field] = altered(rng, old)
    else:
        held[field] = value(rng)
    case.notes.append(f"{key}, {field}: {str(held[field])[:150]!r}")
    _write(path, dumped(rng, held))


def _texts(rng: random.Random, held: object) -> object:
    """The same with foreign texts where texts were."""
    if isinstance(held, dict):
        return {key: _texts(rng, one) for key, one in held.items()}
    if isinstance(held, list):
        return [_texts(rng, one) for one in held]
    return held + text(rng) if isinstance(held, str) and rng.random() < 0.3 else held


def _all(case: Case, results: Path, key: str) -> None:
    """Every record gets the same foreign text in a place."""
    rng = case.rng
    field, mark = (
        rng.choice((("encoder", "name"), ("corpus", "name"), ("origin", "machine"), ("method", ""), ("benchmark", ""))),
        text(rng),
    )
    for path in sorted((results / "runs").glob("*.json")):
        if (held := _read(path)) is None:
            continue
        if field[1]:
            inside = held.get(field[0])
            if isinstance(inside, dict):
                inside[field[1]] = mark
        else:
            held[field[0]] = mark
        _write(path, dumped(rng, held))
    case.notes.append(f"everywhere {'.'.join(field)}: {mark!r}")


def _numbers(case: Case, results: Path, key: str) -> None:
    """Figures that are extreme, equal or missing, in one record or in all."""
    rng = case.rng
    mark = rng.choice(VALUES)
    for path in sorted((results / "runs").glob("*.json")) if rng.random() < 0.4 else [results / f"runs/{key}.json"]:
        held = _read(path)
        scores = held.get("scores") if held else None
        if not isinstance(scores, list):
            continue
        for score in scores:
            if isinstance(score, dict) and rng.random() < 0.7:
                field = rng.choice(("value", "value", "items", "detail"))
                score[field] = (
                    {"spearman.all": mark}
                    if field == "detail"
                    else mark
                    if field == "value"
                    else rng.choice((0, 1, 10**9, -1))
                )
        if held is not None and rng.random() < 0.3:
            held["trace"] = {
                "steps": 1,
                "best_step": 1,
                "curve": [[rng.choice((0, -5, 10**9)), mark or 0.0, mark]],
                "notes": [],
                "along": [],
            }
        if held is not None and rng.random() < 0.3:
            held["cost"] = {
                "train_seconds": mark or 0.0,
                "score_seconds": 1e308,
                "peak_rss_mb": 1e308,
                "cpu_seconds": mark,
            }
        _write(path, dumped(rng, held))
    case.notes.append(f"figures of {mark}")


def _bytes(case: Case, results: Path, key: str) -> None:
    path = case.rng.choice(
        (
            results / f"runs/{key}.json",
            results / "benchmark-world.yaml",
            results / "plan-world.tsv",
            results / "reference.json",
        )
    )
    if path.is_file():
        path.write_bytes(damaged(case.rng, path.read_bytes()))
        case.notes.append(f"{path.name} damaged")


def _items(case: Case, results: Path, key: str) -> None:
    """Scores per item: extreme, of another shape, type or name, and archives that are none."""
    rng, path = case.rng, results / f"items/{key}.npz"
    if not path.is_file() or path.is_symlink():
        return
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
    except Exception:
        return  # spoilt before
    for name in rng.sample(sorted(held), min(len(held), rng.randrange(1, 4))):
        old = held[name]
        spoilt = old.copy()
        spoilt[rng.randrange(len(old)) if len(old) and spoilt.ndim else ...] = rng.choice(ITEMS)
        held[name] = rng.choice((
            spoilt, np.full_like(old, rng.choice(ITEMS)), old[:-1], old[:0], np.float32(1.0), old.reshape(1, -1),
            old.astype(np.float64) * 1e300,
            old.astype(np.complex64), np.array(["a"] * len(old) if old.ndim else "a"), np.array([text(rng)] * 3),
            old.astype(bool), old[::-1],
            np.array([b"\0"]), np.zeros((2, 3, 4), np.float32), old.astype(">f4"), np.array([], np.float32),
        ))  # fmt: skip
        if rng.random() < 0.1:
            held[rng.choice(("a/best", "toy-captions@9/best", "x" * 200, "..", "é"))] = held.pop(name)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **held)
    path.write_bytes(buffer.getvalue() if rng.random() < 0.8 else damaged(rng, buffer.getvalue()))
    case.notes.append(f"items of {key}: { {name: (one.dtype.str, one.shape) for name, one in list(held.items())[:4]} }")


def _place(case: Case, results: Path, key: str) -> None:
    """Something that is no file where a file or folder belongs."""
    places = (
        f"runs/{key}.json",
        f"items/{key}.npz",
        "items",
        "benchmark-world.yaml",
        "plan-world.tsv",
        "running",
    )
    path = results / case.rng.choice(places)
    if path.parent.is_dir():
        case.notes.append(f"{path.name}: {odd(case.rng, path)}")


def _beside(case: Case, results: Path, key: str) -> None:
    """Files that cseb keeps beside the records, with content of somebody else's."""
    rng = case.rng
    name = rng.choice(
        (
            "plan-x.tsv",
            f"broken/{key}.json",
            f"running/{key}.json",
            "runs/x.json",
            "reference.json",
        )
    )
    path = results / name
    if path.parent.is_symlink() or path.parent.is_file():
        return
    path.parent.mkdir(exist_ok=True)
    if path.exists() or rng.random() < 0.4:
        case.notes.append(f"{name}: {odd(rng, path)}")
    else:
        content = rng.choice(
            (
                dumped(rng, value(rng)),
                text(rng).encode("utf-8", "surrogatepass"),
                b"[" * 100_000,
                b'{"toy-dev": ' + number(rng).encode() + b"}",
            )
        )
        path.write_bytes(content)
        case.notes.append(f"{name}: {content[:80]!r}")
