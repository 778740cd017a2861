"""Show lists of names, a method, a part or a record in full, or the differences between two records."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from cseb.commands.command_line import Call
from cseb.commands.screen import say, say_folded
from cseb.errors import BadBenchmark, UnknownName
from cseb.parameters import argument, command, option
from cseb.text import aligned

LISTS = ("methods", "parts", "tasks", "encoders", "benchmarks")
RECORD = re.compile(r"[0-9a-f]{4,16}|.*\.json")  # a record rather than a method


@command
def show(
    name: Annotated[
        str | Path,
        argument(f"A list ({', '.join(LISTS)}), a method such as simcse+ami, a part, or a record by key or file."),
    ],
    other: Annotated[str | Path, argument("A second record: show what differs from the first.")] = "",
    *,
    results: Annotated[str | Path, option("Folder of records, for a record by its key.")] = "results",
) -> str:
    """Show a list of names, a method, a part or a record in full, or what differs between two records.

    Of two records it shows every difference in how they were made, and their scores.

    Returns:
        Text of several lines.

    Raises:
        CsebError: if the name is unknown.

    Examples:
        >>> import cseb
        >>> cseb.show("infonce").splitlines()[0][:7]
        'infonce'
    """
    from cseb.commands import describe
    from cseb.registry import METHODS

    name, other = str(name), str(other)
    if other:
        return _differences(name, other, Path(results))
    if name in LISTS:
        return "\n".join(aligned(describe.LISTINGS[name]()))
    if RECORD.fullmatch(name):
        return _origin(name, Path(results))
    if name not in METHODS and get_close_matches(name, LISTS, n=1):
        raise UnknownName("list, method or part", name, LISTS)
    try:
        return describe.show(name)
    except UnknownName:
        for kind in LISTS[2:]:
            if name in (row[0] for row in describe.LISTINGS[kind]()):
                raise BadBenchmark(f"{name!r} is one of the {kind}; cseb show {kind} describes them") from None
        raise


def print_shown(call: Call[str]) -> None:
    """Print the text, wrapped on a terminal."""
    from cseb.registry import left_out

    say_folded(call())
    if call.settings["name"] in LISTS:
        for line in left_out():
            say(f"cseb: {line}", err=True)


def _differences(a: str, b: str, results: Path) -> str:
    """Return how two records differ, and their scores."""
    from cseb.commands.provenance import score_differences
    from cseb.records.differences import computation, conditions, differences, inputs
    from cseb.records.store import find

    first, second = (find(key, results)[1] for key in (a, b))
    rows = list(differences(first, second, inputs, computation, conditions))
    scores = score_differences(first, second)
    fields = aligned([("differs", "A", "B"), *rows]) if rows else ["nothing differs but the run itself"]
    table = aligned([("score", "A", "B", "B - A"), *scores]) if scores else ["neither has scores: failed or collapsed"]
    return "\n".join([*fields, "", *table])


def _origin(text: str, results: Path) -> str:
    from cseb.commands.provenance import story
    from cseb.records.store import find

    store, record = find(text, results)
    blocks = [[heading, *(f"  {line}" for line in aligned(rows))] for heading, rows in story(record, store) if rows]
    return "\n\n".join("\n".join(block) for block in blocks)
