"""Make untrusted text (files, arguments, host names) safe to show in a terminal or a spreadsheet, and format numbers.

A terminal obeys control characters (ECMA-48), and shows text in another order after marks of direction (Unicode
Standard Annex 9), so that what is read is not what is there. A spreadsheet computes cells that begin like a formula.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

LINE = 200  # characters of somebody's text that a message repeats
MESSAGE = 2000  # characters of a whole message: the longest list of known names has some 1,200
# C0 but tab and line feed, DEL and C1, marks of direction, separators of lines and paragraphs, halves of pairs
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
)
HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs: bytes of a name that are no UTF-8, and escapes in JSON
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?"
NUMBERS = re.compile(rf"{NUMBER}( {NUMBER})*", re.ASCII)
QUOTED = re.compile(r"(?<!\w)('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")", re.DOTALL)
WORD = re.compile(rf"\S{{{LINE + 1},}}")


def plain(text: str) -> str:
    """Return `text` on one line of at most 200 characters, without codes that a terminal would obey."""
    line = text[:10_000]  # most are printable: letter by letter takes a tenth of the time of a large page
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else " " for letter in HALVES.sub(_escape, line))
    return shortened(" ".join(line.split()))


def shown(text: str) -> str:
    """Return text of several lines for a screen: line feeds and tabs stay, terminal codes become escapes."""
    return OBEYED.sub(_escape, text.replace("\r\n", "\n"))


def message(text: str) -> str:
    """Return a message of ours on one line, with what it repeats of others cut to 200 characters and made harmless."""
    line = shown(" ".join(text.split()))
    line = WORD.sub(lambda match: shortened(match[0]), QUOTED.sub(lambda match: _quoted(match[0]), line))
    return line if len(line) <= MESSAGE else f"{line[: MESSAGE // 2]} ... {line[-MESSAGE // 2 :]}"


def shortened(text: str, longest: int = LINE) -> str:
    """Return the text, cut to `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def csv_row(cells: Mapping[str, object]) -> dict[str, object]:
    """Return a row of a CSV file: text that a spreadsheet would compute has an apostrophe before it.

    Numbers are left alone, also several with spaces between them. Source: OWASP, "CSV Injection".
    """
    return {name: _cell(value) for name, value in cells.items()}


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = shown(value)
    return f"'{value}" if value.startswith(FORMULA) and not NUMBERS.fullmatch(value) else value


def json_text(value: object) -> str:
    """Return indented JSON in which what a terminal would obey is escaped; read back, it is the same text."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _quoted(text: str) -> str:
    return text if len(text) < LINE - 10 else f"{text[: LINE - 20]}...{text[0]}"  # and a comma behind it


DIGITS = 4  # significant ones: fractions that differ by less than a thousandth of themselves look the same


def percent(fraction: float) -> str:
    """Return 0.001 as `0.1 %`, 0.01234 as `1.234 %`."""
    return f"{100 * fraction:.{DIGITS}g} %"


def size_title(size: int, fraction: float) -> str:
    """Return `100 (0.84 %)`: sentences and their fraction of the corpus, to two digits, as tables head a column."""
    return f"{size:,} ({float(f'{100 * fraction:.2g}'):g} %)"


def points(value: float | None, none: str = "collapsed") -> str:
    """Return a score with two digits; an encoder without a score has collapsed."""
    return none if value is None else f"{value:.2f}"


def quantity(count: float, noun: str) -> str:
    """Return `1 record`, `2,000 records`, `0.5 points`. noun: in the singular; its plural has an `s`."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{number} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


GAP = 2  # spaces between columns
RULE = "─"  # below the titles


def aligned(rows: Iterable[Sequence[str]], head: Sequence[str] = (), width: int = 0) -> list[str]:
    """Return rows of cells, all of one length, as lines without trailing spaces.

    rows: cells, which may have several lines. head: titles of the columns, underlined. width: characters of a line,
    into which the last column is wrapped; 0 to wrap nothing.
    """
    from rich.cells import cell_len

    lines = [[cell.split("\n") for cell in row] for row in ([head] if head else []) + list(rows)]
    if not lines:
        return []
    widths = [max(cell_len(line) for cell in column for line in cell) for column in zip(*lines, strict=True)]
    if width:
        widths[-1] = min(widths[-1], max(1, width - sum(widths[:-1]) - GAP * (len(widths) - 1)))
        for row in lines:
            row[-1] = [piece for line in row[-1] for piece in textwrap.wrap(line, widths[-1]) or [""]]
    drawn = []
    for row in lines:
        for pieces in zip_longest(*row, fillvalue=""):
            filled = (piece + " " * (size - cell_len(piece)) for piece, size in zip(pieces, widths, strict=True))
            drawn.append((" " * GAP).join(filled).rstrip())
    rule = [RULE * (sum(widths) + GAP * (len(widths) - 1))]
    height = max(map(len, lines[0]))
    return [*drawn[:height], *rule, *drawn[height:]] if head else drawn
