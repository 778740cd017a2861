"""The results of `cseb check` as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cseb.reports.text_table import aligned
from cseb.text import quantity

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
