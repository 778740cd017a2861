"""The record of one finished job: every score, and all that is needed to get it again.

Tables and comparisons need less: a `RecordSummary` has scores without the figures beside them, and training without its
trajectory. Every `Record` is one. What a summary lacks is no field of it, so nothing missing can be taken for empty.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.dataclasses import dataclass

from cseb.data.provenance import Provenance
from cseb.records.method_text import Stated, read_method, written
from cseb.records.part_data import Parts
from cseb.text import quantity

SCHEMA: Final = 2  # what is written; 1, without `parts`, is read too
Select = Literal["best", "last"]
Vary = Literal["all", "subset", "init", "order", "dropout"]  # as cseb.seeds has them
Share = Annotated[float, Field(ge=1e-12, le=1)]
# What numbers of a record can be. One beyond these is damage: its file is left out and named, where a table or a plot
# would end in an overflow.
Points = Annotated[FiniteFloat, Field(ge=-1e6, le=1e6)]  # the effective rank, one of the largest, is at most the width
Figure = Annotated[FiniteFloat, Field(ge=-1e12, le=1e12)]  # beside the points, whatever it is
Loss = Annotated[FiniteFloat, Field(ge=-1e39, le=1e39)]  # single precision ends at 3.4e38
Amount = Annotated[FiniteFloat, Field(ge=0, le=1e12)]  # seconds, megabytes
Count = Annotated[int, Field(ge=0, le=2**53)]  # of sentences, steps, items
Version = Annotated[int, Field(ge=1, le=2**31)]


# No field too many, no field too few, no guessing of types. The pieces of a record are dataclasses rather than models:
# ten thousand records then take two thirds of the memory.
STRICT = ConfigDict(extra="forbid", strict=True, ser_json_inf_nan="null")


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Source:
    """A corpus or an encoder: the name a user typed, and the sha256 of what it was."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Foreign:
    """A third-party part or task: part of the identity of a job. name: such as my_term, or `task my-task`."""

    name: str
    package: str
    version: str  # of the package
    code: str  # hash of the source files of its package


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Subset:
    """The sentences trained on: how many, which fraction of the corpus, and the sha256 of exactly these."""

    size: Count
    fraction: Share
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Overlap:
    """How many of a task's distinct texts stand in the sentences trained on: the same, and nearly the same."""

    task: str  # name@version
    texts: Count
    exact: Count  # the same letters and digits
    near: Count  # of the others: nearly the same words, as cseb.data.overlap has it

    def __str__(self) -> str:
        more = f" and {self.near:,} nearly" if self.near else ""
        return f"{self.task}: {self.exact:,}{more} of {quantity(self.texts, 'text')}"


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Protocol:
    """What is measured and when: part of the identity of a job."""

    tasks: tuple[str, ...]  # name@version, in the order of the table
    data: str  # sha256 of their sentences and ratings, those of dev included
    dev: str  # the task whose labelled items choose the `best` checkpoint; "" when nothing is chosen
    dev_pairs: Count  # how many labels that choice has looked at
    threads: Count  # CPU threads of the arithmetic: they decide how sums are rounded
    device: str  # cpu or cuda: the same reason
    processes: Count = 1  # that share each batch: they decide which sentences meet which dropout mask


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class TaskScore:
    """The main figure of one task with one checkpoint."""

    task: str  # name@version, as in Protocol
    protocol: str  # such as simcse-sts@1
    select: Select
    value: Points | None  # points, the protocol's own figure; None when the encoder has collapsed


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Score(TaskScore):
    """One task, scored with one checkpoint."""

    detail: dict[str, Figure | None]  # such as "spearman.mean" or "spearman.all/headlines"
    items: Count  # pairs or sentences scored


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Length:
    """How long training was, in steps, and where the best checkpoint lay."""

    steps: Count
    best_step: Count


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Trace(Length):
    """How training went."""

    curve: tuple[tuple[Count, Loss, Points | None], ...]  # step, mean loss since the last look, dev points
    notes: tuple[str, ...] = ()  # such as where AMI looked, or which output layer a decoder used
    along: tuple[tuple[Count, dict[str, Points | None]], ...] = ()  # step, and further tasks scored at that look


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Failure:
    """Why a job has no scores."""

    step: Count
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Cost:
    """What the job took; never part of its identity."""

    train_seconds: Amount
    score_seconds: Amount
    peak_rss_mb: Amount  # of the process that ran it; of the first one if several shared it
    # of all its threads and processes; unlike the others, no matter what else the machine did
    cpu_seconds: Amount | None = None

    @property
    def seconds(self) -> float:
        """Training and scoring together, by the clock."""
        return self.train_seconds + self.score_seconds


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
    code: dict[str, str] = Field(default_factory=dict)  # in records of cseb 0.1: hashes of its source; not read
    linear: str = ""  # library of the linear layers on a CPU, blas or onednn; "" on a GPU, and in records of before


class RecordSummary(BaseModel):
    """One job: method x fraction x seed on one encoder, corpus and protocol; what tables are made of."""

    model_config = ConfigDict(frozen=True, **STRICT)

    format: Literal[1, 2] = 1
    key: str
    status: Literal["done", "failed"]
    benchmark: str
    method: str  # as typed: reads back through grammar.parse_method
    resolved: str  # every part with every option and version, as a text: what the identity of the job is made of
    parts: Parts | None = None  # the same as data; None in format 1
    data_seen: tuple[str, ...]
    encoder: Source
    corpus: Source
    outside: tuple[Source, ...] = ()  # files and models that the method names
    foreign: tuple[Foreign, ...] = ()  # parts and tasks of other packages
    subset: Subset
    overlap: tuple[Overlap, ...] | None = None  # tasks with texts among the sentences trained on; None: not looked for
    seed: Count
    generated: Provenance | None = None  # where the sentences are from, if a language model wrote them
    vary: Vary = "all"  # which streams of random numbers the seed decides; the others are those of seed 0
    trainer_version: Version = 1  # as cseb.version has it; records without it are of version 1
    encoder_version: Version = 1
    protocol: Protocol
    scores: tuple[TaskScore, ...] = ()
    trace: Length | None = None
    failure: Failure | None = None
    cost: Cost
    origin: Origin

    def points(self, select: Select) -> dict[str, float | None]:
        """Task to points of one checkpoint; None where the encoder has collapsed."""
        return {one.task: one.value for one in self.scores if one.select == select}

    def measured(self) -> tuple[tuple[str, str, Select], ...]:
        """Task, protocol and checkpoint of each score."""
        return tuple((one.task, one.protocol, one.select) for one in self.scores)

    def stated(self) -> tuple[Stated, ...]:
        """The parts of the method with versions. Raises: BadResults where format 1 holds a text that cannot be read."""
        return read_method(self.resolved) if self.parts is None else self.parts


class Record(RecordSummary):
    """The same with all that was measured: what is written, and read back to be checked, drawn or run again."""

    scores: tuple[Score, ...] = ()
    trace: Trace | None = None

    @model_validator(mode="after")
    def _one_method(self) -> Self:
        if (self.format == 1) != (self.parts is None):
            raise ValueError(f"parts {'belong' if self.format == 2 else 'do not belong'} into format {self.format}")
        if self.parts is not None and written(self.parts) != self.resolved:
            raise ValueError("resolved and parts are two methods")
        return self

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = write(self)
        if self.parts is None:  # a record of format 1 stays one
            del found["parts"]
        for name in ("overlap", "generated"):
            if getattr(self, name) is None:
                del found[name]
        if not self.origin.code:  # only older records have it
            found.get("origin", {}).pop("code", None)
        return found
