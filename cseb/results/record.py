"""The record of one finished job: every score, and all that is needed to get it again."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from pydantic.dataclasses import dataclass

SCHEMA: Final = 1
Select = Literal["best", "last"]
Vary = Literal["all", "subset", "init", "order", "dropout"]  # as cseb.streams has them
Share = Annotated[float, Field(gt=0, le=1)]


# No field too many, no field too few, no guessing of types. The pieces of a record are dataclasses rather than models:
# ten thousand records then take two thirds of the memory.
STRICT = ConfigDict(extra="forbid", strict=True, ser_json_inf_nan="null")


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Source:
    """A corpus or an encoder: the name a user typed, and the sha256 of what it was."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Subset:
    """The sentences trained on: how many, which share of the corpus, and the sha256 of exactly these."""

    size: Annotated[int, Field(ge=0)]
    fraction: Share
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Protocol:
    """What is measured and when: part of the identity of a job."""

    tasks: tuple[str, ...]  # name@version, in the order of the table
    data: str  # sha256 of their sentences and ratings, those of dev included
    dev: str  # the rated pairs that choose the `best` checkpoint; "" when nothing is chosen
    dev_pairs: int  # how many labels that choice has looked at
    threads: int  # CPU threads of the arithmetic: they decide how sums are rounded
    device: str  # cpu or cuda: the same reason
    processes: int = 1  # that share each batch: they decide which sentences meet which dropout mask


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Score:
    """One task, scored with one checkpoint."""

    task: str  # name@version, as in Protocol
    protocol: str  # such as simcse-sts@1
    select: Select
    value: FiniteFloat | None  # points, the protocol's own figure; None when the encoder has collapsed
    detail: dict[str, FiniteFloat | None]  # such as "spearman.mean" or "spearman.all/headlines"
    items: int  # pairs or sentences scored


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Trace:
    """How training went."""

    steps: int
    best_step: int
    curve: tuple[tuple[int, FiniteFloat, FiniteFloat | None], ...]  # step, mean loss since the last look, dev points
    notes: tuple[str, ...] = ()  # such as where AMI looked, or which output layer a decoder used
    along: tuple[tuple[int, dict[str, FiniteFloat | None]], ...] = ()  # step, and further tasks scored at that look


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Failure:
    """Why a job has no scores."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Cost:
    """What the job took; never part of its identity."""

    train_seconds: float
    score_seconds: float
    peak_rss_mb: float  # of the process that ran it; of the first one if several shared it
    # of all its threads and processes; unlike the others, no matter what else the machine did
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Origin:
    """Where and with what it ran; never part of its identity."""

    cseb: str
    commit: str
    versions: dict[str, str]
    machine: str
    device: str
    dtype: str
    started: str  # UTC, ISO 8601
    finished: str


class Record(BaseModel):
    """One job: method x fraction x seed on one encoder, corpus and protocol."""

    model_config = ConfigDict(frozen=True, **STRICT)

    format: Literal[1] = SCHEMA
    key: str
    status: Literal["done", "failed"]
    benchmark: str
    method: str  # as typed: reads back through spec.parse_method
    resolved: str  # every part with every option and version
    data_seen: tuple[str, ...]
    encoder: Source
    corpus: Source
    outside: tuple[Source, ...] = ()  # files and models that the method names
    subset: Subset
    seed: int
    vary: Vary = "all"  # which streams of random numbers the seed decides; the others are those of seed 0
    protocol: Protocol
    scores: tuple[Score, ...] = ()
    trace: Trace | None = None
    failure: Failure | None = None
    cost: Cost
    origin: Origin
