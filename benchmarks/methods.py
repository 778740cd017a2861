"""Tables in the docs: all methods, all tasks.

Rows come from the registry, published scores from benchmarks/published/scores.csv, ours from folders of results/,
and comparisons with the authors' code from benchmarks/published/code.csv.
Run it in the root of the repository after any of these has changed: python -m benchmarks.methods
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.marked import with_table
from cseb.data.provenance import GENERATED
from cseb.methods.grammar import NOT_OFFERED, parse_method
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method
from cseb.papers.scores import Printed, own_rows, shipped_rows
from cseb.registry import METHODS, TASKS

ROOT = Path(__file__).parents[1]
BY = "by benchmarks/methods.py"  # what a marker ends with
# Behind a cost, by where it was measured; others get a mark of their own.
MARKS = {"generated": "", "generated-triples": "", "embedded": " †", "embedded-written": " †"}
SHARE = 0.01  # of the corpus, where low-shot columns look
CODE = Path("benchmarks") / "published" / "code.csv"
SIZE = 1_000  # sentences in the columns of our scores
MINI = Path("results") / "real-mini"  # the methods of the papers, tuned
MINI_CPU = MINI / "cpu"  # those made on a CPU
TUNED = Path("results") / "tuned"  # the same and some more, on the smaller encoder
REAL = Path("results") / "real"  # the other methods without labels
WRITTEN = Path("results") / "written"  # methods that need what a language model wrote
PAPER = re.compile(r".*?\b(?:19|20)[0-9]{2}\b")  # a source up to its year
FIRST = ("bert-base", "bert-large", "roberta-base", "roberta-large", "sroberta-base", "glove", "")
NONE = "--"

LEGEND = """\
- **needs**: what the method needs besides sentences and one encoder.
- **has seen**: data used in training. Pre-training of the encoder does not count.
- **cost**: CPU seconds of a job relative to SimCSE's on the same corpus (`results/speed/cost.csv`). `†`: measured with
  `benchmarks/embedded.yaml`. `§`: measured in the benchmark that scores the method.
- **reported**: average of seven STS tasks for BERT-base in the papers, lowest to highest where they differ. Another
  encoder is named.
- **`cseb-mini`**: average of the seven STS tasks, mean ± standard deviation over seeds, trained on 1,000 Wikipedia
  sentences, each method tuned in the same way (`results/real-mini`).
- **`cseb-tiny`**: the same for a smaller encoder (`results/tuned`, `results/real`). `‡`: with generated sentences
  (`results/written`).
- `*`: in one other form: with options that fit the small encoder or name a teacher, or pooled by the mean.
- `--`: a, not in a table of the five papers in this form; b, learns from labelled texts, see `results/triples`,
  `results/rated-pairs` or `results/few-labels`; c, not run on this encoder in those benchmarks; `results` has pages on
  documents and decoders; d, not timed; e, in `results/tuned`."""


class Words(NamedTuple):
    """An encoder of words, no method of the registry. printed: its name in papers' tables."""

    command: str
    paper: str
    needs: str
    seen: str
    printed: str


WORDS = (
    Words("cseb eval glove:FILE", "Pennington et al., EMNLP 2014", "file of word vectors", "nothing", "glove-avg"),
    Words("cseb eval words:tf-idf", NONE, NONE, "a corpus", ""),
    Words("cseb eval words:tf-idf-transductive", NONE, NONE, "task's sentences", ""),
    Words("cseb eval words:random", NONE, NONE, "nothing", ""),
)


def methods_table(root: Path = ROOT) -> str:
    """One row for each method of the registry, then encoders of words, then what is not offered and why."""
    costs = reversed(_csv(root / "results" / "speed" / "cost.csv"))
    cost = {row["method"]: f"{row['to_simcse']}{MARKS.get(row['setting'], ' §')}" for row in costs}
    mini, cpu, real, tuned, written = (_points(root / folder) for folder in (MINI, MINI_CPU, REAL, TUNED, WRITTEN))
    generated = {
        label: f"{points} ‡" for label, points in written.items() if GENERATED in parse_method(label).data_seen()
    }
    rows = [_method_row(name, cost, (cpu | mini, real | tuned | generated)) for name in METHODS]
    for words in WORDS:
        printed = _printed([row for row in shipped_rows() if words.printed and row.method == words.printed], None)
        cells = (f"{NONE} d", f"{NONE} a", printed, f"{NONE} e", f"{NONE} e")
        rows.append((f"`{words.command}`", words.paper, words.needs, words.seen, *cells))
    values = ("cost", "reported, 1 %", "reported, 100 %", "`cseb-mini`", "`cseb-tiny`")
    head = ("method", "paper, year", "needs", "has seen", *values)
    return "\n".join([*_markdown(head, rows), "", LEGEND])


def not_offered_table() -> str:
    """What the five papers print and cseb has not, each with the reason."""
    rows = [
        (f"`{name}`", _printed([row for row in shipped_rows() if row.method == name], None), reason)
        for name, reason in NOT_OFFERED.items()
    ]
    return "\n".join(_markdown(("not offered", "reported, 100 %", "why"), rows))


