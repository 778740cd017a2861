"""What the audit finds in the five papers is what was found by hand; planted faults are found, sound tables are not."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks.published.audit import FOLDER, Finding, audit, five_papers, main
from benchmarks.published.claims import Claim, contradicted, read_claims
from cseb.papers.scores import Printed, shipped_rows
from cseb.registry import TASK_GROUPS

STS = TASK_GROUPS["sts"]


@cache
def claims() -> list[Claim]:
    return five_papers()[1]


@cache
def findings() -> list[Finding]:
    return audit(shipped_rows(), claims())


def of(kind: str, among: Sequence[Finding]) -> list[Finding]:
    return [each for each in among if each.kind == kind]


def cell(mean: float, task: str = "sts12", **fields: object) -> Printed:
    base = Printed(method="mine", task=task, mean=mean, text=f"{mean:.2f}", line=2, paper="ours", table="Table 1")
    return replace(base, **fields)


def row(values: Sequence[float], average: float, **fields: object) -> list[Printed]:
    return [cell(value, task, **fields) for value, task in zip((*values, average), (*STS, "sts-avg"), strict=True)]


def test_counts_are_those_found_by_hand() -> None:
    """10 of 143 averages, 12 accuracies off their grid, 3 values with the mark of the damaged file."""
    counts = Counter(each.kind for each in findings())
    assert counts["average"] + counts["rounding"] == 10
    assert (counts["granularity"], counts["corrupted-subj"], counts["disagreement"]) == (12, 3, 16)
    assert (counts["range"], counts["deviation"]) == (0, 0)


def test_off_the_grid_are_exactly_the_flagged_cells() -> None:
    flagged = {(each.where, each.text) for each in shipped_rows() if each.flag == "not-single-run"}
    assert {(each.where, each.printed) for each in of("granularity", findings())} == flagged


def test_disagreements_name_every_value() -> None:
    contents = {each.cell: each for each in of("disagreement", findings())}
    assert contents["simcse bert-base 100 % sts-avg spearman"].printed == "76.15 / 75.63 / 76.25 / 76.13"
    assert contents["simcse bert-base 0.1 % sts-avg spearman"].printed == "67.94 / 66.69 / 65.72"
    assert contents["mirror bert-base 100 % sts-avg spearman"].printed == "75.40 / 43.32"
    assert contents["diffcse bert-base 100 % sickr spearman"].printed == "71.29 / 71.23"
    assert "most on mrpc (1.62)" in contents["simcse bert-base 100 % transfer-avg accuracy"].why
    assert "most on sts12 (5.80)" in contents["ct bert-base 100 % sts-avg spearman"].why
    methods = Counter(name.split()[0] for name in contents)
    assert methods == {"simcse": 7, "micse": 3, "pcl": 2, "ct": 1, "mirror": 1, "diffcse": 1, "rankencoder": 1}


def test_claims_fail_exactly_where_they_were_found_to() -> None:
    """Two of the nineteen cannot be computed: what `insensitive` means, and a table whose values are lost."""
    with (FOLDER / "claims.csv").open(encoding="utf-8") as stream:
        doubtful = {line["id"] for line in csv.DictReader(stream) if line["verdict"] != "ok"}
    assert len(doubtful) == 19
    wrong = {failed.claim.name for failed in contradicted(claims(), shipped_rows())}
    assert wrong == doubtful - {"informin-cl-13", "compcse-09"}


def test_claims_come_with_their_arithmetic() -> None:
    contents = {each.claim.name: each.arithmetic for each in contradicted(claims(), shipped_rows())}
    assert contents["micse-04"].endswith("= +1.98 (sts-avg), stated +3.94, which is micse - scd")
    assert contents["micse-14"].startswith("largest: ")
    assert "= +5.74" in contents["micse-14"]
    assert contents["msse-05"].endswith("= +0.08 (sts-avg); no deviation over runs is printed")


@pytest.mark.parametrize("verdict", ["stated", "tables"])
def test_a_planted_fault_in_a_sound_claim_is_found(verdict: str, tmp_path: Path) -> None:
    """Whatever is wrong, the sentence or the cell, the check of a sound difference no longer comes out."""
    rows, result = list(shipped_rows()), claims()
    if verdict == "stated":
        text = (FOLDER / "checks.csv").read_text("utf-8").replace("sickr,+0.44", "sickr,+0.46")
        (tmp_path / "checks.csv").write_text(text)
        result = read_claims((FOLDER / "claims.csv"), tmp_path / "checks.csv")
    else:
        place = next(
            i for i, each in enumerate(rows) if (each.method, each.task, each.table) == ("scd", "sickr", "Table 1")
        )
        rows[place] = replace(rows[place], mean=rows[place].mean - 0.02)
    assert "micse-01" in {failed.claim.name for failed in contradicted(result, rows)}
    assert "micse-01" not in {failed.claim.name for failed in contradicted(claims(), shipped_rows())}


def test_sound_rows_give_nothing() -> None:
    fine = row((70.0, 71.0, 72.0, 73.0, 74.0, 75.0, 76.0), 73.0, std=0.5, std_text="0.50", n_seeds=5)
    run = cell(88.6, "trec", metric="accuracy")
    assert audit([*fine, run, cell(95.1, "subj"), *row((70.0,) * 7, 70.0, method="other")]) == []


@pytest.mark.parametrize(
    ("average", "kinds"),
    [("70.005", ["rounding"]), ("70.00", []), ("70.01", ["rounding"]), ("69.99", ["rounding"]), ("70.02", ["average"])],
)
def test_how_far_an_average_may_be_off(average: str, kinds: list[str]) -> None:
    """Cells of 70.00 may be 70.005 before they are rounded: then 70.01 is what their mean rounds to, but not 70.02."""
    rows = row((70.0,) * 7, float(average))
    result = audit([*rows[:-1], replace(rows[-1], text=average)])
    assert [each.kind for each in result] == kinds


def test_values_disagree_only_beyond_their_digits_and_within_one_setting() -> None:
    first = cell(76.15, encoder="bert-base", fraction=1.0)
    coarse = replace(first, mean=76.2, text="76.2", table="Table 2")
    assert audit([first, coarse]) == []
    assert [each.kind for each in audit([first, replace(coarse, mean=76.3, text="76.3")])] == ["disagreement"]
    for other in ({"encoder": "bert-large"}, {"fraction": 0.1}, {"variant": "p=0.1"}, {"task": "sts13"}):
        assert audit([first, replace(coarse, mean=80.0, text="80.0", **other)]) == []


def test_significance_is_tested_where_deviations_are_printed(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text("id,paper,location,claim,stated\nc1,ours,1,much better,significant\n")
    (tmp_path / "checks.csv").write_text("claim,check,a,b,expect\nc1,significant,method=mine,method=theirs,\n")
    text = read_claims(tmp_path / "claims.csv", tmp_path / "checks.csv")
    seeds = {"std": 0.5, "std_text": "0.50", "n_seeds": 5}
    for gap, expected in ((2.0, 0), (0.2, 1), (-2.0, 1)):
        rows = [cell(70.0 + gap, **seeds), cell(70.0, method="theirs", **seeds)]
        assert len(contradicted(text, rows)) == expected


def test_the_script_prints_findings_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("67 findings in 1,361 numbers and 57 sentences")
    path = tmp_path / "mine.csv"
    path.write_text("method,task,mean\nsimcse,trec,88.7\n")
    assert main([str(path)]) == 1
    assert "500 items: 443 right are 88.600, one more 88.800" in capsys.readouterr().out
    path.write_text("method,task,mean\nsimcse,trec,88.6\n")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "0 findings in 1 number\n"
    assert main([str(tmp_path / "absent.csv")]) == 2
    assert "absent.csv cannot be read" in capsys.readouterr().err
