"""Train an encoder on sentences, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cseb.commands.encoders import TrainedEncoder, arithmetic, strings
from cseb.commands.waiting import telling
from cseb.errors import OUT_OF_MEMORY, BadData, TrainingFailed, memory_ran_out, shortened
from cseb.parameters import (
    COLUMN,
    DATA_DIR,
    DEV,
    DEVICE,
    ENCODER,
    LINEAR,
    STEPS,
    THREADS,
    TRUST_REMOTE_CODE,
    command,
    option,
)
from cseb.progress import remark, tell


@command
def train(
    method: Annotated[str, option("Method with any edits, such as simcse+recipe(batch_size=64).")],
    sentences: Annotated[
        str | Path | Sequence[str],
        option(
            "A list of strings, pairs and triples joined by TABs, or a corpus: a file, wikipedia, hub:OWNER/NAME/FILE."
        ),
    ],
    *,
    encoder: Annotated[str | Path, ENCODER],
    seed: Annotated[int, option("Seed of all random numbers.")] = 0,
    steps: Annotated[int | None, STEPS] = None,
    scale: Annotated[
        str, option("Options that replace the method's own, such as recipe(batch_size=32), queue(size=64).")
    ] = "",
    dev: Annotated[str | Path, DEV] = "",
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    column: Annotated[str, COLUMN] = "",
    device: Annotated[str, DEVICE] = "auto",
    threads: Annotated[int, THREADS] = 1,
    linear: Annotated[str, LINEAR] = "auto",
    progress: Annotated[bool, option("Show the progress on standard error.")] = False,
    trust_remote_code: Annotated[bool, TRUST_REMOTE_CODE] = False,
) -> TrainedEncoder:
    """Train an encoder on sentences.

    The vectors are, bit for bit, those of `cseb run` with this seed, where the grid trains on all of these sentences.

    Returns:
        The encoder at the best checkpoint on `dev`, or at the last one without it.

    Raises:
        CsebError: if the method, the encoder or the sentences do not fit together, before anything trains.
        TrainingFailed: if the loss is no finite number, or memory runs out.

    Examples:
        >>> import cseb
        >>> sentences = cseb.sample("wikipedia", size=200)
        >>> encoder = cseb.train("simcse", sentences, encoder="cseb-tiny", steps=2, scale="recipe(batch_size=32)")
        >>> encoder.encode(["a sentence", "another one"]).shape
        (2, 128)
    """
    from cseb.commands.hosts import device_of
    from cseb.data.corpus import pack
    from cseb.data.read_corpus import read_corpus
    from cseb.experiment import outside_teacher
    from cseb.experiment.corpus_checks import corpus_remarks, encoder_remarks
    from cseb.experiment.single_job import single_job
    from cseb.experiment.train_job import JobTraining
    from cseb.training import build
    from cseb.training.checkpoints import restore
    from cseb.training.loop import Diverged

    where = device_of(device)
    if not isinstance(sentences, str | Path):
        corpus = pack("sentences", strings(sentences))
    elif " " in str(sentences) and not Path(sentences).exists():
        raise BadData(f"`sentences` is the text {shortened(str(sentences))}; give a list of strings, or a corpus")
    else:
        corpus = read_corpus(str(sentences), column, str(data_dir))
    with telling(not progress), arithmetic(threads, linear, where) as library:
        job = single_job(
            method,
            corpus,
            str(encoder),
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
        folder = Path(job.folder)
        remarks = [*corpus_remarks([job.method], corpus), *encoder_remarks([job.method], folder, corpus)]
        for line in remarks:
            remark(line)
        build.check(job.method, Path(job.folder), trust_remote_code, job.size, outside_teacher.width_of)
        training = JobTraining.of(job, corpus)
        try:
            trained = training.run(lambda seen: tell("training", seen.step, seen.steps))
        except Diverged as error:
            raise TrainingFailed(f"{job.label} stopped at step {error.step}: {error.reason}") from error
        except (MemoryError, RuntimeError) as error:
            if not memory_ran_out(error):
                raise
            raise TrainingFailed(f"{job.label} stopped at step {training.reached}: {OUT_OF_MEMORY}") from error
        built = training.built
        restore(built.encoder, trained.best)
    return TrainedEncoder(
        method=job.label,
        resolved=job.method.resolved(),
        curve=trained.curve,
        best_step=trained.best_step,
        notes=tuple(dict.fromkeys([*remarks, *built.notes, *trained.notes])),
        sentences=job.size,
        seed=seed,
        base=str(encoder),
        _encoder=built.encoder,
        _job=job,
    )
