"""Arguments that are a list or text, brought into one form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cseb.errors import BadBenchmark
from cseb.parameters import sizes_and_fractions

if TYPE_CHECKING:
    from cseb.analysis.study import StudyQuery


def joined(values: str | Iterable[object]) -> str:
    """Return names or numbers with commas between them: ["a", "b"] and "a,b" are the same."""
    return values if isinstance(values, str) else ",".join(map(str, values))


def names(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return names from a list, or from a text with commas between them."""
    texts = values.split(",") if isinstance(values, str) else values
    return tuple(name.strip() for name in texts if name.strip())


def methods_of(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return methods as records name them; they need not exist here, as records tell all. Raises: BadSpec."""
    from cseb.methods.grammar import labels

    text = joined(values)
    return tuple(dict.fromkeys(labels(text))) if text.strip() else ()


def query(methods: Any, sizes: Any, tasks: Any, checkpoint: str, **others: Any) -> StudyQuery:
    """Return the query for a folder of records. Raises: BadBenchmark, BadSpec, UnknownName."""
    from cseb.analysis.study import StudyQuery
    from cseb.tasks.names import recorded_names

    counts, fractions = sizes_and_fractions(sizes)
    return StudyQuery(
        methods=methods_of(methods),
        fractions=fractions,
        sizes=counts,
        tasks=recorded_names(names(tasks)),
        select=checkpoint,  # type: ignore[arg-type]
        **others,
    )


def with_detail(value: str, needed: dict[str, str], name: str) -> tuple[str, str]:
    """Split a kind such as `sensitivity:PART.OPTION` from its detail. needed: what each kind takes.

    Raises: BadBenchmark.
    """
    kind, _, detail = value.partition(":")
    if detail and kind not in needed:
        takes = " or ".join(f"{each}:{what}" for each, what in needed.items())
        raise BadBenchmark(f"`{name}` is {value!r}; only {takes} takes a value behind a colon")
    return kind, detail
