"""A table for a paper."""

from __future__ import annotations

from collections.abc import Iterator

from cseb.results.figures import BEYOND, number, remarks
from cseb.results.stats import Cell
from cseb.results.tables import Row, Table
from cseb.results.terminal import fold

LONGEST = 32  # characters of a name on one line
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
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        rf"{' & '.join(map(tex, (table.stub, *(column.title for column in table.columns))))} \\",
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
    code = r"\texttt{{{}}}" if row.head.method else "{}"
    lines = [code.format(tex(line)) for line in fold(row.head.title, LONGEST)]
    body = r" \\ ".join(lines)
    name = body if len(lines) == 1 else rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{body}\end{{tabular}}"
    return name + (tex(BEYOND) if row.head.beyond else "")


def _cell(table: Table, row: Row, place: int, letters: dict[str, str]) -> str:
    cell = row.cells[place]
    shown = tex(number(cell, table.spread, signed=_signed(table, row, place)))
    if cell.best:
        mean, gap, rest = shown.partition(" ")
        shown = rf"\textbf{{{mean}}}{gap}{rest}"
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
