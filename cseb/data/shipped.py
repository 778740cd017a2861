"""The files that come with cseb: benchmarks, published numbers and the records that `cseb check` expects."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def benchmarks() -> Path:
    """The folder of built-in benchmarks: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "benchmarks"
    return inside if inside.is_dir() else _PACKAGE.parent / "benchmarks"


def benchmark_names() -> list[str]:
    """Names of the built-in benchmarks, sorted."""
    return sorted(path.stem for path in benchmarks().glob("*.yaml"))


def published(name: str) -> Path:
    """Numbers from papers: `scores` of their tables, `claims` of their text. The file may be absent."""
    return benchmarks() / "published" / f"{name}.csv"
