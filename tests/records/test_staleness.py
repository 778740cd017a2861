"""Records of other versions of a part, a task, the trainer or the encoder are stale."""

from types import SimpleNamespace

import pytest

from cseb.analysis import comparable
from cseb.analysis.comparable import stale
from cseb.analysis.study import gather
from cseb.records.record import Subset
from cseb.version import WORD_VERSIONS
from tests.factory import record


def test_todays_versions_are_fresh() -> None:
    assert stale(record()) == ""
    assert stale(record(resolved="queue()@2 recipe()@1"), {"queue": 2}) == ""


@pytest.mark.parametrize(
    ("resolved", "versions", "reason"),
    [
        ("queue(size=3)@1 recipe()@1", {"queue": 2}, "made with queue@1, now queue@2"),
        ("queue(size=3)@3", {"queue": 2}, "made with queue@3, now queue@2"),
        ("""p(t='a) @9 q()@7 "', u="it's (", v=(1, (2, 3)))@1 cls()@1""", {"cls": 1}, ""),
        ("", {"recipe": 2}, ""),
    ],
)
def test_versions_are_read_past_quoted_options(resolved: str, versions: dict[str, int], reason: str) -> None:
    assert stale(record(resolved=resolved), versions) == reason


def test_a_task_of_another_version_is_stale() -> None:
    assert stale(record(tasks=("sts12@2",))) == "made with sts12@2, now sts12@1"
    assert stale(record(), tasks={"sts12": SimpleNamespace(version=2)}) == "made with sts12@1, now sts12@2"
    assert stale(record(dev="stsb-dev@2")) == "made with stsb-dev@2, now stsb-dev@1"
    assert stale(record(tasks=("first8:shots4:trec@2",))) == "made with first8:shots4:trec@2, now first8:shots4:trec@1"
    assert stale(record(tasks=("somebody-elses@7", "shots4:my.csv@7"))) == ""
    assert stale(record(tasks=("sts12",))) == "the version of 'sts12' cannot be read"


def test_a_dev_set_of_another_version_is_stale_beside_fresh_records() -> None:
    records = [record(dev="stsb-dev@1"), record(seed=1, dev="stsb-dev@2")]
    assert gather(records).stale == ("made with stsb-dev@2, now stsb-dev@1",)


def test_another_version_of_trainer_or_encoder_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = record()
    scored = trained.model_copy(update={"subset": Subset(size=0, fraction=1.0, sha256="0" * 64)})
    newer = trained.model_copy(update={"trainer_version": 2})
    assert stale(newer) == "made with trainer@2, now trainer@1"
    assert stale(trained.model_copy(update={"encoder_version": 3})) == "made with encoder@3, now encoder@1"
    monkeypatch.setattr(comparable, "TRAINER_VERSION", 2)
    assert stale(trained) == "made with trainer@1, now trainer@2"
    assert stale(newer) == stale(scored) == ""


def test_a_bag_of_words_baseline_of_another_version_is_an_older_row() -> None:
    now = record(resolved=f"words(count='tf-idf')@{WORD_VERSIONS['tf-idf']}")
    before = record(resolved="words(count='tf-idf')@1")
    assert stale(now) == ""
    assert stale(before) == f"made with words@1, now words@{WORD_VERSIONS['tf-idf']}"
    assert comparable.other_versions(before) == ("words@1",)
