"""`cseb data overlap` and what runs write down of it."""

from pathlib import Path

import pytest

import cseb
from cseb.records.record import Overlap, Record
from cseb.tasks.evaluate import load_task
from tests.command_line import printed, refused
from tests.factory import record, stored

QUERY = load_task("clinc150", None).sentences()[0]


def test_the_command_prints_counts_and_examples(tmp_path: Path) -> None:
    corpus = tmp_path / "my.txt"
    corpus.write_text(f"{QUERY.upper()}!\nnothing like it\n")
    result = printed("data", "overlap", str(corpus), "--tasks", "clinc150,clinc150-dev", "--examples", "1")
    lines = result.splitlines()
    assert lines[0] == f"Texts of tasks among 2 sentences of {corpus}"
    counts = {line.split()[0]: line.split()[2:] for line in lines[2:4]}
    assert sorted(counts.values()) == [["0", "0"], ["1", "0"]]
    assert lines[-2:] == [f"  task      {QUERY}", f"  training  {QUERY.upper()}!"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wikipedia:20", "--tasks", "nosuch"], "no task is called 'nosuch'"),
        (["nosuch.txt", "--tasks", "snli"], "nosuch."),
    ],
)
def test_what_cannot_be_compared_is_one_line(arguments: list[str], said: str) -> None:
    assert said in refused("data", "overlap", *arguments)


def test_sentences_at_hand_are_a_corpus() -> None:
    result = cseb.overlap([QUERY], tasks=["clinc150", "clinc150-dev"])
    assert result.any
    assert result.sentences == 1
    assert not cseb.overlap(["entirely other words than theirs"], tasks="clinc150").any


def with_overlap(seed: int, *result: Overlap) -> Record:
    return record(seed=seed).model_copy(update={"overlap": result})


def test_a_table_names_the_largest_overlap_of_a_run(tmp_path: Path) -> None:
    store = stored(tmp_path)
    store.write(with_overlap(0, Overlap(task="sts12@1", texts=2500, exact=1, near=0)), {})
    store.write(with_overlap(1, Overlap(task="sts12@1", texts=2500, exact=2, near=4)), {})
    note = "Training sentences include texts of tasks, in one run up to sts12@1: 2 and 4 nearly of 2,500 texts"
    assert note in cseb.report(tmp_path, "markdown", detail=True)
    key = with_overlap(1).key
    assert "overlap    sts12@1: 2 and 4 nearly of 2,500 texts" in cseb.show(key, results=tmp_path)


def test_a_table_of_runs_without_overlap_says_nothing_of_it(tmp_path: Path) -> None:
    store = stored(tmp_path)
    store.write(with_overlap(0), {})
    store.write(record(seed=1), {})  # from before overlap was looked for
    assert "hold texts of tasks" not in cseb.report(tmp_path)
    assert '"overlap": []' in (store.runs / f"{record(seed=0).key}.json").read_text()
    assert '"overlap"' not in (store.runs / f"{record(seed=1).key}.json").read_text()
