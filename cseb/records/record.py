"""The record of one finished job: every score, and all that is needed to reproduce it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.dataclasses import dataclass

from cseb.data.provenance import Provenance
from cseb.records.method_text import Parts
from cseb.text import quantity

SCHEMA: Final = 2  # the format of records
Select = Literal["best", "last"]
Purpose = Literal["reported", "tuning"]  # a trial of tuning scores no test task and is in no table
# Bounds of the numbers in a record. A file with a number outside is reported and left out; a table or plot of it would
# end in an overflow.
Fraction = Annotated[float, Field(ge=1e-12, le=1)]
Points = Annotated[FiniteFloat, Field(ge=-1e6, le=1e6)]  # the effective rank, one of the largest, is at most the width
Figure = Annotated[FiniteFloat, Field(ge=-1e12, le=1e12)]  # any further figure of a score
Loss = Annotated[FiniteFloat, Field(ge=-1e39, le=1e39)]  # single precision ends at 3.4e38
Amount = Annotated[FiniteFloat, Field(ge=0, le=1e12)]  # seconds, megabytes
Count = Annotated[int, Field(ge=0, le=2**53)]  # of sentences, steps, items
Version = Annotated[int, Field(ge=1, le=2**31)]


# Exactly these fields and types. The parts of a record are dataclasses: they take less memory than models.
STRICT = ConfigDict(extra="forbid", strict=True, ser_json_inf_nan="null")


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Source:
    """A corpus or an encoder: the name as typed, and the sha256 of its content."""

    name: str
    sha256: str

    @property
    def short(self) -> str:
        """The name without the folders of its path: words:tf-idf:cr.txt for words:tf-idf:domains/cr.txt."""
        kind, colon, path = self.name.rstrip("/").rpartition(":")
        return kind + colon + path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Foreign:
    """A third-party part or task: part of the identity of a job. name: such as my_term, or `task my-task`."""

    name: str
    package: str
    version: str  # of the package
    code: str  # hash of the source files of its package


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Subset:
    """The training sentences: how many, which fraction of the corpus, and their sha256."""

    size: Count
    fraction: Fraction
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Overlap:
    """How many distinct texts of a task occur in the training sentences: exactly, and as near-duplicates."""

    task: str  # name@version
    texts: Count
    exact: Count  # the same letters and digits
    near: Count  # near-duplicates among the others, see cseb.data.overlap

    def __str__(self) -> str:
        more = f" and {self.near:,} nearly" if self.near else ""
        return f"{self.task}: {self.exact:,}{more} of {quantity(self.texts, 'text')}"


def data_sha256(digests: Iterable[str]) -> str:
    """Return the hash of the data of several tasks, in order. digests: of the data of each."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Protocol:
    """How a job is evaluated: part of its identity."""

    tasks: tuple[str, ...]  # name@version, in the order of the table
    data: str  # sha256 of their sentences and ratings, and of those of dev
    dev: str  # the task that selects the `best` checkpoint; "" without checkpoint selection
    dev_pairs: Count  # labelled examples of dev that are used
    threads: Count  # CPU threads: they change how sums are rounded
    device: str  # cpu or cuda: they change it too
    processes: Count = 1  # that share each batch: they change which sentence gets which dropout mask


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Score:
    """The score of one task with one checkpoint."""

    task: str  # name@version, as in Protocol
    protocol: str  # such as simcse-sts@1
    select: Select
    value: Points | None  # the main figure of the protocol; None when the encoder has collapsed
    detail: dict[str, Figure | None]  # such as "spearman.mean" or "spearman.all/headlines"
    items: Count  # examples scored
    data: str = ""  # sha256 of the task's data; older records of training lack it


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Trace:
    """The course of training."""

    steps: Count
    best_step: Count
    curve: tuple[tuple[Count, Loss, Points | None], ...]  # step, mean loss since the last evaluation, dev score
    notes: tuple[str, ...] = ()  # such as the layers of AMI, or the output layer that a decoder used
    along: tuple[tuple[Count, dict[str, Points | None]], ...] = ()  # evaluation step and scores of tracked tasks


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Tuning:
    """Tuned options of a job: the values that a trial tries, or those that the trials chose for a reported run."""

    options: str  # such as recipe(learning_rate=0.001)
    dev: str  # name@version of the task that chooses
    trials: tuple[str, ...] = ()  # keys of the trials that chose the values; () for a trial
    added: Count = 0  # values that the search added because a best one was at an edge
    at_edge: tuple[str, ...] = ()  # options whose chosen value is still at an edge, such as recipe.learning_rate


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Failure:
    """Why a job has no scores."""

    step: Count
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Cost:
    """Time and memory that the job took; never part of its identity."""

    train_seconds: Amount
    score_seconds: Amount
    peak_rss_mb: Amount  # of the process that ran it; of the first one if several shared it
    cpu_seconds: Amount | None = None  # of all threads and processes; independent of the load of the machine
    peak_gpu_mb: Amount | None = None  # memory of tensors on the GPU; None on a CPU and in older records

    @property
    def seconds(self) -> float:
        """Return the seconds of training and scoring together."""
        return self.train_seconds + self.score_seconds


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Origin:
    """Machine and software of the run; never part of its identity."""

    cseb: str
    commit: str
    versions: dict[str, str]  # of libraries, and of CUDA, cuDNN and the driver on a GPU
    machine: str
    device: str
    dtype: str
    started: str  # UTC, ISO 8601
    finished: str
    code: dict[str, str] = Field(default_factory=dict)  # in records of cseb 0.1: hashes of its source; not read
    linear: str = ""  # library of the linear layers on a CPU, blas or onednn; "" on a GPU and in older records
    deterministic: bool = False  # whether a GPU took deterministic algorithms alone


