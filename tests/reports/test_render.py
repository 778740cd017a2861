"""Each format is compared with its golden file.

`python -m tests.reports.test_render` writes the golden files anew.
"""

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.analysis.stats import Cell
from cseb.analysis.study import StudyQuery
from cseb.records.record import Record
from cseb.reports.document import Grid
from cseb.reports.documents import score_grid
from cseb.reports.formats import FORMATS
from cseb.reports.formats import terminal as screen
from cseb.reports.layouts import ablation, few_shot, per_task, sensitivity
from cseb.reports.tables import Table
from tests.factory import grid, record
from tests.reports.readers import cells_of_latex, cells_of_markdown, figures
from tests.reports.test_layouts import heated

GOLDEN = Path(__file__).parent / "golden"
TASKS7 = tuple(f"{task}@1" for task in ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"))
LONG = "micse-ami+recipe(steps=500,learning_rate=1e-05)+queue(size=64,momentum=0.99)"


def table() -> Table:
    return few_shot(grid(), query=StudyQuery(select="both"))


def document(*tables: Table) -> list[Grid]:
    return list(map(score_grid, tables))


def terminal(shown: Table, width: int) -> str:
    return screen.write(document(shown), width)


def markdown(shown: Table) -> str:
    return FORMATS["markdown"].write(document(shown))


def latex(shown: Table) -> str:
    return FORMATS["latex"].write(document(shown))


def wide() -> list[Record]:
    return [
        record(method, size, seed, tasks=TASKS7, values=[40 + 7.5 * task + seed for task in range(7)])
        for method in ("simcse", LONG)
        for size in (100, 1000, 10_000, 100_000)
        for seed in range(5)
    ]


def expected(shown: Table) -> list[list[str]]:
    return [[row.method, *map(figures, row.cells)] for row in shown.rows]


def rendered(name: str) -> str:
    return terminal(table(), 160) if name == "terminal" else FORMATS[name].write(document(table()))


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_equals_its_golden_file(name: str) -> None:
    text = rendered(name)
    assert text.endswith("\n")
    assert rounded(text) == rounded((GOLDEN / f"{name}.txt").read_text())


@pytest.mark.parametrize(("name", "cells_of"), [("markdown", cells_of_markdown), ("latex", cells_of_latex)])
def test_every_cell_can_be_read_back(name: str, cells_of: Callable[[str], list[list[str]]]) -> None:
    assert cells_of(rendered(name)) == expected(table())


def rounded(text: str) -> str:
    """Numbers to ten digits: quantiles of other versions of scipy differ in the eleventh."""
    return re.sub(r"\d+\.\d{10,}", lambda each: f"{float(each[0]):.10g}", text)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 240])
@pytest.mark.parametrize(
    "made", [table, lambda: few_shot(wide()), lambda: per_task(wide(), query=StudyQuery(fractions=(0.01,)))]
)
def test_no_number_is_wrapped_or_cut_on_any_screen(width: int, made: Callable[[], Table]) -> None:
    shown = made()
    body = terminal(shown, width).partition("\n\n")[2].partition(shown.caption[:30])[0]
    assert max(map(len, body.splitlines())) <= width
    for row in shown.rows:
        for cell in row.cells:
            assert all(line in body for line in figures(cell, "\n").split("\n"))
    numbers = re.findall(r"\d+\.\d\d ± \d+\.\d\d(?!\d)", body)
    assert len(numbers) == sum(cell.sd is not None for row in shown.rows for cell in row.cells)


@pytest.mark.parametrize(
    ("mean", "values", "absent", "text"),
    [
        (72.314, 4, {4: "failed"}, "72.31 ± 0.40 (n=4, 1 failed)"),
        (72.314, 5, {}, "72.31 ± 0.40"),
        (
            -3.0,
            2,
            {2: "missing", 3: "collapsed", 4: "missing"},
            "-3.00 ± 0.40 (n=2, 1 collapsed, 2 missing) (median 1.00) (IQM --)",
        ),
        (72.314, 1, {}, "72.31"),
        (None, 0, {0: "failed", 1: "missing"}, "-- (1 failed, 1 missing)"),
    ],
)
def test_a_cell_shows_what_it_rests_on(mean: float | None, values: int, absent: dict[int, str], text: str) -> None:
    result = Cell(mean=mean, sd=0.4 if values > 1 else None, values=dict.fromkeys(range(values), 1.0), absent=absent)
    assert figures(result) == text


NASTY = r"""a|b`c\d{e}$f&g#h%i_j^k~l<m>n"o'p*q[r]!"""


def test_nothing_in_a_name_breaks_a_format() -> None:
    shown = few_shot([record(NASTY, seed=seed, corpus=NASTY) for seed in range(2)])
    text = latex(shown)
    assert cells_of_latex(text)[0][1:] == expected(shown)[0][1:]
    assert re.sub(r"\\[{}$&#%_]", "", text).count("$") % 2 == 0
    assert cells_of_markdown(markdown(shown))[0][1:] == expected(shown)[0][1:]
    assert "``" + NASTY.replace("|", r"\|") in markdown(shown).replace("`` ", "``")
    [row] = csv.DictReader(io.StringIO(FORMATS["csv"].write(document(shown))))
    [grid] = json.loads(FORMATS["json"].write(document(shown)))
    assert row["method"] == grid["rows"][0]["method"] == NASTY


def test_no_name_talks_to_the_terminal() -> None:
    shown = few_shot([record("simcse\x1b[31m\n\r\u202e", seed=seed) for seed in range(2)])
    assert terminal(shown, 80).replace("\n", "").isprintable()


def options() -> list[Record]:
    return [heated(t, 60 + seed + 10 * t, seed) for t in (0.05, 0.1) for seed in range(3)]


TEX = {
    "few-shot": lambda: latex(few_shot(grid(), query=StudyQuery(select="both"))),
    "few-shot, wide": lambda: latex(few_shot(wide())),
    "marked": lambda: latex(few_shot(wide(), query=StudyQuery(mark=True))),
    "tasks": lambda: latex(per_task(wide(), query=StudyQuery(fractions=(0.01,)))),
    "ablation": lambda: latex(ablation([record(name, seed=s) for name in ("msse", "msse-dcm") for s in range(2)])),
    "sensitivity": lambda: latex(sensitivity(options())),
    "nasty": lambda: latex(few_shot([record(NASTY, seed=seed, corpus=NASTY) for seed in range(3)])),
}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_with_the_packages_it_names(tmp_path: Path) -> None:
    """All kinds in one document, which fits its lines."""
    needed = "".join(dict.fromkeys(re.findall(r"\\usepackage(?:\[\w+\])?\{\w+\}", TEX["few-shot"]())))
    body = ""
    for place, (kind, made) in enumerate(TEX.items()):
        (tmp_path / f"t{place}.tex").write_text(made())
        body += rf"\typeout{{{kind}}}\input{{t{place}}}\clearpage"
    (tmp_path / "paper.tex").write_text(rf"\documentclass{{article}}{needed}\begin{{document}}{body}\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    wide_lines = re.findall(r"Overfull \\hbox \((\d+)\.", done.stdout)
    assert not [points for points in wide_lines if int(points) > 5], done.stdout


if __name__ == "__main__":
    for name in FORMATS:
        (GOLDEN / f"{name}.txt").write_text(rendered(name))
