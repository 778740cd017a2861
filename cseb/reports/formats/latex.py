"""`table` environments to be input into a paper; captions and labels are made from the data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from cseb.reports.document import DETAIL, NOTE, Column, Document, Entry, Grid, marked
from cseb.reports.formats.terminal import fold

LONGEST = 28  # characters of a name on one line
HEAD = 20  # the same for a name that heads a column
CLOSE = 5  # columns behind the first; more of them stand closer together
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


def write(document: Document) -> str:
    """One environment below the other; a second table of one name has a number in its label.

    Numbers stand flush right, so that points stand below each other; what a cell lacks is said below, at a raised
    letter. A table wider than the line is made smaller.
    """
    labels: Counter[str] = Counter()
    tables = []
    for grid in document.grids:
        label = re.sub(r"[^\w-]+", "-", grid.label or grid.name)
        labels[label] += 1
        label += f"-{labels[label]}" if labels[label] > 1 else ""
        tables.append(_environment(grid, label))
    return "\n".join(tables)


def tex(text: str) -> str:
    """Running text that LaTeX prints as it is."""
    return text.translate(LATEX)


def _environment(grid: Grid, label: str) -> str:
    letters = _letters(grid)
    sides = "".join("r" if column.numeric else "l" for column in grid.columns)
    caption = f"{tex(grid.title)}. {tex(marked(grid.caption, 'Bold'))}" if grid.caption else tex(grid.title)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
        r"\par\medskip",
        *([r"\setlength{\tabcolsep}{4pt}"] if grid.numeric and len(grid.columns) > CLOSE + 1 else []),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        rf"{' & '.join(map(_head, grid.columns))} \\",
        r"\midrule",
        *(_row(row, grid.columns, letters) for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        *(rf"{{\raggedright\footnotesize $^{{{letter}}}$ {tex(reason)}\par}}" for reason, letter in letters.items()),
        *(
            rf"{{\raggedright\footnotesize {tex(marked(note, 'Bold').removesuffix(DETAIL).strip())}\par}}"
            for note in grid.notes
            if note != DETAIL
        ),
        *([rf"{{\raggedright\tiny\ttfamily {tex(grid.signature)}\par}}"] if grid.signature else []),
        r"\end{table}",
    ]
    return PREAMBLE + "\n".join(lines) + "\n"


def _head(column: Column) -> str:
    return _name(column, HEAD, "[b]", "r") if column.code else tex(column.title)


def _row(row: tuple[Entry, ...], columns: tuple[Column, ...], letters: dict[str, str]) -> str:
    name, *cells = row
    shown = (_cell(entry, column, letters) for entry, column in zip(cells, columns[1:], strict=True))
    return rf"{' & '.join((_name(name, LONGEST, '[t]', 'l'), *shown))} \\"


def _name(one: Column | Entry, width: int, place: str, side: str) -> str:
    """On as many lines as it needs, methods as one types them."""
    name = one.title if isinstance(one, Column) else one.text
    lines = [rf"\texttt{{{tex(line)}}}" if one.code else tex(line) for line in fold(name, width)]
    lines[-1] += tex(NOTE) if one.noted else ""
    body = r" \\ ".join(lines)
    return body if len(lines) == 1 else rf"\begin{{tabular}}{place}{{@{{}}{side}@{{}}}}{body}\end{{tabular}}"


def _cell(entry: Entry, column: Column, letters: dict[str, str]) -> str:
    if not column.numeric:
        return _signs(tex(entry.whole()))
    number = f"${entry.text}$" if re.match(r"[+-]\d", entry.text) else tex(entry.text)  # -- says that there is none
    shown = rf"\textbf{{{number}}}" if entry.bold else number
    shown += rf" {{\scriptsize {tex(entry.spread)}}}" if entry.spread else ""
    letter = letters.get(_lacks(entry))
    return rf"{shown}\rlap{{$^{{{letter}}}$}}" if letter else shown


def _signs(text: str) -> str:
    """With a minus where a number has one."""
    return re.sub(r"(?<![\w)])-(?=\d)", "$-$", text)


def _lacks(entry: Entry) -> str:
    return ", ".join(entry.remarks) if entry.incomplete else ""


def _letters(grid: Grid) -> dict[str, str]:
    """Remark to the letter that stands for it, in order of appearance."""
    reasons = dict.fromkeys(_lacks(entry) for row in grid.rows for entry in row)
    return dict(zip((one for one in reasons if one), _alphabet(), strict=False))


def _alphabet() -> Iterator[str]:
    """Letters a to z, then aa, ab and so on."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    yield from letters
    yield from (first + second for first in letters for second in letters)
