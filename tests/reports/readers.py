"""The cells of a table, read back from what each format writes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

from cseb.analysis.stats import Absent, Cell
from cseb.reports.cell_text import figures


def cells_of_terminal(text: str) -> list[list[str]]:
    lines = text.splitlines()
    assert set(lines[3]) == {"─"}
    starts = [match.start() for match in re.finditer(r"(?<!\S)(?:method|[\d,]+ \()", lines[2])]
    body = lines[4 : lines.index("", 4)]
    bounds = list(zip(starts, [*starts[1:], None], strict=True))
    return [[line[start:stop].strip(" †") for start, stop in bounds] for line in body]


def cells_of_markdown(text: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith("|")]
    parsed = [[one.strip() for one in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
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
    return [[untex(unfolded(one)) for one in row] for row in rows[1:]]


def unfolded(name: str) -> str:
    """A name over several lines as one."""
    inner = re.fullmatch(r"\s*\\begin\{tabular\}\[t\]\{@\{\}l@\{\}\}(.*)\\end\{tabular\}", name.strip())
    if not inner:
        return name
    return "".join(re.sub(r"^\\texttt\{(.*)\}", r"\1", line.strip()) for line in inner[1].split(r" \\ "))


def cells_of_csv(text: str) -> list[list[str]]:
    rows: dict[str, list[str]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        assert None not in line.values()
        values = {int(seed): float(value) for seed, _, value in (one.partition(":") for one in line["values"].split())}
        reasons: tuple[Absent, ...] = ("failed", "collapsed", "missing")
        found = Cell(
            mean=float(line["mean"]) if line["mean"] else None,
            sd=float(line["sd"]) if line["sd"] else None,
            values=values,
            absent=dict(enumerate([what for what in reasons for _ in range(int(line[what]))], start=100)),
        )
        assert found.n == int(line["n"])
        rows.setdefault(line["method"], []).append(figures(found))
    return [[method, *cells] for method, cells in rows.items()]


def cells_of_json(text: str) -> list[list[str]]:
    [content] = json.loads(text)
    rows: dict[str, list[str]] = {}
    for row in content["rows"]:
        found = Cell(mean=row["mean"], sd=row["sd"], values=row["values"], absent=row["absent"])
        rows.setdefault(row["method"], []).append(figures(found))
    return [[method, *cells] for method, cells in rows.items()]


READERS: dict[str, Callable[[str], list[list[str]]]] = {
    "terminal": cells_of_terminal,
    "markdown": cells_of_markdown,
    "latex": cells_of_latex,
    "csv": cells_of_csv,
    "json": cells_of_json,
}
