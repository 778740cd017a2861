"""The results of `cseb check` as text."""

from cseb.regression.comparison import ADVICE, CheckResult, terminal

GOOD = CheckResult(question="drift", cell="simcse 0.1 % seed 0 best", ok=True, text="equal")
MOVED = CheckResult(question="drift", cell="simcse 0.1 % seed 1 best", ok=True, text="moved by +0.01", moved=True)
BAD = CheckResult(question="drift", cell="msse 1 % <&> seed 0", ok=False, text="off\nby 100%: a, b", moved=True)
ASIDE = CheckResult(question="code", cell="all", ok=None, text="torch is 2.8.0 here")


def test_people_see_each_question_and_what_moved() -> None:
    assert terminal([GOOD, MOVED, BAD, ASIDE]).splitlines() == [
        "code: did a change of the code change a number? not checked",
        "  --  all  torch is 2.8.0 here",
        "drift: did scores move by more than repeated runs do? "
        "YES; 2 of 3 cells as expected, 1 of them identical to the last bit",
        "  ok  simcse 0.1 % seed 1 best  moved by +0.01",
        "  BAD msse 1 % <&> seed 0       off",
        "                                by 100%: a, b",
        ADVICE,
    ]
    assert ADVICE not in terminal([GOOD, MOVED, ASIDE])
    assert terminal([GOOD]).splitlines()[0].endswith("no; 1 of 1 cell as expected, 1 of them identical to the last bit")
