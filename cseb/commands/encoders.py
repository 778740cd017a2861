"""A trained encoder in Python: sentences to vectors, and a folder that other libraries load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadData

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
    from cseb.data.corpus import pack
    from cseb.data.read_corpus import read_corpus

    if isinstance(sentences, str | Path):
        return read_corpus(str(sentences), column, str(data_dir))
    return pack("sentences", strings(sentences))


def strings(sentences: Sequence[str]) -> list[str]:
    """Return sentences as a list. Raises: BadData unless all are strings."""
    if isinstance(sentences, str):
        raise BadData("one string is given where a list of strings is needed; write [text]")
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise BadData(f"sentence {number} is {type(sentence).__name__} {str(sentence)[:40]!r}; strings are needed")
    return list(sentences)


@contextmanager
def arithmetic(threads: int, library: str, device: str) -> Iterator[str]:
    """Set the CPU threads of PyTorch and the library of linear layers, which decide rounding, and restore them later.

    Yields the library, resolved if it is "auto". Raises: BadSpec.
    """
    import torch

    from cseb.encoder.linear import taking
    from cseb.encoder.linear_choice import resolved

    before, linear = torch.get_num_threads(), resolved(library, threads, device)
    torch.set_num_threads(threads)
    try:
        with taking(linear):
            yield linear
    finally:
        torch.set_num_threads(before)
