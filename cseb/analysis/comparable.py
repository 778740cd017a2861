"""Which records may stand in one table: what they must share, and what is said where they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cseb.errors import BadResults, did_you_mean
from cseb.records.record import Record, Source
from cseb.text import plain

Identity = Callable[[Record], object]
Shown = Callable[[Record], str]
# What no table mixes: its name, how two records are distinguished, and how the difference is shown.
INPUTS: tuple[tuple[str, Identity, Shown], ...] = (
    ("encoder", lambda record: record.encoder.sha256, lambda record: tag(record.encoder)),
    ("corpus", lambda record: record.corpus.sha256, lambda record: tag(record.corpus)),
    ("what the seed decides", lambda record: record.vary, lambda record: record.vary),
)
# What a table mixes only when it is asked to, and then says so.
CONDITIONS: tuple[tuple[str, Identity, Shown], ...] = (
    ("tasks", lambda record: record.protocol.tasks, lambda record: ", ".join(record.protocol.tasks)),
    ("task data", lambda record: record.protocol.data, lambda record: record.protocol.data[:8]),
    (
        "dev set",
        lambda record: (record.protocol.dev, record.protocol.dev_pairs),
        lambda record: record.protocol.dev or "none",
    ),
    ("device", lambda record: record.protocol.device, lambda record: record.protocol.device),
    ("number of threads", lambda record: record.protocol.threads, lambda record: str(record.protocol.threads)),
    ("number of processes", lambda record: record.protocol.processes, lambda record: str(record.protocol.processes)),
    ("dtype", lambda record: record.origin.dtype, lambda record: record.origin.dtype),
    (
        "version of torch",
        lambda record: record.origin.versions.get("torch", ""),
        lambda record: record.origin.versions.get("torch", "unknown"),
    ),
)


def refuse_differences(
    records: list[Record], inputs: Sequence[tuple[str, Identity, Shown]], *, mixed: bool
) -> dict[str, str]:
    """What differs in how the records were made, in words by its name; only where `mixed` allows it.

    Raises: BadResults for any difference in `inputs`, and for others that were not allowed.
    """
    for what, identity, shown in inputs:
        if kinds := _kinds(records, identity, shown):
            hint = "; `by` encoder makes rows of them" if what == "encoder" else ""
            raise BadResults(f"records differ in {what}: {kinds}; a table holds one, so keep the others apart{hint}")
    differing = {what: kinds for what, identity, shown in CONDITIONS if (kinds := _kinds(records, identity, shown))}
    differing |= _third_party_differences(records)
    if differing and not mixed:
        what, kinds = next(iter(differing.items()))
        raise BadResults(
            f"records differ in {what}: {kinds}; keep the others in a folder of their own, or mix them with `mixed`"
        )
    return differing


def _third_party_differences(records: list[Record]) -> dict[str, str]:
    """Return the third-party parts and tasks that these records used in more than one version."""
    versions: dict[str, set[str]] = {}
    for record in records:
        for source in record.foreign:
            version = plain(f"{source.package} {source.version}, code {source.code[:8]}")
            versions.setdefault(f"the code of {plain(source.name)}", set()).add(version)
    return {what: " / ".join(sorted(shown)) for what, shown in versions.items() if len(shown) > 1}


def groups(records: Iterable[Record], *, encoders: bool = False) -> list[list[Record]]:
    """Return the records by encoder, corpus and seed scope, in order of their names: each group can be a table.

    encoders: by corpus alone, since encoders are rows. Encoders as they stand are a group for each set of tasks.
    """
    found: dict[object, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.encoder.name, record.corpus.name, record.vary)):
        conditions = tuple(identity(record) for _, identity, _ in CONDITIONS) if as_it_stands(record) else ()
        encoder = "" if encoders or as_it_stands(record) else record.encoder.sha256
        found.setdefault((encoder, record.corpus.sha256, record.vary, conditions), []).append(record)
    return list(found.values())


def scored_on(several: list[list[Record]], tasks: Sequence[str]) -> list[list[Record]]:
    """The groups that were scored on all of these tasks, typed with or without their versions; all if none is named.

    Raises: BadResults where none was.
    """
    if not tasks:
        return several
    lists = [{one.protocol.tasks for one in group} for group in several]  # many records share a few
    names = [{name for held in each for task in held for name in _names(task)} for each in lists]
    found = [group for group, known in zip(several, names, strict=True) if known.issuperset(tasks)]
    if several and not found:
        known = set().union(*names)
        if missing := [task for task in tasks if task not in known]:
            bare = {name for name in known if "@" not in name}
            near = did_you_mean(missing[0], bare) if len(tasks) == 1 else f"the records have {', '.join(sorted(bare))}"
            raise BadResults(f"no record has the task{'s'[: len(missing) > 1]} {', '.join(missing)}; {near}")
        raise BadResults(f"no records were scored on all of {', '.join(tasks)}; name tasks of one run")
    return found


def _names(task: str) -> tuple[str, str]:
    return task, task.rpartition("@")[0]


def as_it_stands(record: Record) -> bool:
    """Whether `cseb eval` made it: no sentence was trained on, and the encoder is what the record is about."""
    return record.subset.size == 0


def tag(source: Source) -> str:
    """Such as bert-base-uncased@86b5c2d1: a name, and which one exactly."""
    return f"{plain(source.name)}@{source.sha256[:8]}"


def _kinds(records: list[Record], identity: Identity, shown: Shown) -> str:
    """The different ones, or "" when there is only one."""
    kinds = {identity(record): record for record in records}
    return plain(" / ".join(sorted({shown(record) for record in kinds.values()}))) if len(kinds) > 1 else ""
