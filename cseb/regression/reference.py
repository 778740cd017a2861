"""The file beside expected records: their conditions, digests of their scores per example, and repeatability.

Repeatability: two runs of one job differ by less than 2.8 standard deviations of such repeats in 95 of 100 cases
(ISO 5725-6, section 4.1). That is 1.96 sqrt(2) for one pair. For many cells the 5 of 100 are shared (Bonferroni).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from cseb.data.bounded import MIB, read_bytes
from cseb.data.files import write_whole
from cseb.errors import BadData, BadResults
from cseb.processor import processor
from cseb.records.items import Items
from cseb.records.record import Record

FILE = "reference.json"
RISK = 0.05  # of reporting a drift of any cell when there is none
FLOOR = 0.01  # points: 1e-4 of a correlation, which sums in another order can change
LEAST = 5  # repeats needed to estimate a standard deviation

Conditions = dict[str, str]  # such as {"cpu": "...", "torch": "2.9.0"}


class Repeatability(BaseModel):
    """Variation of repeated cells. sd: points, by method. varied: what differed between the repeats."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    repeats: Annotated[int, Field(ge=LEAST)]
    cells: str
    varied: str
    conditions: Conditions
    sd: dict[str, Annotated[FiniteFloat, Field(ge=0)]]

    def limit(self, method: str, cells: int = 1) -> float | None:
        """Return the points that each of `cells` averages may change by; None for a method that was not repeated."""
        if method not in self.sd:
            return None
        factor = sqrt(2) * NormalDist().inv_cdf(1 - RISK / (2 * max(cells, 1)))
        return max(factor * self.sd[method], FLOOR)


class Reference(BaseModel):
    """The content of the file. items: digests of scores per example by key and checkpoint, such as "KEY/best"."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    conditions: Conditions = {}
    items: dict[str, str] = {}
    repeatability: Repeatability | None = None


def one_prediction(record: Record) -> float:
    """Return the points by which one changed prediction changes the average over tasks; 0 without accuracies.

    Accuracies are rounded to two decimals, so that one of them may move by 0.01 more.
    """
    tasks = len({score.task for score in record.scores})
    counted = [100 / score.items + 0.01 for score in record.scores if "accuracy" in score.detail]
    return max(counted) / tasks if counted else 0.0


def read(folder: Path) -> Reference:
    """Return the reference of a folder of expected records; an empty one if it has none. Raises: BadResults."""
    path = folder / FILE
    try:
        return Reference.model_validate_json(read_bytes(path, 64 * MIB)) if path.exists() else Reference()
    except (OSError, BadData) as error:
        raise BadResults(str(error)) from None
    except ValidationError as error:
        raise BadResults(f"{path} is no reference: {error.errors()[0]['msg']}; make it again with --update") from None


def write(folder: Path, reference: Reference) -> None:
    """Store a reference beside the records. Raises: BadResults."""
    try:
        write_whole(folder / FILE, [reference.model_dump_json(indent=1).encode() + b"\n"])
    except OSError as error:
        raise BadResults(f"{folder / FILE} cannot be written: {error.strerror}") from None


def conditions(records: Iterable[Record]) -> Conditions:
    """Return what changes the rounding of sums: processor, device, threads, number format, libraries."""
    origins = {(run.origin.machine, run.origin.device, run.origin.dtype, run.protocol.threads) for run in records}
    machine, device, dtype, threads = (
        "/".join(sorted({str(origin[place]) for origin in origins})) for place in range(4)
    )
    versions = {name: version for record in records for name, version in record.origin.versions.items()}
    names = {"cpu": processor(), "machine": machine, "device": device, "dtype": dtype, "threads": threads}
    linear = "/".join(sorted({record.origin.linear for record in records} - {""}))
    return names | versions | ({"linear": linear} if linear else {})


def differing(here: Conditions, there: Conditions) -> list[str]:
    """Return the names of the conditions in which two runs differ."""
    return [name for name in {**there, **here} if here.get(name) != there.get(name)]


def condition_difference(here: Conditions, there: Conditions) -> str:
    """Return the conditions in which two runs differ, with both values; "" if there are none."""
    return ", ".join(
        f"{name} is {here.get(name, 'none')} here, {there.get(name, 'none')} there" for name in differing(here, there)
    )


def digests(key: str, items: Mapping[str, Items]) -> dict[str, str]:
    """Return a digest of all scores per example for each checkpoint of a record."""
    digests_by_select = {}
    for select in sorted({name.rpartition("/")[2] for name in items}):
        digest = hashlib.sha256()
        for name in sorted(name for name in items if name.endswith(f"/{select}")):
            values = np.ascontiguousarray(items[name], dtype="<f4")
            digest.update(f"{name} {values.shape}".encode() + values.tobytes())
        digests_by_select[f"{key}/{select}"] = digest.hexdigest()[:32]
    return digests_by_select
