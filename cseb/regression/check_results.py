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
Question = Literal["code", "drift", "paper"]
QUESTIONS: dict[Question, str] = {
    "code": "did a change of the code change a number?",
    "drift": "did scores move by more than repeated runs do?",
    "paper": "are published numbers reproduced?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One cell under one question. ok: None where it cannot be checked; text then says why.

    moved: whether the numbers compared are not the same, in whichever digit.
    """

    question: Question
    cell: str
    ok: bool | None
    text: str
    moved: bool = False

    @property
    def word(self) -> str:
        """How lines begin."""
        return {True: "ok ", False: "BAD", None: "-- "}[self.ok]


def terminal(results: Sequence[CheckResult]) -> str:
    """For each question its outcome, and under it every cell that is not exactly as it was."""
    found = []
    for question, asked in QUESTIONS.items():
        held = [one for one in results if one.question == question]
        if held:
            found.append(f"{question}: {asked} {_count(held)}")
            shown = [one for one in held if one.ok is not True or one.moved]
            found += [f"  {line}" for line in aligned((f"{one.word} {one.cell}", one.text) for one in shown)]
    if any(one.ok is False and one.question != "paper" for one in results):
        found.append(ADVICE)
    return "\n".join([*found, ""])


def _count(held: Sequence[CheckResult]) -> str:
    asked = [one for one in held if one.ok is not None]
    if not asked:
        return "not checked"
    bad = sum(one.ok is False for one in asked)
    moved = sum(one.moved for one in asked)
    summary = f"{'YES' if bad else 'no'}" if held[0].question != "paper" else f"{'not all' if bad else 'yes'}"
    aside = "" if held[0].question == "paper" else f", {len(asked) - moved} of them identical to the last bit"
    return f"{summary}; {len(asked) - bad} of {quantity(len(asked), 'cell')} as expected{aside}"
