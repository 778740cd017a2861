from __future__ import annotations

import pytest

from tests.fuzz import grammar
from tests.fuzz.harness import Case, Ended, Fuzz

pytestmark = pytest.mark.slow
ON = ("--corpus", "wikipedia:100", "--sizes", "32", "--seeds", "1", "--tasks", "toy-captions", "--dev", "toy-dev")


def test_specs_are_shown_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("shown", 700, lambda case: case.then("show", grammar.spec(case.rng)))


def test_specs_are_planned_or_refused(fuzz: Fuzz) -> None:
    def make(case: Case) -> None:
        case.then("run", "../sound/small.yaml", "--methods", grammar.spec(case.rng), *ON, "--dry-run")

    fuzz.run("planned", 250, make)


def test_what_is_planned_can_be_run(fuzz: Fuzz) -> None:
    """Whatever --dry-run accepts, the real run does not refuse."""

    def make(case: Case) -> None:
        method = grammar.sound(case.rng) + "+recipe(batch_size=8,eval_every=1)"
        args = ("--methods", method, *ON, "--steps", "1", "--workers", "1")
        case.then("run", "../sound/small.yaml", *args, "--dry-run")
        case.then("run", "../sound/small.yaml", *args, "--quiet")

    fuzz.run("trained", 60, make, _agree)


def _agree(case: Case, ended: list[Ended]) -> list[str]:
    planned, ran = ended
    if planned.code == 0 and ran.code == 2:
        return [f"--dry-run accepts it, the run does not: {ran.errors.strip()[:200]}"]
    if planned.code == 2 and ran.code != 2:
        return [f"--dry-run refuses it, the run does not: {planned.errors.strip()[:200]}"]
    return []
