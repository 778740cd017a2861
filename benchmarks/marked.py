"""Tables that scripts keep fresh inside of pages that people write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

END = "<!-- end -->"


def with_table(text: str, marker: str, table: str) -> str:
    """The page with this table between its marker and the next `<!-- end -->`. Raises: ValueError without both."""
    start = f"<!-- {marker} -->\n"
    before, found, rest = text.partition(start)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"a page needs {start.strip()} and behind it {END}")
    return f"{before}{start}{table}\n{END}{after}"


def write_tables(page: Path, script: str, tables: Mapping[str, str]) -> None:
    """Write a page again with these tables, each by the name before `, by SCRIPT` in its marker."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        text = with_table(text, f"{name}, by {script}", table)
    page.write_text(text, encoding="utf-8")
