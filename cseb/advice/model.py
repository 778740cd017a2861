"""The model that a recommendation ends with: the chosen method on all distinct sentences."""

from __future__ import annotations

from pathlib import Path

from cseb.data.corpus import Corpus
from cseb.experiment.export import export
from cseb.experiment.single_job import single_job
from cseb.experiment.train_job import JobTraining
from cseb.records.progress import Progress
from cseb.training.loop import restore


def _untold(_: Progress) -> None:
    """Nobody is told."""


def train_and_export(
    method: str,
    corpus: Corpus,
    folder: Path,
    *,
    encoder: str,
    scale: str,
    steps: int,
    threads: int,
    device: str,
    linear: str,
    trust_remote_code: bool,
) -> None:
    """Train with seed 0 on all sentences of the corpus and write the encoder to `folder`. Raises: CsebError."""
    job = single_job(
        method,
        corpus,
        encoder,
        scale=scale,
        steps=steps,
        threads=threads,
        device=device,
        linear=linear,
        trust_remote_code=trust_remote_code,
    )
    training = JobTraining.of(job, corpus)
    trained = training.run(_untold)
    restore(training.built.encoder, trained.best)
    export(training.built.encoder, job, folder, advice="fix that, or name another --out")
