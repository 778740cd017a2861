"""Train an encoder on sentences, in Python, and use it: embed, score, save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb import parameters
from cseb.commands.screen import telling
from cseb.errors import OUT_OF_MEMORY, BadData, TrainingFailed, memory_ran_out, shortened
from cseb.parameters import command, option
from cseb.processor import ALONE
from cseb.progress import remark, tell

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cseb.data.corpus import Corpus
    from cseb.encoder.encoder import Encoder
    from cseb.experiment.job import Job


@dataclass(frozen=True, kw_only=True)
class TrainedEncoder:
    """A trained encoder.

    Attributes:
        method: as it was asked for.
        resolved: every part of the method with every option and version.
        curve: (step, mean loss since the last entry, dev score or None) at every evaluation during training.
        best_step: the step of the checkpoint: the best on the dev set, or the last one without a dev set.
        notes: remarks of the training, such as repeated sentences.
        sentences: number of training sentences.
        seed: of all random numbers.
        base: the encoder it started from.
    """

    method: str
    resolved: str = field(repr=False)
    curve: tuple[tuple[int, float, float | None], ...]
    best_step: int
    notes: tuple[str, ...]
    sentences: int
    seed: int
    base: str
    _encoder: Encoder = field(repr=False)
    _job: Job = field(repr=False)

    def encode(self, sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of N sentences.

        Args:
            sentences: a list of strings; what is longer than the encoder can read is cut.

        Returns:
            float32, (N, D), in the same order, not normalised: the vectors that cseb scores.

        Raises:
            BadData: if it is one string, or contains something else than strings.
        """
        protocol = self._job.protocol
        with arithmetic(protocol.threads, self._job.linear, protocol.device):
            return self._encoder.embed(strings(sentences))

    def save(self, folder: str | Path) -> Path:
        """Write the encoder into a folder that ``AutoModel.from_pretrained`` and `cseb.evaluate` load.

        With pooler cls or mean and no head at test, ``SentenceTransformer(folder)`` gives the same vectors.

        Args:
            folder: made where there is none; an encoder that cseb has saved there is replaced.

        Returns:
            The folder.

        Raises:
            BadResults: if it cannot be written, contains something else, or the method adds weights that no checkpoint
                of this family has (`prefix`).
        """
        from cseb.data.finished_models import refuse_taken
        from cseb.experiment.export import export

        path = Path(folder)
        refuse_taken(path)
        export(self._encoder, self._job, path, advice="fix that, or name another folder")
        return path


def corpus_of(sentences: str | Path | Sequence[str], column: str = "", data_dir: str | Path = "") -> Corpus:
    """Return a list of strings as a corpus, or the corpus of a name. Raises: BadData."""
    from cseb.data.corpus import pack, read_corpus

    if isinstance(sentences, str | Path):
        return read_corpus(str(sentences), column, str(data_dir))
    return pack("sentences", strings(sentences))


def strings(sentences: Iterable[str]) -> list[str]:
    """Return sentences as a list. Raises: BadData unless all are strings."""
    if isinstance(sentences, str):
        raise BadData("one string is given where a list of strings is needed; write [text]")
    if isinstance(sentences, Mapping) or hasattr(sentences, "columns"):
        raise BadData("a table is given where a list of strings is needed; give one of its columns, as table['text']")
    if not isinstance(sentences, Iterable):
        raise BadData(f"{type(sentences).__name__} is given where a list of strings is needed")
    texts = list(sentences)
    for number, sentence in enumerate(texts):
        if not isinstance(sentence, str):
            raise BadData(f"sentence {number} is {type(sentence).__name__} {str(sentence)[:40]!r}; strings are needed")
    return texts


@contextmanager
def arithmetic(threads: int, library: str, device: str) -> Iterator[str]:
    """Set the CPU threads of PyTorch and the library of linear layers, which decide rounding, and restore them later.

    Another thread that computes meanwhile waits. Yields the library, resolved if it is "auto". Raises: BadSpec.
    """
    import torch

    from cseb.encoder.linear import resolved, taking

    with ALONE:
        before, linear = torch.get_num_threads(), resolved(library, threads, device)
        torch.set_num_threads(threads)
        try:
            with taking(linear):
                yield linear
        finally:
            torch.set_num_threads(before)


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
    encoder: Annotated[str | Path, parameters.ENCODER],
    seed: Annotated[int, option("Seed of all random numbers.")] = 0,
    steps: Annotated[int | None, parameters.STEPS] = None,
    scale: Annotated[
        str, option("Options that replace the method's own, such as recipe(batch_size=32), queue(size=64).")
    ] = "",
    dev: Annotated[str | Path, parameters.DEV] = "",
    data_dir: Annotated[str | Path, parameters.DATA_DIR] = "",
    column: Annotated[str, parameters.COLUMN] = "",
    device: Annotated[str, parameters.DEVICE] = "auto",
    threads: Annotated[int, parameters.THREADS] = 1,
    linear: Annotated[str, parameters.LINEAR] = "auto",
    progress: Annotated[bool, option("Show the progress on standard error.")] = False,
    trust_remote_code: Annotated[bool, parameters.TRUST_REMOTE_CODE] = False,
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
    from cseb.data.weights import find_encoder
    from cseb.experiment import train_job
    from cseb.experiment.corpus_checks import corpus_remarks, encoder_remarks
    from cseb.experiment.job import Job, external_inputs, foreign
    from cseb.experiment.plan import check_jobs, protocol_of
    from cseb.experiment.train_job import JobTraining
    from cseb.methods.grammar import parse_method, parse_scale
    from cseb.records.record import Source
    from cseb.training import build
    from cseb.training.checkpoints import restore
    from cseb.training.loop import Diverged

    where = device_of(device)
    if isinstance(sentences, str | Path) and " " in str(sentences) and not Path(sentences).exists():
        raise BadData(f"`sentences` is the text {shortened(str(sentences))}; give a list of strings, or a corpus")
    corpus = corpus_of(sentences, column, data_dir)
    with telling(not progress), arithmetic(threads, linear, where) as library:
        parsed = parse_method(method)
        resolved = parsed.at(1.0, parse_scale(scale), steps)
        protocol = protocol_of("", str(dev or ""), str(data_dir), threads, where)
        folder, weights = find_encoder(str(encoder))
        job = Job(
            benchmark="train",
            label=str(parsed),
            method=resolved,
            encoder=Source(name=str(encoder), sha256=weights),
            corpus=Source(name=corpus.name, sha256=corpus.sha256),
            folder=str(folder),
            column="",
            size=len(corpus),
            fraction=1.0,
            seed=seed,
            protocol=protocol,
            data_dir=str(data_dir),
            trust_remote_code=trust_remote_code,
            dev=str(dev or ""),
            external_inputs=external_inputs(resolved, folder),
            foreign=foreign(resolved, protocol),
            linear=library,
        )
        check_jobs([job], corpus)
        remarks = [*corpus_remarks([resolved], corpus), *encoder_remarks([resolved], folder, corpus)]
        for line in remarks:
            remark(line)
        build.check(resolved, folder, trust_remote_code, job.size, train_job.width_of)
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
        built.encoder.eval()
    return TrainedEncoder(
        method=job.label,
        resolved=resolved.resolved(),
        curve=trained.curve,
        best_step=trained.best_step,
        notes=tuple(dict.fromkeys([*remarks, *built.notes, *trained.notes])),
        sentences=job.size,
        seed=seed,
        base=str(encoder),
        _encoder=built.encoder,
        _job=job,
    )
