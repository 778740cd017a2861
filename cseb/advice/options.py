"""What a recommendation is asked, in one place for the command and for Python."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields
from pathlib import Path

from cseb.data import hub_upload
from cseb.errors import BadBenchmark, BadData, BadResults, BadSpec, between, number, whole

FIXED = ("st:", "glove:", "words:")  # encoders that can be scored and not trained
FEWEST_ASKED, MOST_ASKED = 20, 1000  # questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The arguments of `cseb.recommend`, checked as far as that needs no file.

    Raises: BadSpec, BadBenchmark; BadResults where --push cannot work.
    """

    corpus: str
    encoder: str
    budget: float
    judge: str
    tasks: str
    teacher: str
    ask: int
    methods: str
    steps: int
    out: Path | None
    push: str
    results: Path | None
    data_dir: str
    column: str
    workers: int | str
    threads: int
    linear: str
    device: str
    trust_remote_code: bool

    def __post_init__(self) -> None:
        if number(self.budget, "--budget") <= 0:
            raise BadSpec(f"--budget is {self.budget:g}; minutes above 0 are needed, such as 30")
        whole(1, self.steps, "--steps")
        if len(given := [f"--{name}" for name in ("judge", "tasks", "teacher", "ask") if getattr(self, name)]) > 1:
            raise BadBenchmark(f"{' and '.join(given)} are given; one judge decides, so leave the others out")
        if self.ask:
            between(FEWEST_ASKED, MOST_ASKED, self.ask, "--ask")
        if self.push:
            if self.out is None:
                raise BadBenchmark(f"--push {self.push} is about the model of --out; give --out FOLDER too")
            hub_upload.check(self.push)
        if self.encoder.startswith(FIXED):
            raise BadData(
                f"encoder {self.encoder!r} cannot be trained; give a Transformer's folder or hub name, or cseb-tiny"
            )

    @property
    def folder(self) -> Path:
        """Of the records: `my.recommend` beside `my.txt`, or in this folder for a corpus that is no file."""
        if self.results is not None:
            return self.results
        path = Path(self.corpus)
        name = re.sub(r"[^\w.-]+", "-", path.name.partition(".")[0] if path.is_file() else self.corpus)
        return (path.parent if path.is_file() else Path()) / f"{name}.recommend"

    def command(self) -> str:
        """The command line that asks the same."""
        words = ["cseb", "recommend", self.corpus]
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in ("corpus", "trust_remote_code") and value not in ("", None, 0):
                words += [f"--{one.name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join([*words, *(["--trust-remote-code"] if self.trust_remote_code else [])])


def refuse_taken(out: Path) -> None:
    """A model takes the place of an older one of ours, and of nothing else. Raises: BadResults."""
    if out.exists() and not (out / "cseb.json").is_file() and not (out.is_dir() and not any(out.iterdir())):
        raise BadResults(f"{out} is there and holds no encoder that cseb has saved; name another --out")
    if not out.parent.is_dir():
        raise BadResults(f"{out} cannot be made: {out.parent} is missing; make it, or correct --out")
