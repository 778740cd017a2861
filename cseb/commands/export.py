"""Export the saved model of a run, or its scores: a folder with a card, the hub, result files of other tools."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.errors import BadBenchmark, BadResults
from cseb.parameters import argument, command, option
from cseb.progress import counted, tell
from cseb.text import plain, quantity

if TYPE_CHECKING:
    from cseb.records.record import Record
    from cseb.records.store import Store


SCORE_FORMATS = ("mteb", "eval-results")
ALL = "all"


def write_scores(key: str, results: Path, format: str, to: str, name: str, push: str) -> Exported:
    """Write the scores of one record, or of all. Raises: BadBenchmark, BadResults."""
    from cseb.data.files import written
    from cseb.exchange import result_files
    from cseb.records.store import Store, find

    if push:
        raise BadBenchmark(f"`format` {format} writes no model; leave `push` out")
    if name and format != "mteb":
        raise BadBenchmark("`name` is about mteb's files; give `format` mteb too")
    if not to:
        raise BadBenchmark(f"`format` {format} writes result files into a folder; give `to`")
    records = Store(results).load()[0] if key == ALL else [find(key, results)[1]]
    records.sort(key=lambda record: (record.method, record.subset.size, record.seed))
    left_out: list[str] = []
    failed = 0
    for record in counted(records, "exporting", len(records)):
        try:
            with written(to):
                reasons = result_files.FORMATS[format](record, Path(to), name)
        except BadResults as error:
            if len(records) == 1:
                raise
            failed, reasons = failed + 1, (str(error),)
        left_out += [reason if len(records) == 1 else f"{record.key}: {reason}" for reason in reasons]
    if records and failed == len(records):
        raise BadResults(f"nothing can be written of {quantity(failed, 'record')}; the first: {left_out[0]}")
    return Exported(folder=to, left_out=tuple(left_out))


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported model.

    Attributes:
        card: the model card, Markdown as the Hugging Face hub reads it.
        folder: where the model is; "" if it was not copied.
        address: its address on the hub; "" if it was not pushed.
        left_out: for scores, each task or record that is left out, and why.
    """

    card: str = ""
    folder: str = ""
    address: str = ""
    left_out: tuple[str, ...] = ()


@command
def export(
    record: Annotated[
        str | Path, argument("Key of a run, its beginning, or the record's file; `all` for the scores of all records.")
    ],
    results: Annotated[str | Path, option("Folder of records.")] = "results",
    *,
    to: Annotated[str | Path, option("New folder for the model and its card.")] = "",
    format: Annotated[
        str,
        option(
            "transformers is the model. The others contain only scores: for mteb's result cache, or for the "
            "Hugging Face hub (eval-results).",
            choices=("transformers", *SCORE_FORMATS),
        ),
    ] = "transformers",
    push: Annotated[str, option("Repository of the Hugging Face hub to push to.", metavar="OWNER/NAME")] = "",
    name: Annotated[str, option("Name of the model in mteb's files. By default cseb/KEY.", metavar="OWNER/NAME")] = "",
    private: Annotated[bool, option("Make a new repository visible to its owner only.")] = False,
) -> Exported:
    """Copy a saved model with its card into a folder, or push it to the Hugging Face hub.

    Without `to` and `push` nothing is written, and the model card is printed. The card has the scores with intervals,
    the training data and the command that repeats the run.

    Returns:
        The card, and where the model is.

    Raises:
        BadResults: if there is no such record or model, the folder exists already, the hub refuses, or no score can be
            written in the format.
        BadBenchmark: if options contradict each other.
        BadSpec: for a bad name of a repository.
    """
    from cseb.data import hub
    from cseb.data.files import written
    from cseb.records.store import find

    if format in SCORE_FORMATS:
        return write_scores(str(record), Path(results), format, str(to), name, push)
    if name:
        raise BadBenchmark("`name` is about mteb's files; give `format` mteb too")
    if private and not push:
        raise BadBenchmark("`private` is about the hub; give `push` OWNER/NAME too")
    if push:
        hub.check_push(push)
    if to and Path(to).exists():
        raise BadResults(f"{to} exists already; name a new folder, or remove it")
    store, run = find(str(record), Path(results))
    if not to and not push:
        return Exported(card_of(store, run))
    model = store.folder / "models" / run.key
    if not model.is_dir():
        raise BadResults(f"no model of the run {run.key} in {model}; `cseb run --save-models` saves them")
    with (
        written(to or "a copy of the model", "make the folder above it, or name another"),
        tempfile.TemporaryDirectory(prefix=".cseb-", dir=Path(to).parent if to else None) as place,
    ):
        staged = Path(place, "model")
        shutil.copytree(model, staged)
        name = push or str(to)
        card = card_of(store, run, name=name)
        (staged / "README.md").write_text(card, encoding="utf-8")
        if to:
            staged = staged.rename(to)
        if not push:
            return Exported(card, str(to))
        tell(f"pushing {push}")
        message = f"{run.method}, {run.subset.size:,} sentences, seed {run.seed}: run {run.key} of cseb"
        address = hub.push(staged, push, private=private, message=message)
        return Exported(card, str(to), address)


def print_exported(call: Call[Exported]) -> None:
    """Print where the model is, or the card of a model that was not written."""
    exported = call()
    if not exported.folder and not exported.address:
        say(exported.card, nl=False)
        return
    for line in exported.left_out:
        say(f"left out: {plain(line)}")
    for place in filter(None, (exported.folder, exported.address)):
        say(f"written to {plain(place)}")


def card_of(store: Store, record: Record, *, name: str = "") -> str:
    """Return the model card of a record. name: that users load."""
    from cseb.data.shipped import ENCODERS
    from cseb.data.weights import locate
    from cseb.embedders.interface import library_loads
    from cseb.experiment.benchmark import load_item_scores
    from cseb.experiment.card import licence_of, model_card

    tell("reading records")
    others, _ = store.load()
    began = record.encoder.name
    here = began in ENCODERS or Path(began).is_dir()  # nothing is fetched for a line of a card
    model = store.folder / "models" / record.key
    return model_card(
        record,
        load_item_scores(store, [record]),
        name=name or str(model),
        licence=licence_of(locate(began)) if here else "",
        loads=library_loads(model) if model.is_dir() else None,
        others=others,
    )