def code_table(root: Path = ROOT) -> str:
    """Every method with the authors' code that it was compared with, and the largest differences."""
    head = ("method", "authors' code", "compared", "loss", "gradient", "30 steps", "not compared", "declared")
    rows = [_code_row(row) for row in _csv(root / CODE)]
    return "\n".join(_markdown(head, rows))


def _code_row(row: Mapping[str, str]) -> tuple[str, ...]:
    repository, commit = row["repository"], row["commit"]
    link = f"[{repository}](https://github.com/{repository}) {commit[:8]}".strip() if "/" in repository else repository
    values = (row[name] or NONE for name in ("compared", "loss", "gradient", "update", "rest"))
    return (f"`{row['method']}`", link or NONE, *values, str(len(METHODS[row["method"]].deviations)))


def protocols_table() -> str:
    """Every protocol with its tasks and their versions, in the order of the registry."""
    held: dict[str, list[str]] = {}
    for name in TASKS.builtin:
        task = TASKS[name]
        held.setdefault(task.protocol, []).append(f"`{name}`@{task.version}")
    rows = [(f"`{protocol}`", ", ".join(names)) for protocol, names in held.items()]
    return "\n".join(_markdown(("protocol", "tasks"), rows))


def needs(method: Method) -> list[str]:
    """What a settled method asks for besides sentences and one encoder."""
    return list(dict.fromkeys(asked for part in method.parts() if (asked := facts(part.name).requires)))


def _method_row(name: str, cost: Mapping[str, str], scores: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    method = METHODS[name].at(SHARE)
    rows = own_rows(name) or [row for row in shipped_rows() if _is_form(row.cseb_method, name)]
    labelled = "labels" in method.data_seen()
    return (
        f"`{name}`",
        _paper(METHODS[name].source),
        ", ".join(needs(method)) or NONE,
        ", ".join(method.data_seen()) or "nothing",
        _of(name, cost) or f"{NONE} d",
        _printed(rows, SHARE),
        _printed(rows, 1.0),
        *(f"{NONE} b" if labelled else _of(name, values) or f"{NONE} c" for values in scores),
    )


def _is_form(text: str, name: str) -> bool:
    """Whether this spec is the method with other options, and no part more or less."""
    return text.startswith(f"{name}+recipe(") and "+" not in text[len(name) + 1 :]


def _of(name: str, values: Mapping[str, str]) -> str:
    """The value of a method as it is, or of the one form of it that was run, which is marked; "" if there is none."""
    if name in values:
        return values[name]
    forms = [value for text, value in values.items() if text.startswith(f"{name}+")]
    return f"{forms[0]} *" if len(forms) == 1 else ""


def _paper(source: str) -> str:
    found = PAPER.match(source)
    text = found[0] if found else source.partition(":")[0].partition(";")[0]
    return text + ")" * (text.count("(") - text.count(")"))


def _printed(rows: Iterable[Printed], share: float | None) -> str:
    """The STS averages of a row's first encoder, lowest to highest where papers differ. share: None for any."""
    held = [row for row in rows if row.task == "sts-avg" and _counts(row, share)]
    encoder = next((one for one in FIRST if any(row.encoder == one for row in held)), "")
    texts = sorted({row.text for row in held if row.encoder == encoder}, key=float)
    if not texts:
        return f"{NONE} a"
    span = texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"
    return span if encoder in ("bert-base", "glove") else f"{span} ({encoder})"


def _counts(row: Printed, share: float | None) -> bool:
    """At 100 % rows without a share count too: untrained encoders, and training on all labelled triples."""
    return share is None or row.fraction == share or (share == 1.0 and row.fraction is None)


def _points(folder: Path) -> dict[str, str]:
    """Method to points of the chosen checkpoint at one size: mean and sample standard deviation over seeds."""
    rows = [row for row in _csv(folder / "few-shot.csv") if row["select"] == "best" and int(row["size"]) == SIZE]
    return {
        row["method"].partition(" (")[0]: f"{float(row['mean']):.2f}"  # without versions of parts
        + (f" ± {float(row['sd']):.2f}" if float(row["sd"] or 0) > 5e-3 else "")
        for row in rows
        if row["mean"]
    }


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


# File, words of the marker above a table, and what makes it.
TABLES: tuple[tuple[Path, str, Callable[[], str]], ...] = (
    (Path("docs/methods.md"), "all methods", methods_table),
    (Path("docs/methods.md"), "authors' code", code_table),
    (Path("docs/methods.md"), "not offered", not_offered_table),
    (Path("docs/protocols.md"), "tasks", protocols_table),
)


def main() -> None:
    """Write every table where it belongs."""
    for file, marker, made in TABLES:
        path = ROOT / file
        path.write_text(with_table(path.read_text(encoding="utf-8"), f"{marker}, {BY}", made()), encoding="utf-8")


if __name__ == "__main__":
    main()
