"""A table for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cseb.results.figures import BEYOND, number, remarks
from cseb.results.stats import Cell
from cseb.results.tables import Heading, Row, Table
from cseb.results.terminal import fold

LONGEST = 28  # characters of a name on one line
CLOSE = 5  # columns; more of them stand closer together
PREAMBLE = r"""% \input this file. In the preamble:
%   \usepackage[T1]{fontenc}
%   \usepackage{textcomp}
%   \usepackage{booktabs}
%   \usepackage{graphicx}
"""
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}\allowbreak{}",  # a signature may break here
        "`": r"\textasciigrave{}",
        "'": r"\textquotesingle{}",
        '"': r"{\char34}",  # a bare one is active in some languages of babel
        "±": r"$\pm$",
        "†": r"$^\dagger$",
        "Δ": r"$\Delta$",
    }
)


def latex(table: Table) -> str:
    """A `table` environment to be input into a paper; caption and label are made from the data.

    Numbers have two decimals and stand flush right, so that points stand below each other; what a cell lacks is said
    below, at a raised letter. A table wider than the line is made smaller.
    """
    letters = _letters(table)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex(table.title)}. {tex(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\par\medskip",
        *([r"\setlength{\tabcolsep}{4pt}"] if len(table.columns) > CLOSE else []),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        rf"{' & '.join((tex(table.stub), *(_head(column) for column in table.columns)))} \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = [_cell(table, row, place, letters) for place in range(len(table.columns))]
        lines.append(rf"{' & '.join((_name(row), *cells))} \\")
    lines += [
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        *(rf"{{\raggedright\footnotesize $^{{{letter}}}$ {tex(said)}\par}}" for said, letter in letters.items()),
        *(rf"{{\raggedright\footnotesize {tex(note)}\par}}" for note in table.notes),
        rf"{{\raggedright\tiny\ttfamily {tex(table.signature)}\par}}",
        r"\end{table}",
    ]
    return PREAMBLE + "\n".join(lines) + "\n"


def tex(text: str) -> str:
    """Running text that LaTeX prints as it is."""
    return text.translate(LATEX)


def _name(row: Row) -> str:
    return _folded(row.head, LONGEST, "[t]", "l")


def _head(column: Heading) -> str:
    return _folded(column, 20, "[b]", "r") if column.method else tex(column.title)


def _folded(head: Heading, width: int, place: str, side: str) -> str:
    """A title on as many lines as it needs, methods as one types them."""
    lines = [rf"\texttt{{{tex(line)}}}" if head.method else tex(line) for line in fold(head.title, width)]
    lines[-1] += tex(BEYOND) if head.beyond else ""
    body = r" \\ ".join(lines)
    return body if len(lines) == 1 else rf"\begin{{tabular}}{place}{{@{{}}{side}@{{}}}}{body}\end{{tabular}}"


def _cell(table: Table, row: Row, place: int, letters: dict[str, str]) -> str:
    cell = row.cells[place]
    mean, _, spread = number(cell, table.spread, signed=_signed(table, row, place)).partition(" ")
    shown = rf"\textbf{{{_minus(mean)}}}" if cell.best else _minus(mean)
    shown += rf" {{\scriptsize {tex(spread)}}}" if spread else ""
    letter = letters.get(_lacks(cell, _signed(table, row, place)))
    return rf"{shown}\rlap{{$^{{{letter}}}$}}" if letter else shown


def _signed(table: Table, row: Row, place: int) -> bool:
    return bool(row.head.minus or table.columns[place].minus)


def _lacks(cell: Cell, signed: bool) -> str:
    """What is to be said of a cell that does not hold every planned seed; a full one is what the caption says."""
    return ", ".join(remarks(cell, signed=signed)) if cell.absent else ""


def _letters(table: Table) -> dict[str, str]:
    """Remark to the letter that stands for it, in order of appearance."""
    said = dict.fromkeys(
        _lacks(cell, _signed(table, row, place)) for row in table.rows for place, cell in enumerate(row.cells)
    )
    return dict(zip((one for one in said if one), _alphabet(), strict=False))


def _alphabet() -> Iterator[str]:
    """Letters a to z, then aa, ab and so on."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    yield from letters
    yield from (first + second for first in letters for second in letters)


def _minus(number: str) -> str:
    """A number with the sign that LaTeX has for it; two hyphens stay, they say that there is none."""
    return f"${number}$" if re.match(r"[+-]\d", number) else tex(number)
