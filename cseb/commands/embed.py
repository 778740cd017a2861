"""Write the vectors of sentences into a file, with any encoder that can be evaluated."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cseb.commands.command_line import Call
from cseb.commands.evaluate import ENCODER_HELP, POOLER, Encodes, embedder_of
from cseb.commands.screen import say
from cseb.errors import BadData, BadSpec
from cseb.parameters import COLUMN, DEVICE, THREADS, TRUST_REMOTE_CODE, argument, command, option
from cseb.progress import reading, remark, tell
from cseb.text import quantity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cseb.tasks.task import Embed

STDIN = "-"
SUFFIXES = (".parquet", ".npz", ".jsonl")


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Sentences, without the blank ones, and their vectors (N, D); NumPy takes it as the array of vectors."""

    sentences: list[str]
    vectors: npt.NDArray[np.floating[Any]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[np.floating[Any]]:
        import numpy as np

        return np.array(self.vectors, dtype=dtype, copy=copy)

    def json_lines(self) -> Iterator[str]:
        """Yield one line of JSON for each sentence."""
        for sentence, vector in zip(self.sentences, self.vectors, strict=True):
            yield json.dumps({"sentence": sentence, "vector": vector.tolist()}, ensure_ascii=False)

    def write(self, file: Path) -> None:
        """Write a file of one of SUFFIXES, complete or not at all. Raises: BadResults."""
        import numpy as np

        from cseb.data.files import write_whole, written

        tell(f"writing {file}")
        content = io.BytesIO()
        if file.suffix == ".npz":
            np.savez(content, sentences=np.array(self.sentences), vectors=self.vectors)
        elif file.suffix == ".jsonl":
            content.writelines(f"{line}\n".encode() for line in self.json_lines())
        else:
            import pyarrow as pa
            import pyarrow.parquet

            rows = pa.FixedSizeListArray.from_arrays(pa.array(self.vectors.ravel()), self.vectors.shape[1])
            pa.parquet.write_table(pa.table({"sentence": self.sentences, "vector": rows}), content)
        with written(file):
            write_whole(file, [content.getvalue()])


@command
def embed(
    encoder: Annotated[str | Path | Encodes | Callable[[list[str]], Any], argument(ENCODER_HELP)],
    sentences: Annotated[
        str | Path | Sequence[str],
        argument("A file with one sentence per line, a table, another corpus, or - for standard input."),
    ] = STDIN,
    *,
    out: Annotated[
        str | Path, option("File to write: .parquet, .npz or .jsonl. By default JSON lines are printed.")
    ] = "",
    column: Annotated[str, COLUMN] = "",
    dimensions: Annotated[int, option("Keep only the first numbers of every vector, such as 64. 0 keeps all.")] = 0,
    normalize: Annotated[bool, option("Scale every vector to length 1.")] = False,
    dtype: Annotated[str, option("Number format of the vectors.", choices=("float32", "float16"))] = "float32",
    pooler: Annotated[str, POOLER] = "",
    device: Annotated[str, DEVICE] = "auto",
    threads: Annotated[int, THREADS] = 1,
    trust_remote_code: Annotated[bool, TRUST_REMOTE_CODE] = False,
) -> Embeddings:
    """Encode sentences: one vector per sentence, in their order. Blank lines are left out.

    The vectors are those that `eval` scores. With `out`, they are stored in blocks beside the file while they are
    computed. Repeat the command to continue after an interruption.

    Returns:
        The sentences and their vectors, (N, D).

    Raises:
        CsebError: if the encoder or the sentences cannot be read, or the file cannot be written.

    Examples:
        >>> import cseb
        >>> cseb.embed("cseb-tiny", ["a sentence", "another one"], dimensions=64, dtype="float16").vectors.shape
        (2, 64)
    """
    import numpy as np

    from cseb.commands.hosts import device_of
    from cseb.commands.train import arithmetic
    from cseb.embedders.interface import EncoderOptions
    from cseb.embedders.vector_cache import stored
    from cseb.experiment.evaluate import vector_key

    file = Path(out) if out else None
    if file is not None and (file.suffix not in SUFFIXES or not file.parent.is_dir()):
        raise BadSpec(f"`out` is {str(file)!r}; name a file ending in {', '.join(SUFFIXES)} in an existing folder")
    options = EncoderOptions(pooler=pooler, device=device_of(device), trust_remote_code=trust_remote_code)
    texts = _sentences(sentences, column)
    embedder = embedder_of(encoder, options)
    blocks = file.with_name(f"{file.name}.blocks") if file else None
    with arithmetic(threads, "auto", options.device):
        tell("loading the encoder")
        encode: Embed = embedder.open()
        if blocks is not None and embedder.alone:
            encode = stored(blocks, vector_key(embedder, options), encode)
        vectors: npt.NDArray[np.floating[Any]] = np.asarray(encode(texts), np.float32)
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise BadData(f"{embedder.source.name} gives no finite vector for {texts[broken[0]][:60]!r}; remove it")
    if dimensions > vectors.shape[1]:
        raise BadSpec(f"`dimensions` is {dimensions}; the vectors have {quantity(vectors.shape[1], 'number')}")
    vectors = vectors[:, : dimensions or None]
    if normalize:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    if np.abs(vectors).max() > np.finfo(dtype).max:
        raise BadSpec("some numbers are too large for float16; give `normalize` too, or take `dtype` float32")
    embeddings = Embeddings(texts, vectors.astype(dtype))
    if file is not None and blocks is not None:
        embeddings.write(file)
        shutil.rmtree(blocks, ignore_errors=True)
    return embeddings


def print_embeddings(call: Call[Embeddings]) -> None:
    """Print where the vectors are, or the vectors as JSON lines."""
    with reading(partial(say, err=True)):
        embeddings = call()
    if out := call.settings.get("out"):
        count, width = embeddings.vectors.shape
        say(f"{quantity(count, 'vector')} of {quantity(width, 'number')} written to {out}")
    else:
        for line in embeddings.json_lines():
            say(line)


def _sentences(sentences: str | Path | Sequence[str], column: str) -> list[str]:
    """Return the sentences of a list, a corpus or standard input, and remark on blank lines. Raises: BadData."""
    from cseb.commands.train import corpus_of
    from cseb.data.corpus import pack

    standard = isinstance(sentences, str | Path) and str(sentences) == STDIN
    corpus = pack("standard input", sys.stdin) if standard else corpus_of(sentences, column)
    if corpus.blank:
        remark(f"{corpus.name}: {quantity(corpus.blank, 'blank line')} left out")
    return corpus.take(range(len(corpus)))
