"""Sentences in, an encoder out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.api.encoders import TrainedEncoder, arithmetic, strings
from cseb.errors import OUT_OF_MEMORY, BadSpec, TrainingFailed, memory_ran_out

if TYPE_CHECKING:
    from cseb.data.corpus import Corpus
    from cseb.records.progress import Progress


def train(
    method: str,
    sentences: Sequence[str] | str,
    *,
    encoder: str,
    seed: int = 0,
    steps: int | None = None,
    scale: str = "",
    dev: str | Path | None = None,
    data_dir: str | Path = "",
    column: str = "",
    device: str = "auto",
    threads: int = 1,
    linear: str = "auto",
    progress: bool = False,
    trust_remote_code: bool = False,
) -> TrainedEncoder:
    """Train an encoder on sentences.

    The bits are those of `cseb run` with this seed, where the grid trains on all of these sentences.

    Args:
        method: a name that `cseb show methods` shows, with any edits, such as ``"simcse+recipe(batch_size=64)"``.
        sentences: a list of strings; methods that learn from pairs or triples read them joined by TABs. Or a corpus by
            name: a file, ``wikipedia``, ``microworld:COUNT``, ``hub:OWNER/NAME/FILE``.
        encoder: what to start from: a folder, a hub name, or one that comes with cseb: ``cseb-tiny``,
            ``cseb-mini``, ``microworld``.
        seed: of everything random, 0 or more.
        steps: optimiser steps, in place of the method's own.
        scale: options that replace the method's own wherever it has such a part: ``"recipe(batch_size=32),
            queue(size=64)"``.
        dev: the task that chooses the best checkpoint: its name, or a file of two sentences and a score a line.
        data_dir: folder of task files in SentEval's layout, for `dev`.
        column: the column of a table's sentences, or several and what they are: ``anchor=title,positive=body``.
        device: ``auto``, ``cpu`` or ``cuda``.
        threads: CPU threads of torch while it trains and encodes; the last bits depend on them.
        linear: library of the linear layers on a CPU: ``blas``, ``onednn``, or ``auto``, the faster one here; the last
            bits depend on it.
        progress: show a bar on standard error.
        trust_remote_code: run Python code that comes with the encoder.

    Returns:
        The encoder, at the best checkpoint on `dev`, or at the last one without it.

    Raises:
        CsebError: if the method, the encoder or the sentences do not fit together, before anything trains.
        TrainingFailed: if the loss is no finite number, or memory runs out.

    Examples:
        >>> import cseb
        >>> sentences = cseb.sample("microworld:1000", size=200)
        >>> encoder = cseb.train("simcse", sentences, encoder="microworld", steps=5, scale="recipe(batch_size=32)")
        >>> encoder.encode(["a sentence", "another one"]).shape
        (2, 64)
    """
    from cseb.api.hosts import device_of
    from cseb.data.corpus import pack
    from cseb.data.read_corpus import read_corpus

    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadSpec(f"seed is {seed!r}; a whole number from 0 on is needed")
    where = device_of(device)
    if isinstance(sentences, str):
        corpus = read_corpus(sentences, column, str(data_dir))
    else:
        corpus = pack("sentences", strings(sentences))
    with _bar(progress) as watch, arithmetic(threads, linear, where) as library:
        return _trained(
            method,
            corpus,
            watch,
            encoder=encoder,
            seed=seed,
            scale=scale,
            steps=steps,
            dev=str(dev or ""),
            data_dir=str(data_dir),
            threads=threads,
            device=where,
            linear=library,
            trust_remote_code=trust_remote_code,
        )


def _trained(
    method: str,
    corpus: Corpus,
    watch: Callable[[Progress], None],
    *,
    encoder: str,
    seed: int,
    scale: str,
    steps: int | None,
    dev: str,
    data_dir: str,
    threads: int,
    device: str,
    linear: str,
    trust_remote_code: bool,
) -> TrainedEncoder:
    from cseb.experiment import outside_teacher
    from cseb.experiment.single_job import single_job
    from cseb.experiment.train_job import JobTraining
    from cseb.training import build
    from cseb.training.checkpoints import restore
    from cseb.training.loop import Diverged

    job = single_job(
        method,
        corpus,
        encoder,
        seed=seed,
        scale=scale,
        steps=steps,
        dev=dev,
        data_dir=data_dir,
        threads=threads,
        device=device,
        linear=linear,
        trust_remote_code=trust_remote_code,
    )
    build.check(job.method, Path(job.folder), trust_remote_code, job.size, outside_teacher.width_of)
    training = JobTraining.of(job, corpus)
    try:
        found = training.run(watch)
    except Diverged as error:
        raise TrainingFailed(f"{job.label} stopped at step {error.step}: {error.reason}") from error
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error):
            raise
        raise TrainingFailed(f"{job.label} stopped at step {training.reached}: {OUT_OF_MEMORY}") from error
    built = training.built
    restore(built.encoder, found.best)
    return TrainedEncoder(
        method=job.label,
        resolved=job.method.resolved(),
        curve=found.curve,
        best_step=found.best_step,
        notes=(*built.notes, *found.notes),
        sentences=job.size,
        seed=seed,
        base=encoder,
        _encoder=built.encoder,
        _job=job,
    )


@contextmanager
def _bar(shown: bool) -> Iterator[Callable[[Progress], None]]:
    """What is told of each evaluation interval: a bar, or nobody."""
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True)) as bar:
        task = bar.add_task("training", total=None)

        def watch(seen: Progress) -> None:
            loss = "" if seen.loss is None else f" loss {seen.loss:.3f}"
            dev = "" if seen.dev is None else f" dev {seen.dev:.2f}"
            bar.update(task, completed=seen.step, total=seen.steps, description=f"training{loss}{dev}")

        yield watch
