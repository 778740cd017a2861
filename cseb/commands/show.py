"""Show lists of names, a method, a part or a record in full, or the differences between two records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.commands.command_line import Call
from cseb.commands.screen import say, say_folded
from cseb.errors import BadBenchmark, BadResults, UnknownName
from cseb.parameters import DATA_DIR, TRUST_REMOTE_CODE, argument, command, option

if TYPE_CHECKING:
    from cseb.commands.differences import Variant
    from cseb.records.record import Record

LISTS = ("methods", "parts", "tasks", "encoders", "benchmarks")
RECORD = re.compile(r"[0-9a-f]{4,16}|.*\.json")  # a record rather than a method


@command
def show(
    name: Annotated[
        str | Path,
        argument(
            f"A list ({', '.join(LISTS)}), a method such as simcse+ami, a part, a record by key or file, or a folder "
            "of records to compare with another."
        ),
    ],
    other: Annotated[str | Path, argument("A second record or folder: show what differs from the first.")] = "",
    *,
    results: Annotated[str | Path, option("Folder of records, for a record by its key.")] = "results",
) -> str:
    """Show a list of names, a method, a part or a record in full, or what differs between two records.

    Of two records, or folders of records, it shows every difference, and how the gap between their scores changes when
    both are read under one protocol.

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
    from cseb.reports.text_table import aligned

    name, other = str(name), str(other)
    if other:
        return _differences(name, other, Path(results))
    if name in LISTS:
        return "\n".join(aligned(describe.listing(name)))
    if RECORD.fullmatch(name):
        return _origin(name, Path(results))
    if name not in METHODS and get_close_matches(name, LISTS, n=1):
        raise UnknownName("list, method or part", name, LISTS)
    return describe.show(name)


def print_shown(
    call: Call[str],
    *,
    verify: Annotated[
        bool, option("Recompute every number of a folder of records; the exit code is 1 if one differs.")
    ] = False,
    rerun: Annotated[
        bool, option("Repeat the job of a record and compare every bit; the exit code is 1 if one differs.")
    ] = False,
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    trust_remote_code: Annotated[bool, TRUST_REMOTE_CODE] = False,
) -> None:
    """Print the text, wrapped on a terminal; or verify a folder, or repeat a record."""
    from cseb.commands import rerun as repeating
    from cseb.commands import verify as verifying
    from cseb.registry import left_out

    name, results = call.settings["name"], call.settings.get("results", "results")
    if ((verify or rerun) and "other" in call.settings) or (verify and rerun):
        raise BadBenchmark("`verify` takes one folder and `rerun` one record; leave the rest out")
    if verify:
        verifying.print_verified(call.of(verifying.verify, results=name, data_dir=data_dir))
    if rerun:
        options = {"data_dir": data_dir, "trust_remote_code": trust_remote_code}
        repeating.print_rerun(call.of(repeating.rerun, record=name, results=results, **options))
    say_folded(call())
    if name in LISTS:
        for line in left_out():
            say(f"cseb: {line}", err=True)


def _differences(a: str, b: str, results: Path) -> str:
    """Return the differences between two results, and how much of their gap each protocol explains."""
    from cseb.commands import differences
    from cseb.reports.text_table import aligned

    first = _records(a, results)
    lines: list[str] = []
    second = _records(b, results)
    rows = differences.field_differences(first, second)
    lines += aligned([("differs", "A", "B"), *rows]) if rows else ["nothing differs but the run itself"]
    folders = Path(a).is_dir() or Path(b).is_dir()
    for cell, ours, theirs in differences.matched(first, second) if folders else [("", first, second)]:
        lines += [f"\n{cell}" if cell else "", _table(differences.variants(ours, theirs), "A", "B")]
    return "\n".join(lines)


def _origin(text: str, results: Path) -> str:
    from cseb.commands.provenance import story
    from cseb.records.store import find
    from cseb.reports.text_table import aligned

    store, record = find(text, results)
    blocks = [[heading, *(f"  {line}" for line in aligned(rows))] for heading, rows in story(record, store) if rows]
    return "\n\n".join("\n".join(block) for block in blocks)


def _records(text: str, results: Path) -> Sequence[Record]:
    from cseb.records.store import Store, find

    if not Path(text).is_dir():
        return [find(text, results)[1]]
    records = [record for record in Store(Path(text)).load()[0] if record.purpose == "reported"]
    if not records:
        raise BadResults(f"{text} contains no records; name a folder that cseb run has written")
    return records


def _table(variants: Sequence[Variant], a: str, b: str) -> str:
    """Scores under each protocol; the last column says how much of the gap as reported each explains."""
    from cseb.reports.text_table import aligned

    if not variants:
        return "  neither side has scores: failed or collapsed"
    first = variants[0].gap
    rows = [("score", a, b, f"{b} - {a}", "explains")]
    for place, variant in enumerate(variants):
        gap = variant.gap
        explained = "" if not place or first is None or gap is None else f"{first - gap:+.2f} of {first:+.2f}"
        shown_gap = "--" if gap is None else f"{gap:+.2f}"
        rows.append((variant.name, _score(variant.a), _score(variant.b), shown_gap, explained))
    return "\n".join(f"  {line}" for line in aligned(rows))


def _score(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"
