"""An encoder that `cseb eval` scored, beside trained methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cseb.analysis.comparable import CONDITIONS, is_untrained, stale, unversioned
from cseb.errors import BadResults
from cseb.records.differences import tag
from cseb.records.record import Record
from cseb.text import plain


def with_encoder(
    trained: Sequence[Record], name: str, records: Sequence[Record], tasks: Sequence[str] = ()
) -> list[Record]:
    """Return trained records, and those of an encoder as one more method: the same scores for each subset and seed.

    name: of the encoder, as typed, alone or with its hash or pooler, such as `cseb-mini@4bc04c39 mean`. records: those
    with the encoder. tasks: those that are compared, by default those that `Study.chosen` takes. Nothing is added if no
    encoder has this name. Raises: BadResults if several have it, or if the encoder was not scored on these tasks.
    """
    of_name = [record for record in records if is_untrained(record) and name in _names(record) and not stale(record)]
    if not of_name or is_untrained(trained[0]):
        return list(trained)
    if len(rows := sorted({_names(record)[-1] for record in of_name})) > 1:
        raise BadResults(f"several encoders are called {plain(name)}: {', '.join(map(plain, rows))}; name one of them")
    # The same encoder may have been scored on another device, too.
    of_name.sort(key=lambda record: sum(value(record) != value(trained[0]) for value, _ in CONDITIONS.values()))
    data = {(unversioned(score.task), score.data) for record in trained for score in record.scores if score.data}
    known = {task for task, _ in data}
    needed = dict.fromkeys(map(_bare, tasks or _averaged(trained)))
    lacking: dict[str, None] = needed
    for encoder in of_name:
        scored = {
            task
            for score in encoder.scores
            if (task := unversioned(score.task)) not in known or (task, score.data) in data
        }
        if not (missing := {task: None for task in needed if task not in scored}):
            return [*trained, *_repeated(encoder, trained, name)]
        lacking = min(lacking, missing, key=len)
    raise BadResults(
        f"{plain(name)} was not scored on {', '.join(lacking)} with the data of the trained methods; score it with "
        f"cseb eval --tasks {','.join(needed)}, or name shared tasks with `tasks`"
    )


def row_name(record: Record) -> str:
    """Return encoder and pooler, such as `cseb-mini mean`."""
    return f"{record.encoder.short} {record.method}"


def _names(record: Record) -> list[str]:
    """Return all names of an encoder, from the shortest to one that distinguishes it."""
    encoders = (record.encoder.short, record.encoder.name, tag(record.encoder))
    return [name for encoder in encoders for name in (encoder, f"{encoder} {record.method}")]


def _averaged(trained: Sequence[Record]) -> list[str]:
    """Return the tasks that are averaged where none is named: those of the first one's protocol."""
    protocols = {score.task: score.protocol for record in trained for score in record.scores}
    scored = [task for task in trained[0].protocol.tasks if task in protocols]
    return [task for task in scored if protocols[task] == protocols[scored[0]]]


def _bare(task: str) -> str:
    return unversioned(task) or task


def _repeated(encoder: Record, trained: Sequence[Record], name: str) -> list[Record]:
    """Return the record for every subset and seed of trained ones; its only scores are those of both checkpoints."""
    scores = tuple(replace(score, select=select) for select in ("best", "last") for score in encoder.scores)
    places = {(record.subset.size, record.seed): record for record in trained}
    return [
        encoder.model_copy(
            update={
                "method": name,
                "encoder": record.encoder,
                "corpus": record.corpus,
                "subset": record.subset,
                "seed": record.seed,
                "trainer_version": record.trainer_version,
                "protocol": replace(
                    record.protocol,
                    device=encoder.protocol.device,
                    threads=encoder.protocol.threads,
                    processes=encoder.protocol.processes,
                ),
                "scores": scores,
            }
        )
        for record in places.values()
    ]
