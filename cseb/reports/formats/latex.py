"""`table` environments to be input into a paper; captions and labels are made from the data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from cseb.reports.document import DETAIL, NOTE, Column, Entry, Grid, marked
from cseb.reports.formats.terminal import fold

LONGEST = 28  # characters of a name on one line
CLOSE = 5  # columns after the first; more of them have less space between them
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


def write(grids: Sequence[Grid]) -> str:
    """Return one environment below the other; a second table of one name has a number in its label.

    Numbers are flush right, so that decimal points are below each other. A table wider than the line is made smaller.
    """
    labels: Counter[str] = Counter()
    tables = []
    for grid in grids:
        label = re.sub(r"[^\w-]+", "-", grid.label or grid.name)
        labels[label] += 1
        label += f"-{labels[label]}" if labels[label] > 1 else ""
        tables.append(_environment(grid, label))
    return "\n".join(tables)


def _tex(text: str) -> str:
    """Return running text that LaTeX prints as it is."""
    return text.translate(LATEX)


def _environment(grid: Grid, label: str) -> str:
    sides = "".join("r" if column.numeric else "l" for column in grid.columns)
    caption = ". ".join(filter(None, (grid.title, marked(grid.caption, "Bold"))))
    notes = (marked(note, "Bold").removesuffix(DETAIL).strip() for note in grid.notes)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(caption)}}}",
        rf"\label{{tab:{label}}}",
        r"\par\medskip",
        *([r"\setlength{\tabcolsep}{4pt}"] if grid.numeric and len(grid.columns) > CLOSE + 1 else []),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        rf"{' & '.join(_tex(column.title) for column in grid.columns)} \\",
        r"\midrule",
        *(_row(row, grid.columns) for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        *(rf"{{\raggedright\footnotesize {_tex(note)}\par}}" for note in notes if note),
        *([rf"{{\raggedright\tiny\ttfamily {_tex(grid.signature)}\par}}"] if grid.signature else []),
        r"\end{table}",
    ]
    return PREAMBLE + "\n".join(lines) + "\n"


def _row(row: tuple[Entry, ...], columns: tuple[Column, ...]) -> str:
    name, *entries = row
    cells = (_cell(entry, column) for entry, column in zip(entries, columns[1:], strict=True))
    return rf"{' & '.join((_name(name), *cells))} \\"


def _name(entry: Entry) -> str:
    """Return a name on as many lines as it needs, methods as one types them."""
    lines = [rf"\texttt{{{_tex(line)}}}" if entry.code else _tex(line) for line in fold(entry.text, LONGEST)]
    lines[-1] += _tex(NOTE) if entry.noted else ""
    body = r" \\ ".join(lines)
    return body if len(lines) == 1 else rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{body}\end{{tabular}}"


def _cell(entry: Entry, column: Column) -> str:
    if not column.numeric:
        return re.sub(r"(?<![\w)])-(?=\d)", "$-$", _tex(entry.whole()))  # a minus where a number has one
    number = f"${entry.text}$" if re.match(r"[+-]\d", entry.text) else _tex(entry.text)
    number = rf"\textbf{{{number}}}" if entry.bold else number
    small = " ".join(filter(None, (entry.spread, *(f"({remark})" for remark in entry.remarks))))
    return rf"{number} {{\scriptsize {_tex(small)}}}" if small else number
