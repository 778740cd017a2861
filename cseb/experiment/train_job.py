"""The training of one job: its sentences, its parts, and what is scored while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cseb.data.corpus import Corpus
from cseb.data.subset import draw
from cseb.encoder.encoder import Encoder
from cseb.experiment import outside_teacher
from cseb.experiment.corpus_checks import read_by
from cseb.experiment.job import Job
from cseb.records.items import Items
from cseb.records.progress import Progress
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Loaded, Outcome, Task
from cseb.training import loop
from cseb.training.build import Built, build
from cseb.training.checkpoints import Trained


@dataclass(slots=True)
class JobTraining:
    """What a job is trained with. reached: the last step that was told of."""

    job: Job
    sentences: list[str]
    built: Built
    reached: int = 0
    _looks: _Looks | None = None

    @classmethod
    def of(cls, job: Job, corpus: Corpus) -> JobTraining:
        """Draw the sentences of the job's seed and build its method on its encoder. Raises: CsebError."""
        sentences = read_by(job.method, corpus, draw(len(corpus), job.size, job.random))
        built = build(job.method, Path(job.folder), job.random, job.trust_remote_code)
        if built.outside is not None:
            asked = (built.outside, job.protocol.device, job.protocol.threads, job.trust_remote_code)
            built = replace(built, teacher=outside_teacher.vectors(*asked))
        return cls(job, sentences, built)

    def run(self, watch: Callable[[Progress], None]) -> Trained:
        """Train in place. Raises: Diverged."""
        looks = self._looks = _Looks.of(self.job)

        def tell(seen: Progress) -> None:
            self.reached = seen.step
            watch(replace(seen, key=self.job.key))

        select = looks.select if looks.tasks else None
        return loop.train(self.built, self.sentences, self.job.random, self.job.protocol.device, select, tell)

    def along(self, trained: Trained) -> tuple[tuple[int, dict[str, float | None]], ...]:
        """Figures of the followed tasks at each step that was looked at."""
        assert self._looks is not None
        steps = [step for step, _, _ in trained.curve]
        return self._looks.along(steps, 1 if self.built.second is None else 2)


def task_names(job: Job) -> str:
    """Tasks of a job as typed, or as its protocol names them."""
    return job.tasks or ",".join(name.partition("@")[0] for name in job.protocol.tasks)


def dev_name(job: Job) -> str:
    """The dev set of a job, "" where it has none."""
    return job.dev or job.protocol.dev.partition("@")[0]


def loaded_tasks(names: str, data_dir: str) -> list[tuple[Task, Loaded]]:
    """Tasks with their data. Raises: CsebError."""
    return [
        (task, load_task(task, Path(data_dir) if data_dir else None)) for task in (parse_tasks(names) if names else ())
    ]


@dataclass(slots=True)
class _Looks:
    """What is scored at every look during training: the dev set, which chooses, and tasks that are only followed."""

    tasks: list[tuple[Task, Loaded]]
    dev: bool
    seen: list[dict[str, float | None]] = field(default_factory=list)

    @classmethod
    def of(cls, job: Job) -> _Looks:
        """Those a job asks for."""
        dev = dev_name(job)
        return cls(
            loaded_tasks(",".join(filter(None, (dev, job.along))), job.data_dir) if dev or job.along else [], bool(dev)
        )

    def select(self, encoder: Encoder) -> float | None:
        """Dev points of the encoder, or None where nothing may be chosen by labels."""
        found = {task.name: outcome.value for (task, _), (outcome, _) in self._scored(encoder)}
        points = found.pop(self.tasks[0][0].name) if self.dev else None
        self.seen.append(found)
        return points

    def along(self, steps: Sequence[int], encoders: int) -> tuple[tuple[int, dict[str, float | None]], ...]:
        """Figures of the followed tasks at these steps, the last ones looked at; models of a first stage came before.

        Of several encoders the last one counts, as at the end.
        """
        found = self.seen[len(self.seen) - encoders * len(steps) :][encoders - 1 :: encoders]
        return tuple(zip(steps, found, strict=True)) if any(found) else ()

    def _scored(self, encoder: Encoder) -> Iterator[tuple[tuple[Task, Loaded], tuple[Outcome, Items]]]:
        return zip(self.tasks, score_all(self.tasks, encoder.embed), strict=True)
