"""A job: one cell of a grid for one seed, with an identity that names its record file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from cseb.data.finished_models import finished_sha256, own_modules_sha256
from cseb.data.weights import external_contents
from cseb.methods import third_party
from cseb.methods.recipe import Recipe
from cseb.methods.spec import Method
from cseb.records.record import Foreign, Protocol, Purpose, Source, Tuning
from cseb.version import ENCODER_VERSION, TRAINER_VERSION

_fields = lru_cache(maxsize=16)(asdict)  # the jobs of a grid share one protocol


@dataclass(frozen=True, kw_only=True)  # no slots: a key is worked out once
class Job:
    """One cell of the grid for one seed: all that decides its numbers, and the paths of its inputs.

    `method` is resolved; `label` is what the user typed. `folder`, `data_dir`, `tasks` and `dev` are paths or names on
    this machine. Not they but the contents are part of the identity. "" for `tasks` and `dev` means those of the
    protocol.
    """

    benchmark: str
    label: str
    method: Method
    encoder: Source
    folder: str
    corpus: Source
    column: str
    size: int
    fraction: float
    seed: int
    protocol: Protocol
    data_dir: str
    trust_remote_code: bool
    tasks: str = ""
    dev: str = ""
    external_inputs: tuple[Source, ...] = ()  # files and models that the method reads
    along: str = ""  # tasks to score at every look; they decide nothing, so no identity changes
    foreign: tuple[Foreign, ...] = ()  # parts and tasks of other packages
    purpose: Purpose = "reported"
    tuning: Tuning | None = None  # the tuned options, which `method` has already; no part of the identity
    deterministic: bool = False  # deterministic algorithms alone on a GPU
    linear: str = "auto"  # library of the linear layers; a launcher says which one where its jobs share this machine

    @cached_property
    def key(self) -> str:
        """Return 16 hex digits, the same for a job on every machine and in every version of Python."""
        identity = {
            "label": self.label,
            "method": self.method.resolved(),
            "encoder": self.encoder.sha256,
            "corpus": self.corpus.sha256,
            "size": self.size,
            "seed": self.seed,
            "protocol": {k: v for k, v in _fields(self.protocol).items() if (k, v) != ("processes", 1)},
        }
        if self.external_inputs:
            identity["outside"] = {source.name: source.sha256 for source in self.external_inputs}
        if self.foreign:
            identity["foreign"] = {part.name: [part.package, part.version, part.code] for part in self.foreign}
        versions = {"trainer": TRAINER_VERSION, "encoder version": ENCODER_VERSION}
        identity |= {name: version for name, version in versions.items() if version != 1}  # older keys stay valid
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def recipe(self) -> Recipe:
        """Return how this job is trained. Raises: BadSpec."""
        return Recipe(**dict(self.method.recipe.options))  # type: ignore[arg-type]  # checked by Recipe itself


def external_inputs(method: Method, folder: Path) -> tuple[Source, ...]:
    """Return the files and models that a resolved method names, as far as they are on this machine. Raises: BadData.

    folder: of the encoder. own_modules and own_teacher read files in it, which the encoder's hash leaves out.
    """
    contents = external_contents(method.external_inputs())
    if method.head.name == "own_modules":
        contents[method.head.name] = own_modules_sha256(folder)
    if method.stages is not None and method.stages.name == "own_teacher":
        contents[method.stages.name] = finished_sha256(folder)
    return tuple(Source(name=name, sha256=sha256) for name, sha256 in contents.items())


def foreign(method: Method, protocol: Protocol) -> tuple[Foreign, ...]:
    """Return the third-party parts and tasks of a job, each with package, version and code. Raises: BadSpec."""
    sources = third_party.sources((part.name for part in method.parts()), (*protocol.tasks, protocol.dev))
    return tuple(Foreign(**source._asdict()) for source in sources)
