"""Which rows count, in which order, and how a wrong copy is noticed."""

import shutil
from pathlib import Path

import pytest

from cseb.errors import BadData
from cseb.registry import TASK_GROUPS
from cseb.tasks.names import parse_tasks
from cseb.tasks.transfer.labelled import NAMES, read

from .conftest import SHARED, real

# Source: the table of rows in SentEval's documentation, as counted in untouched copies: rows and rows of class 1.
ROWS = {
    "mr": [(10662, 5331)],
    "cr": [(3775, 2407)],
    "subj": [(10000, 5000)],
    "mpqa": [(10606, 3312)],
    "sst2": [(67349, 37569), (872, 444), (1821, 909)],
    "trec": [(5452, 1162), (500, 138)],
    "mrpc": [(4076, 2753), (1725, 1147)],
}


@pytest.fixture
def copy(labelled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(labelled, tmp_path / "copy"))


@pytest.mark.parametrize("name", NAMES)
def test_every_part_has_the_rows_of_the_protocol(labelled: Path, name: str) -> None:
    assert [len(part.labels) for part in read(name, labelled)] == [rows for rows, _ in ROWS[name]]


@real
@pytest.mark.parametrize("name", NAMES)
def test_the_real_files_have_the_rows_and_labels_of_the_protocol(name: str) -> None:
    parts = read(name, SHARED / "senteval")
    assert [(len(part.labels), part.labels.count(1)) for part in parts] == ROWS[name]
    empty = sum(text == "" for part in parts for texts in part.texts for text in texts)
    assert empty == {"cr": 4, "mpqa": 3}.get(name, 0)


def test_rows_are_ordered_by_tokens_then_label_then_place_in_the_file(labelled: Path) -> None:
    [part] = read("cr", labelled)
    assert part.texts[:4] == (("",), ("",), ("n0",), ("n3",))  # empty rows stay; class 0 goes first in a length
    assert part.labels[:4] == (0, 1, 0, 0)
    assert part.texts[-2:] == (("p2402 é é",), ("p2405 é é",))
    keys = [(len(text.split()), label) for (text,), label in zip(part.texts, part.labels, strict=True)]
    assert keys == sorted(keys)


def test_pairs_are_ordered_by_both_sides(labelled: Path) -> None:
    train, _ = read("mrpc", labelled)
    assert train.texts[0] == ('"a0', "b")  # a quotation mark is text
    assert [train.labels[row] for row in (0, -1)] == [0, 1]


def test_objective_sentences_are_class_1(labelled: Path) -> None:
    [part] = read("subj", labelled)
    assert {label for (text,), label in zip(part.texts, part.labels, strict=True) if text.startswith("p")} == {1}


def test_questions_lose_their_fine_class(labelled: Path) -> None:
    train, test = read("trec", labelled)
    assert train.texts[0] == ("q0 ?",)
    assert set(test.labels) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("task", "file", "kept"),
    [
        ("subj", "SUBJ/subj.subjective", 20),  # the copies in circulation in 2021
        ("mr", "MR/rt-polarity.pos", 43),
        ("mr-fast", "MR/rt-polarity.neg", 31),
        ("sst2-logreg", "SST/binary/sentiment-dev", 871),
        ("mrpc", "MRPC/msr_paraphrase_test.txt", 1724),
    ],
)
def test_a_shortened_file_is_refused_in_one_line(copy: Path, task: str, file: str, kept: int) -> None:
    header = int(file.startswith("MRPC"))
    lines = (copy / file).read_bytes().split(b"\n")
    (copy / file).write_bytes(b"\n".join([*lines[: kept + header], b""]))
    expected = len(lines) - 1 - header
    with pytest.raises(BadData, match=rf"{file} has {kept} rows, expected {expected}; use an unmodified"):
        parse_tasks(task)[0].load(copy)


def change(path: Path, old: str, new: str) -> None:
    path.write_bytes(path.read_bytes().replace(old.encode(), new.encode(), 1))


@pytest.mark.parametrize("mark", ["'", "`"])
def test_a_training_file_of_trec_with_its_quotation_marks_is_refused(copy: Path, mark: str) -> None:
    change(copy / "TREC/train_5500.label", "q3", f"q3 {mark}s")
    with pytest.raises(BadData, match=r"train_5500.label, line 4 has a quotation mark, which unmodified copies"):
        read("trec", copy)


@pytest.mark.parametrize(
    ("task", "file", "old", "new", "message"),
    [
        ("trec", "TREC/TREC_10.label", "HUM:", "MAN:", r"line 4 begins with 'MAN', expected one of ABBR"),
        ("sst2", "SST/binary/sentiment-test", "\t1", "\t4", r"line 2 has the label '4', expected 0 or 1"),
        ("sst2", "SST/binary/sentiment-test", "\t1", " 1", r"line 2: tab-separated columns: 1, expected 2"),
        ("mrpc", "MRPC/msr_paraphrase_test.txt", "1\t1", "yes\t1", r"line 3 has the label 'yes'"),
    ],
)
def test_a_wrong_line_is_named(copy: Path, task: str, file: str, old: str, new: str, message: str) -> None:
    change(copy / file, old, new)
    with pytest.raises(BadData, match=f"{file}, {message}"):
        read(task, copy)


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "CR/custrev.neg").unlink()
    with pytest.raises(BadData, match=r"custrev\.neg cannot be read \(No such file"):
        read("cr", copy)


@pytest.mark.parametrize("group", ["transfer", "transfer-fast", "transfer-logreg"])
def test_every_name_is_that_of_its_task(group: str) -> None:
    tasks = parse_tasks(group)
    assert tuple(task.name for task in tasks) == TASK_GROUPS[group]
    assert [task.data for task in tasks] == list(NAMES)
    assert len({task.protocol for task in tasks}) == 1


def test_only_equal_protocols_share_a_name() -> None:
    protocols = [parse_tasks(f"mr{way}")[0].protocol for way in ("", "-fast", "-logreg")]
    assert protocols == ["senteval-transfer@1", "senteval-fast@1", "logreg@2"]
