"""The files that come with cseb: encoders, benchmarks, published numbers, and the records that `cseb check` expects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).parents[1]
_OPEN = _PACKAGE / "open_data" / "encoders"


class ShippedEncoder(NamedTuple):
    """An encoder inside the package: its folder, what `cseb show encoders` says of it, and its `encoder_sha256`."""

    folder: Path
    what: str
    sha256: str


ENCODERS: Mapping[str, ShippedEncoder] = {
    "cseb-tiny": ShippedEncoder(
        _OPEN / "cseb-tiny",
        "comes with cseb: BERT of 2 layers x 128, pre-trained on real English",
        "3cb7d5cff2f09059a1658115dc07b32bd7d4d2fcc7fa379cb97b9066eb764e60",
    ),
    "cseb-mini": ShippedEncoder(
        _OPEN / "cseb-mini",
        "comes with cseb: BERT of 4 layers x 256, pre-trained on real English",
        "4bc04c39c00296da54823468cbb379677d94c9705eb50bc91d0360b807b02fd1",
    ),
    "cseb-tiny-decoder": ShippedEncoder(
        _OPEN / "cseb-tiny-decoder",
        "comes with cseb: decoder (Llama) of 2 layers x 128, pre-trained on real English",
        "dd3a7438d0d3eeb6aa6f3750a16ad7e083f8f8322bfd71d057b7dc14aa211dd9",
    ),
}


def benchmarks() -> Path:
    """Return the folder of built-in benchmarks: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "benchmarks"
    return inside if inside.is_dir() else _PACKAGE.parent / "benchmarks"


def benchmark_names() -> list[str]:
    """Names of the built-in benchmarks, sorted."""
    return sorted(path.stem for path in benchmarks().glob("*.yaml"))


def schema(name: str) -> Path:
    """Return the file of the JSON Schema of a `record` or a `benchmark`."""
    return benchmarks() / "schema" / f"{name}.json"


def published_scores() -> Path:
    """Return the file of scores that papers report. It may be absent."""
    return benchmarks() / "published" / "scores.csv"
