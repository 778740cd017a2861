"""Records that cannot be compared are refused, or mixed on request and said to be."""

from dataclasses import replace

import pytest

from cseb.analysis.comparable import groups
from cseb.analysis.study import StudyQuery
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.reports.layouts import few_shot
from tests.factory import record, seeds, source
from tests.reports.test_captions import says


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"encoder": "roberta"}, r"differ in encoder: bert@\w{8} / roberta@\w{8}"),
        ({"corpus": "nli"}, "differ in corpus: nli"),
        ({"tasks": ("sts12@1",)}, "differ in tasks: sts12@1 / sts12@1, sts13@1, sickr@1"),
        ({"dev": "sickr-dev"}, r"differ in dev set: sickr-dev \(1500 examples\) / stsb-dev"),
        ({"device": "cuda"}, r"differ in device: cpu / cuda \(.*\).* `mixed`"),
        (
            {"torch": "2.8.0"},
            r"differ in version of torch: 2\.7\.0 / 2\.8\.0, such as \w{16}.json and \w{16}.json; keep",
        ),
        ({"measures": {"sts12@1": "mteb-sts@1"}}, "how sts12@1 is scored: simcse-sts@1 / mteb-sts@1"),
        ({"resolved": "recipe(steps=9, dropout='model')@1"}, r"different options: .*steps=60 / steps=9"),
    ],
)
def test_what_cannot_be_compared_is_refused(other: dict[str, object], what: str) -> None:
    with pytest.raises(BadResults, match=what):
        few_shot([record(seed=0), record(seed=1, **other)])


def test_unlike_gpus_are_kept_apart() -> None:
    first, second = record(device="cuda"), record(seed=1, device="cuda")
    second = second.model_copy(update={"origin": replace(second.origin, device="NVIDIA H100")})
    with pytest.raises(BadResults, match=r"differ in device: .*cuda \(NVIDIA H100\)"):
        few_shot([first, second])


def test_options_may_differ_between_sizes_and_methods() -> None:
    records = [record(size=100), record(size=1000, resolved="cls()@1"), record("micse", resolved="mean()@1")]
    assert len(few_shot(records).rows) == 2


def test_one_seed_counts_once() -> None:
    twin = record().model_copy(update={"key": "0" * 16})
    with pytest.raises(BadResults, match=f"seed 0, has two records: {record().key}.json and {'0' * 16}.json"):
        few_shot([record(), twin])


def test_of_two_records_for_one_job_the_later_counts_on_request() -> None:
    old = record(values=(1.0, 1.0, 1.0))
    new = record(values=(9.0, 9.0, 9.0)).model_copy(update={"key": "0" * 16})
    new = new.model_copy(update={"origin": replace(new.origin, finished="2026-01-02T00:00:00Z")})
    for records in ([old, new], [new, old]):
        table = few_shot(records, query=StudyQuery(mixed=True))
        assert table.rows[0].cells[0].values == {0: 9.0}
        assert says(table.notes, "1 older record of jobs")


def test_what_may_differ_is_mixed_on_request_and_said() -> None:
    records = [record(), record(seed=1, torch="2.8.0", device="cuda")]
    table = few_shot(records, query=StudyQuery(mixed=True))
    assert table.rows[0].cells[0].n == 2
    assert says(table.notes, "Mixed (--mixed): device: cpu / cuda (", "version of torch: 2.7.0 / 2.8.0")
    with pytest.raises(BadResults, match="differ in encoder"):
        few_shot([record(), record(seed=1, encoder="roberta")], query=StudyQuery(mixed=True))


def test_the_name_of_a_folder_does_not_make_another_encoder() -> None:
    moved = record(seed=1).model_copy(update={"encoder": replace(source("bert"), name="/data/bert")})
    assert few_shot([record(), moved]).rows[0].cells[0].n == 2


def test_records_of_another_version_of_a_part_are_a_row_of_their_own() -> None:
    old = seeds(resolved="cls()@7", values=(10.0, 10.0, 10.0))
    table = few_shot([*seeds(values=(50.0, 50.0, 50.0)), *old])
    assert {row.method: row.cells[0].mean for row in table.rows} == {"simcse": 50.0, "simcse (cls@7)": 10.0}
    assert says(table.notes, "Of other versions", "simcse (cls@7)")
    assert "(cls@7)" in table.in_short().notes[-1]
    planned = few_shot(old, query=StudyQuery(order=("simcse", "msse")))
    assert [row.method for row in planned.rows] == ["simcse (cls@7)", "msse"]


def test_stale_records_are_left_out_and_counted() -> None:
    old = [each.model_copy(update={"trainer_version": 7}) for each in seeds(resolved="cls()@7")]
    table = few_shot([*seeds(), *old])
    assert [(row.method, row.cells[0].n) for row in table.rows] == [("simcse", 3)]
    assert says(table.notes, "out of date", "3 records made with trainer@7, now trainer@1")
    assert "Excluded as out of date: 3 records." in table.in_short().notes[-1]
    with pytest.raises(BadResults, match="all 3 are stale"):
        few_shot(old)
    with pytest.raises(BadResults, match="no record to show: run a benchmark first"):
        few_shot([])


@pytest.mark.parametrize(("data", "tables"), [("a", 1), ("b", 2), ("", 2)])
def test_untrained_encoders_share_a_table_where_data_of_named_tasks_are_equal(data: str, tables: int) -> None:
    """Records of earlier versions lack the hash of each task's data."""

    def scored(encoder: str, tasks: tuple[str, ...], data: str) -> Record:
        untrained = record("mean", tasks=tasks, encoder=encoder, dev="")
        scores = tuple(replace(score, data=data and f"{data} {score.task}") for score in untrained.scores)
        protocol = replace(untrained.protocol, data=encoder)
        return untrained.model_copy(
            update={"scores": scores, "protocol": protocol, "subset": replace(untrained.subset, size=0)}
        )

    first = scored("bert", ("sts12@1", "sts13@1"), "a")
    second = scored("roberta", ("sickr@1", "sts12@1"), data)
    grouped = groups([first, second], ["sts12"])
    assert len(grouped) == tables
    assert len(groups([first, second])) == 2
    if tables == 1:
        assert [each.protocol.tasks for each in grouped[0]] == [("sts12@1",)] * 2