class Record(BaseModel):
    """One job: method x fraction x seed on one encoder, corpus and protocol."""

    model_config = ConfigDict(frozen=True, **STRICT)

    format: Literal[2] = SCHEMA
    key: str
    status: Literal["done", "failed"]
    benchmark: str
    method: str  # as typed: reads back through grammar.parse_method
    resolved: str  # every part with every option and version, as text: part of the identity of the job
    parts: Parts  # the same as data
    data_seen: tuple[str, ...]
    encoder: Source
    corpus: Source
    outside: tuple[Source, ...] = ()  # files and models that the method reads
    foreign: tuple[Foreign, ...] = ()  # parts and tasks of other packages
    subset: Subset
    overlap: tuple[Overlap, ...] | None = None  # tasks with texts among the training sentences; None: not computed
    seed: Count
    purpose: Purpose = "reported"
    tuning: Tuning | None = None  # None where nothing was tuned
    generated: Provenance | None = None  # origin of the sentences, if a language model wrote them
    vary: Literal["all"] = "all"  # the seed sets all random streams
    trainer_version: Version = 1  # see cseb.version; 1 in records without it
    encoder_version: Version = 1
    protocol: Protocol
    scores: tuple[Score, ...] = ()
    trace: Trace | None = None
    failure: Failure | None = None
    cost: Cost
    origin: Origin

    def points(self, select: Select) -> dict[str, float | None]:
        """Return the score of each task with one checkpoint; None where the encoder has collapsed."""
        return {score.task: score.value for score in self.scores if score.select == select}

    def measured(self) -> tuple[tuple[str, str, Select], ...]:
        """Return task, protocol and checkpoint of each score."""
        return tuple((score.task, score.protocol, score.select) for score in self.scores)

    @model_serializer(mode="wrap")
    def _without_empty_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = write(self)
        for name in ("overlap", "generated", "tuning"):
            if getattr(self, name) is None:
                del data[name]
        if self.cost.peak_gpu_mb is None:
            data.get("cost", {}).pop("peak_gpu_mb", None)
        if self.purpose == "reported":  # as in older records
            del data["purpose"]
        if not self.origin.deterministic:  # as in older records
            data.get("origin", {}).pop("deterministic", None)
        if not self.origin.code:  # only older records have it
            data.get("origin", {}).pop("code", None)
        return data
