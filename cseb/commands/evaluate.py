"""Evaluate anything that embeds sentences, without training it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import typer

from cseb import parameters
from cseb.commands.command_line import Call, as_typed
from cseb.commands.results import joined
from cseb.commands.screen import say
from cseb.errors import BadSpec
from cseb.experiment.scores import Scores
from cseb.parameters import argument, command, definitions, option
from cseb.progress import reading, tell

if TYPE_CHECKING:
    import numpy.typing as npt

    from cseb.embedders.interface import Embedder, EncoderOptions


ENCODER_HELP = (
    "A folder, a hub name, the key of a run, module:function, glove:FILE, words:tf-idf, cseb-tiny or cseb-mini; in "
    "Python also an object with encode, or a function from a list of strings to an array (N, D)."
)
POOLER = option("Pooler, such as mean. By default that of the encoder's own files, else cls.")


@runtime_checkable
class Encodes(Protocol):
    """The interface of a TrainedEncoder or a SentenceTransformer."""

    def encode(self, sentences: list[str], /) -> npt.ArrayLike:
        """Return the vectors of N sentences."""


@command
def evaluate(
    encoder: Annotated[
        str | Path | Encodes | Callable[[list[str]], Any],
        argument(ENCODER_HELP),
    ],
    tasks: Annotated[str | Sequence[str], parameters.TASKS] = "sts",
    data_dir: Annotated[str | Path, parameters.DATA_DIR] = "",
    *,
    pooler: Annotated[str, POOLER] = "",
    dtype: Annotated[
        str, option("Number format; bf16 and fp16 are faster on GPUs and less exact.", choices=("fp32", "bf16", "fp16"))
    ] = "fp32",
    device: Annotated[str, parameters.DEVICE] = "auto",
    threads: Annotated[int, parameters.THREADS] = 1,
    results: Annotated[
        str | Path | None,
        option("Folder to store the record in: results on the command line; nothing is stored in Python by default."),
    ] = None,
    trust_remote_code: Annotated[bool, parameters.TRUST_REMOTE_CODE] = False,
) -> Scores:
    """Score an encoder without training it.

    A task without data, or that fails, is named; the others are scored.

    Returns:
        Scores by task; `Scores.failed` says why a task has no score.

    Raises:
        CsebError: for what concerns the encoder as a whole, or if no task can be scored.

    Examples:
        >>> import cseb, numpy
        >>> scores = cseb.evaluate(lambda texts: numpy.array([[len(text), 1] for text in texts]), tasks="clinc150-dev")
        >>> list(scores)
        ['clinc150-dev']
        >>> scores.failed
        {}
    """
    tell("loading PyTorch")
    from cseb.commands.hosts import device_of
    from cseb.commands.train import arithmetic
    from cseb.embedders.interface import EncoderOptions
    from cseb.experiment.evaluate import evaluate as score
    from cseb.records.store import Store

    how = EncoderOptions(
        pooler=pooler,
        dtype=dtype,
        device=device_of(device),
        trust_remote_code=trust_remote_code,
        results=Path(results or "results"),
        data_dir=str(data_dir),
    )
    store = Store(Path(results)) if results else None
    if store is not None:
        store.prepare()
    with arithmetic(threads, "auto", how.device):
        return score(embedder_of(encoder, how), how, joined(tasks), str(data_dir), store, threads)


def print_scores(call: Call[Scores]) -> None:
    """Print the scores and where the record is; exit with 1 if a task has no score."""
    from cseb.experiment.evaluate import reasons
    from cseb.tasks.names import interpretations

    for line in interpretations(call.settings.get("tasks", "sts")):
        say(line, err=True)
    call.settings.setdefault("results", "results")
    with reading(partial(say, err=True)):
        scores = call()
    record = scores.record
    kept = "was there already" if scores.reused else f"in {scores.stored}"
    protocols = ", ".join(sorted({score.protocol for score in record.scores}))
    encoder = f"{record.encoder.name} ({record.encoder.sha256[:8]}), {record.method}"
    say(f"{encoder}, {protocols}; record {record.key} {kept}")
    say(str(scores))
    for line in reasons(scores.failed):
        say(f"cseb: {as_typed(line, definitions(evaluate))}", err=True)
    if scores.failed:
        raise typer.Exit(1)


def embedder_of(encoder: str | Path | Encodes | Callable[[list[str]], Any], how: EncoderOptions) -> Embedder:
    """Return the embedder of anything that `evaluate` takes. Raises: CsebError."""
    from cseb.embedders import find, functions

    if isinstance(encoder, str | Path):
        return find(str(encoder), how)
    if how.pooler or how.dtype != "fp32":
        option = f"`pooler` {how.pooler}" if how.pooler else f"`dtype` {how.dtype}"
        raise BadSpec(f"an object returns sentence vectors itself, so {option} does not apply; leave it out")
    name = getattr(encoder, "method", "") or getattr(encoder, "__name__", "") or type(encoder).__name__
    if isinstance(encoder, Encodes):
        return functions.embedder(encoder.encode, str(name))
    if callable(encoder):
        return functions.embedder(encoder, str(name))
    raise BadSpec(
        f"a {type(encoder).__name__} cannot be evaluated; give a name, an object with encode, or a function of a list"
        " of strings"
    )
