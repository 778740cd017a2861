"""The model card of a run."""

from __future__ import annotations

from pathlib import Path

from cseb.progress import tell


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
    from cseb.data.shipped import ENCODERS
    from cseb.data.weights import locate
    from cseb.experiment.card import licence_of, model_card
    from cseb.experiment.load_item_scores import load_item_scores
    from cseb.records.find import find

    store, found = find(record, Path(results))
    tell("reading records")
    others, _ = store.summaries()
    began = found.encoder.name
    if not licence and (began in ENCODERS or Path(began).is_dir()):  # nothing is fetched for a line of a card
        licence = licence_of(locate(began))
    model = store.folder / "models" / found.key
    return model_card(
        found,
        load_item_scores(store, [found], str(data_dir)),
        name=name or str(model),
        licence=licence,
        loads=(model / "modules.json").is_file(),
        others=others,
    )
