"""What counting words and static vectors reach on what decides: a training that stays below them is not worth it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from statistics import fmean

from cseb.data.static_tables import PREFIX
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import CsebError
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Embed
from cseb.tasks.words import tf_idf

COUNTED, STATIC = "TF-IDF", "the mean of the encoder's word embeddings"


def word_baselines(tasks: str, data_dir: str, encoder: str, device: str = "cpu") -> dict[str, float]:
    """Points of TF-IDF and of the encoder's own word embeddings, tasks averaged, by what the verdict calls them.

    Without the second where the encoder is such a table already, or has none that can be taken out of it; without
    either on a task that it has no score on.
    """
    folder = Path(data_dir) if data_dir else None
    loaded = [(task, load_task(task, folder)) for task in parse_tasks(tasks)]
    embedders: dict[str, Embed] = {COUNTED: tf_idf}
    if not encoder.startswith(PREFIX):
        with suppress(CsebError):  # not every family keeps its word embeddings where a table can be made of them
            embedders[STATIC] = find(f"{PREFIX}{encoder}", EncoderOptions(device=device)).open()
    found: dict[str, float] = {}
    for name, embed in embedders.items():
        values = [outcome.value for outcome, _ in score_all(loaded, embed)]
        if known := [value for value in values if value is not None]:
            found |= {name: fmean(known)} if len(known) == len(values) else {}
    return found
