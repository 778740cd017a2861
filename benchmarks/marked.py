"""Tables that scripts keep fresh inside of pages that people write."""

from __future__ import annotations

END = "<!-- end -->"


def with_table(text: str, marker: str, table: str) -> str:
    """The page with this table between its marker and the next `<!-- end -->`. Raises: ValueError without both."""
    start = f"<!-- {marker} -->\n"
    before, found, rest = text.partition(start)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"a page needs {start.strip()} and behind it {END}")
    return f"{before}{start}{table}\n{END}{after}"
