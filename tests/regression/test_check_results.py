"""What `cseb check` says, for people and for two kinds of program."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from cseb.regression.check_results import ADVICE, CheckResult, github, junit, terminal

GOOD = CheckResult(question="drift", cell="simcse 0.1 % seed 0 best", ok=True, text="equal")
MOVED = CheckResult(question="drift", cell="simcse 0.1 % seed 1 best", ok=True, text="moved by +0.01", moved=True)
BAD = CheckResult(question="drift", cell="msse 1 % <&> seed 0", ok=False, text="off\nby 100%: a, b", moved=True)
ASIDE = CheckResult(question="code", cell="all", ok=None, text="torch is 2.8.0 here")
FAR = CheckResult(question="paper", cell="micse 1 % best", ok=False, text="outside", moved=True)


def test_people_see_each_question_and_what_moved() -> None:
    assert terminal([GOOD, MOVED, BAD, ASIDE, FAR]).splitlines() == [
        "code: did a change of the code change a number? not checked",
        "  --  all  torch is 2.8.0 here",
        "drift: did scores move by more than repeated runs do? "
        "YES; 2 of 3 cells as expected, 1 of them identical to the last bit",
        "  ok  simcse 0.1 % seed 1 best  moved by +0.01",
        "  BAD msse 1 % <&> seed 0       off",
        "                                by 100%: a, b",
        "paper: are published numbers reproduced? not all; 0 of 1 cell as expected",
        "  BAD micse 1 % best  outside",
        ADVICE,
    ]
    assert ADVICE not in terminal([GOOD, MOVED, ASIDE, FAR])
    assert terminal([GOOD]).splitlines()[0].endswith("no; 1 of 1 cell as expected, 1 of them identical to the last bit")


def test_github_reads_one_command_a_line() -> None:
    lines = github([GOOD, BAD, ASIDE]).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::notice", "::error", "::notice"]
    assert lines[1] == "::error title=cseb check%3A drift::msse 1 %25 <&> seed 0: off%0Aby 100%25: a, b"


def test_junit_counts_and_keeps_every_sign() -> None:
    root = ET.fromstring(junit([GOOD, BAD, ASIDE]))
    suites = {suite.get("name"): suite for suite in root}
    assert {name: (s.get("tests"), s.get("failures"), s.get("skipped")) for name, s in suites.items()} == {
        "code": ("1", "0", "1"),
        "drift": ("2", "1", "0"),
    }
    failed = suites["drift"].find("testcase[failure]")
    assert failed is not None
    assert failed.get("name") == "msse 1 % <&> seed 0"
    assert failed.find("failure").get("message") == "off\nby 100%: a, b"  # type: ignore[union-attr]
