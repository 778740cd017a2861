"""The training of one job: its sentences and their overlap with tasks, its parts, its teacher, its evaluation steps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

import torch
from platformdirs import user_cache_path

from cseb import embedders
from cseb.data.corpus import Corpus
from cseb.data.overlap import TaskTexts
from cseb.data.subset import draw
from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.embedders.vector_cache import stored
from cseb.encoder import linear
from cseb.encoder.distributed import distributed_context
from cseb.encoder.encoder import Encoder
from cseb.errors import BadData, BadSpec, CsebError
from cseb.experiment.corpus_checks import read_by
from cseb.experiment.job import Job
from cseb.experiment.plan import versioned
from cseb.parts import Outside
from cseb.records.progress import Progress
from cseb.records.record import Overlap
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Embed, Loaded, Task, Vectors
from cseb.training import loop
from cseb.training.build import Built, build
from cseb.training.checkpoints import Trained
from cseb.training.pair_tuning import tuner_of


def find(encoder: str, pooler: str, device: str = "cpu", trust_remote_code: bool = False) -> Embedder:
    """Return the teacher, without its weights. Raises: BadSpec."""
    how = EncoderOptions(pooler=pooler, device=device, trust_remote_code=trust_remote_code)
    try:
        return embedders.find(encoder, how)
    except CsebError as error:
        raise BadSpec(f"teacher: {error}") from None


def width_of(stage: Outside) -> int:
    """Return the number of dimensions of a teacher; it is loaded once. Raises: BadSpec."""
    return _width_of(stage.encoder, stage.pooler)


@lru_cache(maxsize=8)
def _width_of(encoder: str, pooler: str) -> int:
    return int(find(encoder, pooler).open()([]).shape[1])


def vectors(stage: Outside, device: str, threads: int, trust_remote_code: bool) -> Embed:
    """Return a function that embeds texts with this teacher, which is loaded only if a text is not cached.

    Embeddings are cached for a whole list of texts, since other sentences in a batch change the last bit: the same
    subset has the same bits, whatever ran before.
    """

    def embed(texts: Sequence[str]) -> Vectors:
        teacher = find(stage.encoder, stage.pooler, device, trust_remote_code)
        if not teacher.alone:
            return teacher.open()(texts)
        by = (teacher.source.sha256, teacher.resolved, device, str(threads), linear.taken(), torch.__version__)
        key = hashlib.sha256("\0".join((*by, *texts)).encode("utf-8", "surrogatepass")).hexdigest()
        loaded = cache(teacher.open)
        try:
            return stored(cache_folder(), key, lambda missing: loaded()(missing))(texts)  # noqa: PLW0108 (loads only if a text is missing)
        except BadData:  # the folder cannot be written
            return loaded()(texts)

    return embed


def cache_folder() -> Path:
    """Return the folder of cached embeddings of teachers."""
    return user_cache_path("cseb") / "teachers"


@dataclass(slots=True)
class JobTraining:
    """The training of a job. reached: the last step that was reported."""

    job: Job
    sentences: list[str]
    built: Built
    evaluation: _Evaluation
    reached: int = 0

    @classmethod
    def of(cls, job: Job, corpus: Corpus) -> JobTraining:
        """Draw the sentences of the job's seed and build its method on its encoder. Raises: CsebError."""
        sentences = read_by(job.method, corpus, draw(len(corpus), job.size, job.seed))
        built = build(job.method, Path(job.folder), job.seed, job.trust_remote_code)
        if built.outside is not None:
            device, threads = job.protocol.device, job.protocol.threads
            teacher = vectors(built.outside, device, threads, job.trust_remote_code)
            built = replace(built, teacher=teacher)
        dev = dev_name(job)
        names = ",".join(filter(None, (dev, job.along)))
        return cls(job, sentences, built, _Evaluation(loaded_tasks(names, job.data_dir), bool(dev)))

    def run(self, watch: Callable[[Progress], None]) -> Trained:
        """Train in place. Raises: Diverged."""

        def report(progress: Progress) -> None:
            self.reached = progress.step
            watch(replace(progress, key=self.job.key))

        select = self.evaluation.dev_score if self.evaluation.tasks else None
        return loop.train(self.built, self.sentences, self.job.seed, self.job.protocol.device, select, report)

    def tracked(self, trained: Trained) -> tuple[tuple[int, dict[str, float | None]], ...]:
        """Return the scores of tracked tasks at each evaluation step."""
        steps = [step for step, _, _ in trained.curve]
        return self.evaluation.at(steps, 1 if self.built.second is None else 2)


def task_names(job: Job) -> str:
    """Return the tasks of a job as typed, or as its protocol names them."""
    return job.tasks or ",".join(name.partition("@")[0] for name in job.protocol.tasks)


def dev_name(job: Job) -> str:
    """Return the dev set of a job; "" if it has none."""
    return job.dev or job.protocol.dev.partition("@")[0]


def measured_names(job: Job) -> str:
    """Return the tasks of a job and its dev set."""
    return ",".join(filter(None, (task_names(job), dev_name(job))))


def loaded_tasks(names: str, data_dir: str) -> list[tuple[Task, Loaded]]:
    """Return tasks with their data. Raises: CsebError."""
    folder = Path(data_dir) if data_dir else None
    return [(task, load_task(task, folder)) for task in (parse_tasks(names) if names else ())]


def overlap_of(job: Job, sentences: Sequence[str]) -> tuple[Overlap, ...] | None:
    """Return the tasks of a job, and its dev set, that overlap with these sentences; None if nothing is trained."""
    if not job.method.data_seen() or not distributed_context().main:
        return None
    return tuple(
        Overlap(task=task.task, texts=task.texts, exact=task.exact, near=task.near)
        for task in _task_texts(measured_names(job), job.data_dir, job.protocol.data).overlap(sentences)
        if task.exact or task.near
    )


@lru_cache(maxsize=1)  # the jobs of a grid share their tasks
def _task_texts(names: str, data_dir: str, sha256: str) -> TaskTexts:
    """sha256: of the data of these tasks; part of the key, as files can change."""
    return TaskTexts.of({versioned(task): loaded.sentences() for task, loaded in loaded_tasks(names, data_dir)})


@dataclass(slots=True)
class _Evaluation:
    """Evaluation steps: the dev set, which selects checkpoints, comes first if there is one; the others are tracked."""

    tasks: list[tuple[Task, Loaded]]
    dev: bool
    scores: list[dict[str, float | None]] = field(default_factory=list)  # of tracked tasks, by step

    def dev_score(self, encoder: Encoder) -> float | None:
        """Score all tasks; return the score on the dev set, None if there is none."""
        outcomes = score_all(self.tasks, encoder.embed, tuner_of(encoder.embed))
        scores = {task.name: outcome.value for (task, _), (outcome, _) in zip(self.tasks, outcomes, strict=True)}
        dev = scores.pop(self.tasks[0][0].name) if self.dev else None
        self.scores.append(scores)
        return dev

    def at(self, steps: Sequence[int], encoders: int) -> tuple[tuple[int, dict[str, float | None]], ...]:
        """Return the scores of tracked tasks at the last steps; models of a first stage were evaluated before.

        Of several encoders the last one counts, as at the end of the training.
        """
        scores = self.scores[len(self.scores) - encoders * len(steps) :][encoders - 1 :: encoders]
        return tuple(zip(steps, scores, strict=True)) if any(scores) else ()
