"""The model card of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.progress import tell

if TYPE_CHECKING:
    from cseb.records.record import Record
    from cseb.records.store import Store


def card(
    record: str, results: str | Path = "results", *, data_dir: str | Path = "", licence: str = "", name: str = ""
) -> str:
    """The README of a trained encoder, as the Hugging Face hub reads it: YAML, scores with intervals, origin.

    Args:
        record: its key, the beginning of one, or its file.
        results: folder of records; the other seeds of the run there give a mean and its interval.
        data_dir: folder of task files; by default that of the record's benchmark. Without them there are no intervals.
        licence: of the encoder, as the hub names them, such as ``apache-2.0``; by default what the card of the encoder
            that training began with says, if it can be found.
        name: folder or hub name under which users load it; by default that of the saved model.

    Returns:
        Markdown.

    Raises:
        BadResults: if there is no such record.
    """
    from cseb.records.find import find

    return written(*find(record, Path(results)), data_dir=str(data_dir), licence=licence, name=name)


def written(
    store: Store, record: Record, *, data_dir: str, licence: str, name: str, further: Sequence[str] = ()
) -> str:
    """The card of a record that has been read. further: paragraphs of Markdown behind its scores."""
    from cseb.data.shipped import ENCODERS
    from cseb.data.weights import locate
    from cseb.experiment.card import licence_of, model_card
    from cseb.experiment.load_item_scores import load_item_scores

    tell("reading records")
    others, _ = store.summaries()
    began = record.encoder.name
    if not licence and (began in ENCODERS or Path(began).is_dir()):  # nothing is fetched for a line of a card
        licence = licence_of(locate(began))
    model = store.folder / "models" / record.key
    return model_card(
        record,
        load_item_scores(store, [record], data_dir),
        name=name or str(model),
        licence=licence,
        loads=(model / "modules.json").is_file(),
        others=others,
        further=further,
    )
