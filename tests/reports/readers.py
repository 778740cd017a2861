"""The cells of a table, read back from Markdown and LaTeX."""

import re

from cseb.analysis.stats import Cell
from cseb.reports.document import BEST
from cseb.reports.documents import number, remarks


def cells_of_markdown(text: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith("|")]
    parsed = [[each.strip() for each in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    assert len({len(row) for row in parsed}) == 1
    assert set(parsed[1]) == {"---"}
    return [[row[0].rstrip(" †").strip("`").replace(r"\|", "|"), *row[1:]] for row in parsed[2:]]


def untex(text: str) -> str:
    for code, letter in (
        (r"$\pm$", "±"),
        (r"$^\dagger$", ""),
        (r"\textquotesingle{}", "'"),
        (r"\textasciicircum{}", "^"),
        (r"\textbar{}\allowbreak{}", "|"),
    ):
        text = text.replace(code, letter)
    text = re.sub(r" \{\\scriptsize (.*)\}", r" \1", re.sub(r"\\texttt\{(.*)\}", r"\1", text))
    return re.sub(r"\\([&%_#{}$])", r"\1", re.sub(r"\$([+-][\d.]+)\$", r"\1", text)).strip()


def cells_of_latex(text: str) -> list[list[str]]:
    """Rows as they are printed."""
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert text.count(r"\begin{") == text.count(r"\end{")
    (layout,) = re.findall(r"\\begin\{tabular\}\{(lr+)\}", text)
    head, body = re.findall(r"\\toprule\n(.*)\\midrule\n(.*)\\bottomrule", text, flags=re.DOTALL)[0]
    rows = [re.split(r"(?<!\\)&", line.removesuffix(r"\\").strip()) for line in (head + body).splitlines()]
    assert {len(row) for row in rows} == {len(layout)}
    return [[untex(unfolded(each)) for each in row] for row in rows[1:]]


def unfolded(name: str) -> str:
    """A name over several lines as one."""
    inner = re.fullmatch(r"\s*\\begin\{tabular\}\[t\]\{@\{\}l@\{\}\}(.*)\\end\{tabular\}", name.strip())
    if not inner:
        return name
    return "".join(re.sub(r"^\\texttt\{(.*)\}", r"\1", line.strip()) for line in inner[1].split(r" \\ "))


def figures(cell: Cell, between: str = " ") -> str:
    """Return `72.31 ± 0.40 (n=4, 1 failed)`, with `between` before the bracket."""
    shown = number(cell) + (BEST if cell.best else "")
    return between.join([shown, *(f"({remark})" for remark in remarks(cell))])
