"""Compare fresh and expected records: averages within a tolerance, and every number bit by bit; the results as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cseb.analysis.stats import score
from cseb.errors import BadResults
from cseb.records.differences import computation, differences, inputs, scores, tag, training
from cseb.records.record import Record, Select
from cseb.text import aligned, percent, plain, quantity

ADVICE = (
    "A number has changed. If this is not intended, correct the code. Otherwise raise the version of the part or task, "
    "or TRAINER_VERSION or ENCODER_VERSION in cseb/version.py, and make the expected records again with --update."
)
Question = Literal["code", "drift"]
QUESTIONS: dict[Question, str] = {
    "code": "did a change of the code change a number?",
    "drift": "did scores move by more than repeated runs do?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The check of a cell. ok: None if it cannot be checked, as text says. moved: whether numbers differ at all."""

    question: Question
    cell: str
    ok: bool | None
    text: str
    moved: bool = False

    @property
    def word(self) -> str:
        """The beginning of its line."""
        return {True: "ok ", False: "BAD", None: "-- "}[self.ok]


def terminal(results: Sequence[CheckResult]) -> str:
    """Return the outcome of each kind of check, and below it every cell that is not identical."""
    lines = []
    for question, words in QUESTIONS.items():
        answers = [result for result in results if result.question == question]
        if answers:
            lines.append(f"{question}: {words} {_count(answers)}")
            shown = [result for result in answers if result.ok is not True or result.moved]
            rows = aligned((f"{result.word} {result.cell}", result.text) for result in shown)
            lines += [f"  {row}" for row in rows]
    if any(result.ok is False for result in results):
        lines.append(ADVICE)
    return "\n".join([*lines, ""])


def _count(results: Sequence[CheckResult]) -> str:
    checked = [result for result in results if result.ok is not None]
    if not checked:
        return "not checked"
    bad = sum(result.ok is False for result in checked)
    moved = sum(result.moved for result in checked)
    return (
        f"{'YES' if bad else 'no'}; {len(checked) - bad} of {quantity(len(checked), 'cell')} as expected, "
        f"{len(checked) - moved} of them identical to the last bit"
    )


ROUNDING = 1e-9  # points; 56.8 - 56.3 is a little more than 0.5 in binary
Cell = tuple[str, int, int]  # method as typed, sentences, seed


def compare(fresh: Iterable[Record], expected: Iterable[Record], tolerance: float) -> list[CheckResult]:
    """Return a result for each cell and checkpoint on either side; missing, failed and extra ones are not ok.

    tolerance: largest difference of an average over tasks, in points. Raises: BadResults.
    """
    new, old = by_cell(fresh), by_cell(expected)
    return [
        _result(new.get(cell), old.get(cell), select, tolerance)
        for cell in sorted({*new, *old})
        for select in _selects(new.get(cell), old.get(cell))
    ]


def cell_of(record: Record) -> Cell:
    """Return the properties by which a fresh and an expected record are paired."""
    return record.method, record.subset.size, record.seed


def by_cell(records: Iterable[Record]) -> dict[Cell, Record]:
    """Return the record of each cell. Raises: BadResults for a cell with two records."""
    cells: dict[Cell, Record] = {}
    for record in records:
        if (other := cells.setdefault(cell_of(record), record)) is not record:
            where = f"{plain(record.method)} on {quantity(record.subset.size, 'sentence')}, seed {record.seed}"
            raise BadResults(f"{where} has two records, {other.key}.json and {record.key}.json; remove one")
    return cells


def _selects(*records: Record | None) -> list[Select]:
    """Return the checkpoints that either side has scored; the last one if neither has a score."""
    return sorted({score.select for record in records if record for score in record.scores}) or ["last"]


def _result(new: Record | None, old: Record | None, select: Select, tolerance: float) -> CheckResult:
    record = new or old
    assert record is not None, "a cell has a record"
    fresh, expected = (score(run, record.protocol.tasks, select) for run in (new, old))
    difference = None if isinstance(fresh, str) or isinstance(expected, str) else fresh - expected
    reason = _reason(new, old, fresh, expected)
    text = ", expected ".join("--" if isinstance(value, str) else f"{value:.2f}" for value in (fresh, expected))
    text += f", moved by {difference:+.4g}" if difference else ""
    text += f", allowed ±{tolerance:.4g}"
    task, change = _largest_change(new, old, select)
    text += f"; most: {plain(task)} {change:+.4g}" if change else ""
    return CheckResult(
        question="drift",
        cell=f"{plain(record.method)} {percent(record.subset.fraction)} seed {record.seed} {select}",
        ok=not reason and difference is not None and abs(difference) <= tolerance + ROUNDING,
        text=f"{reason}: {text}" if reason else text,
        moved=difference != 0 or change != 0,
    )


def _largest_change(new: Record | None, old: Record | None, select: Select) -> tuple[str, float]:
    """Return the task whose score changed most, and by how many points; ("", 0) if no task is on both sides."""
    points, before = (record.points(select) if record else {} for record in (new, old))
    changes = [
        (task, value - other)
        for task, value in points.items()
        if value is not None and (other := before.get(task)) is not None
    ]
    return max(changes, key=lambda change: abs(change[1]), default=("", 0.0))


def _reason(new: Record | None, old: Record | None, fresh: float | str, expected: float | str) -> str:
    """Return why two scores cannot be compared, or ""."""
    if new is None or old is None:
        return "no record" if new is None else "not expected"
    if (new.encoder.sha256, new.corpus.sha256) != (old.encoder.sha256, old.corpus.sha256):
        inputs = [f"{tag(record.encoder)} and {tag(record.corpus)}" for record in (new, old)]
        return f"made with {inputs[0]}, expected {inputs[1]}"
    if new.protocol.tasks != old.protocol.tasks:
        return f"tasks are {', '.join(new.protocol.tasks)}, expected {', '.join(old.protocol.tasks)}"
    if isinstance(fresh, str):
        return f"failed: {plain(new.failure.reason)}" if new.failure else fresh
    return f"the expectation itself is {expected}" if isinstance(expected, str) else ""


def unchanged(
    fresh: Iterable[Record], expected: Iterable[Record], digests: Mapping[str, str], expected_digests: Mapping[str, str]
) -> list[CheckResult]:
    """Return a result for each record on both sides, with the first field that differs in the order of causes.

    Records are paired by method, size and seed, so that a job with a new key is compared too. digests: of the scores
    per example of the fresh records, by "KEY/best"; likewise `expected_digests`.
    """
    old_records = {cell_of(record): record for record in expected}
    results = []
    for new in fresh:
        if (old := old_records.get(cell_of(new))) is not None:
            first = next(_differences(new, old, digests, expected_digests), "")
            name = f"{plain(new.method)} {percent(new.subset.fraction)} seed {new.seed}"
            results.append(
                CheckResult(question="code", cell=name, ok=not first, text=first or "equal", moved=bool(first))
            )
    return results


def _differences(
    new: Record, old: Record, digests: Mapping[str, str], expected_digests: Mapping[str, str]
) -> Iterator[str]:
    for name, value, expected in differences(new, old, inputs, computation, training, scores):
        yield f"{name}: {value}, expected {expected}"
    for name, digest in digests.items():
        if name.startswith(new.key) and expected_digests.get(name, digest) != digest:
            select = name.rpartition("/")[2]
            yield f"items of the {select} checkpoint: digest {digest[:8]}, expected {expected_digests[name][:8]}"
