"""Copy the saved model of a run into a folder with a card."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.errors import BadResults
from cseb.parameters import argument, command, option
from cseb.progress import tell
from cseb.text import plain

if TYPE_CHECKING:
    from cseb.records.record import Record
    from cseb.records.store import Store


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported model.

    Attributes:
        card: the model card, Markdown as the Hugging Face hub reads it.
        folder: where the model is; "" if it was not copied.
    """

    card: str = ""
    folder: str = ""


@command
def export(
    record: Annotated[str | Path, argument("Key of a run, its beginning, or the record's file.")],
    results: Annotated[str | Path, option("Folder of records.")] = "results",
    *,
    to: Annotated[str | Path, option("New folder for the model and its card.")] = "",
) -> Exported:
    """Copy a saved model with its card into a folder.

    Without `to` nothing is written, and the model card is printed. The card has the scores with intervals, the
    training data, and the `cseb show` command that lists all inputs and options of the run.

    Returns:
        The card, and where the model is.

    Raises:
        BadResults: if there is no such record or model, or the folder exists already.
    """
    from cseb.data.files import written
    from cseb.records.store import find

    if to and Path(to).exists():
        raise BadResults(f"{to} exists already; name a new folder, or remove it")
    store, run = find(str(record), Path(results))
    if not to:
        return Exported(card_of(store, run))
    model = store.folder / "models" / run.key
    if not model.is_dir():
        raise BadResults(f"no model of the run {run.key} in {model}; `cseb run --save-models` saves them")
    with (
        written(to, "make the folder above it, or name another"),
        tempfile.TemporaryDirectory(prefix=".cseb-", dir=Path(to).parent) as place,
    ):
        staged = Path(place, "model")
        shutil.copytree(model, staged)
        card = card_of(store, run, name=str(to))
        (staged / "README.md").write_text(card, encoding="utf-8")
        staged.rename(to)
    return Exported(card, str(to))


def print_exported(call: Call[Exported]) -> None:
    """Print where the model is, or the card of a model that was not written."""
    exported = call()
    if exported.folder:
        say(f"written to {plain(exported.folder)}")
    else:
        say(exported.card, nl=False)


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
