"""A job without a grid, a folder of records or a test task."""

from __future__ import annotations

from cseb.data.corpus import Corpus
from cseb.data.weights import find_encoder
from cseb.experiment.job import Job, external_inputs, foreign
from cseb.experiment.plan import check_jobs, protocol_of
from cseb.methods.grammar import parse_method, parse_scale
from cseb.records.record import Source


def single_job(
    text: str,
    corpus: Corpus,
    encoder: str,
    *,
    seed: int = 0,
    scale: str = "",
    steps: int | None = None,
    dev: str = "",
    data_dir: str = "",
    threads: int = 1,
    device: str = "cpu",
    trust_remote_code: bool = False,
    linear: str = "auto",
) -> Job:
    """Return the job of a method on all sentences of a corpus, checked as in a grid. Raises: CsebError."""
    method = parse_method(text)
    resolved = method.at(1.0, parse_scale(scale), steps)
    protocol = protocol_of("", dev, data_dir, threads, device)
    folder, weights = find_encoder(encoder)
    job = Job(
        benchmark="train",
        label=str(method),
        method=resolved,
        encoder=Source(name=encoder, sha256=weights),
        corpus=Source(name=corpus.name, sha256=corpus.sha256),
        folder=str(folder),
        column="",
        size=len(corpus),
        fraction=1.0,
        seed=seed,
        protocol=protocol,
        data_dir=data_dir,
        trust_remote_code=trust_remote_code,
        dev=dev,
        external_inputs=external_inputs(resolved),
        foreign=foreign(resolved, protocol),
        linear=linear,
    )
    check_jobs([job], corpus)
    return job
