"""Task files: which rows count, what they say, and how a wrong file is noticed."""

import io
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from cseb.data import manifest
from cseb.data.files import unpacked
from cseb.errors import BadData
from cseb.tasks import senteval as senteval_files
from cseb.tasks.names import parse_tasks
from cseb.tasks.pairs import Pairs
from cseb.tasks.senteval import READERS, YEARS, data_root

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
real = pytest.mark.skipif(not (SHARED / "senteval/STS").is_dir(), reason="needs the task files beside the repository")

# Source: the row counts printed in the papers' evaluation, by task.
COUNTS = {
    **{"sts12": 3108, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186},
    **{"stsb": 1379, "sickr": 4927, "stsb-dev": 1500, "sickr-dev": 500},
}


@pytest.fixture
def copy(senteval: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(senteval, tmp_path / "copy"))


@pytest.mark.parametrize("name", COUNTS)
def test_every_task_has_the_pairs_of_the_papers(senteval: Path, name: str) -> None:
    [task] = parse_tasks(name)
    loaded = task.load(senteval)
    assert sum(len(subset.gold) for subset in loaded.subsets) == COUNTS[name]
    assert len(loaded.sentences()) == 2 * COUNTS[name]
    assert task.protocol == "simcse-sts@1"


@real
@pytest.mark.parametrize("name", COUNTS)
def test_the_real_files_have_them_too(name: str) -> None:
    subsets = parse_tasks(name)[0].load(SHARED).subsets
    assert sum(len(subset.gold) for subset in subsets) == COUNTS[name]
    assert all(0 <= score <= 5 for subset in subsets for score in subset.gold)
    assert all(side == " ".join(side.split()) != "" for subset in subsets for side in (*subset.left, *subset.right))


@real
def test_the_clean_dev_set_has_no_pair_of_sts12_to_sts16() -> None:
    dev, clean = (parse_tasks(name)[0].load(SHARED).subsets[0] for name in ("stsb-dev", "stsb-dev-clean"))
    rows = {*zip(dev.left, dev.right, dev.gold, strict=True)}
    kept = {*zip(clean.left, clean.right, clean.gold, strict=True)}
    assert (len(dev.gold), len(clean.gold)) == (1500, 369)
    assert kept < rows
    scored = {
        frozenset((left.lower(), right.lower()))
        for year in YEARS
        for subset in READERS[f"sts{year}"](SHARED / "senteval")
        for left, right in zip(subset.left, subset.right, strict=True)
    }
    assert all(frozenset((left.lower(), right.lower())) in scored for left, right, _ in rows - kept)
    assert not any(frozenset((left.lower(), right.lower())) in scored for left, right, _ in kept)


@real
def test_sts_dev_has_the_dev_pairs_that_are_in_no_test_set() -> None:
    stsb, sick = parse_tasks("sts-dev")[0].load(SHARED).subsets
    assert (len(stsb.gold), len(sick.gold)) == (363, 486)
    [dev] = parse_tasks("sickr-dev")[0].load(SHARED).subsets
    ratings = dict(zip(zip(dev.left, dev.right, strict=True), dev.gold, strict=True))
    assert sick.gold == [(ratings[pair] - 1) / 4 * 5 for pair in zip(sick.left, sick.right, strict=True)]
    tested = {pair for task in parse_tasks("sts") for each in task.load(SHARED).subsets for pair in letters(each)}
    assert not {*letters(stsb), *letters(sick)} & tested
    assert {*letters(dev)} - {*letters(sick)} <= tested


def letters(pairs: Pairs) -> list[frozenset[str]]:
    sides = ([re.sub(r"\W", "", sentence.lower()) for sentence in side] for side in (pairs.left, pairs.right))
    return [frozenset(pair) for pair in zip(*sides, strict=True)]


def test_rows_without_a_rating_are_dropped_and_shift_nothing(senteval: Path) -> None:
    [forums, *_] = READERS["sts15"](senteval)
    assert forums.name == "answers-forums"
    assert forums.left[:3] == ['left 0 "', 'left 5 "', 'left 10 "']
    assert forums.right[:3] == ["right 0 .", "right 5 .", "right 10 ."]
    assert forums.gold[:3] == [0, 5, 4]


def test_quotation_marks_and_crlf_are_no_trouble(senteval: Path) -> None:
    [stsb], [sick] = READERS["stsb"](senteval), READERS["sickr"](senteval)
    assert (stsb.left[1], stsb.right[1], stsb.gold[1]) == ('"left 1', "right 1", 1.5)
    assert (sick.left[-1], sick.right[-1], sick.gold[-1]) == ("left 4926", "right 4926", 1.5)


@pytest.mark.parametrize(
    ("task", "file", "rows"),
    [
        ("sts12", "STS/STS12-en-test/STS.input.MSRpar.txt", "749 rows, expected 750"),
        ("sts15", "STS/STS15-en-test/STS.gs.belief.txt", "1999 rows, expected 2000"),
        ("stsb", "STS/STSBenchmark/sts-test.csv", "1378 rows, expected 1379"),
        ("sickr", "SICK/SICK_test_annotated.txt", "4926 rows, expected 4927"),
    ],
)
def test_a_missing_line_is_noticed(copy: Path, task: str, file: str, rows: str) -> None:
    lines = (copy / file).read_bytes().splitlines(keepends=True)
    del lines[3]
    (copy / file).write_bytes(b"".join(lines))
    with pytest.raises(BadData, match=f"{Path(file).name} has {rows}"):
        READERS[task](copy)


def test_a_rating_too_few_is_noticed(copy: Path) -> None:
    file = copy / "STS/STS16-en-test/STS.gs.headlines.txt"
    file.write_text(file.read_text().replace("0\n", "\n", 1))
    with pytest.raises(BadData, match=r"STS\.gs\.headlines\.txt has 248 scores, expected 249"):
        READERS["sts16"](copy)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("STS/STS13-en-test/STS.input.FNWN.txt", b'left  1 "\t', b"left  1 ", "line 2: tab-separated columns: 1, exp"),
        ("STS/STS13-en-test/STS.gs.FNWN.txt", b"1\n", b"one\n", "line 2: 'one' is not a score"),
        ("STS/STS13-en-test/STS.gs.FNWN.txt", b"1\n", b"nan\n", "line 2: 'nan' is not a score"),
        ("STS/STS13-en-test/STS.gs.FNWN.txt", b"1\n", b"\xff\n", "is not UTF-8 at byte 2"),
    ],
)
def test_a_broken_line_is_named(copy: Path, file: str, old: bytes, new: bytes, message: str) -> None:
    content = (copy / file).read_bytes()
    assert old in content
    (copy / file).write_bytes(content.replace(old, new, 1))
    with pytest.raises(BadData, match=message):
        READERS["sts13"](copy)


def test_a_missing_file_is_named_with_the_layout(copy: Path) -> None:
    (copy / "SICK/SICK_trial.txt").unlink()
    with pytest.raises(
        BadData, match=r"SICK_trial\.txt cannot be read \(No such file.*expected below it: STS/STS12-en-test"
    ):
        READERS["sickr-dev"](copy)


@pytest.mark.parametrize("below", [".", "senteval", "downstream", "data/downstream"])
def test_the_folder_may_be_named_or_its_parent(tmp_path: Path, below: str) -> None:
    (tmp_path / below / "SICK").mkdir(parents=True)
    assert data_root(tmp_path).resolve() == (tmp_path / below).resolve()


def test_any_other_folder_is_answered_with_the_layout(tmp_path: Path) -> None:
    for wrong in (tmp_path, tmp_path / "none", tmp_path / ("x" * 5000)):
        with pytest.raises(
            BadData, match=r"holds none of STS/, SICK/, .*as in senteval\.tar of the data set princeton"
        ):
            data_root(wrong)


def test_the_archive_of_the_hub_is_unpacked_once(
    senteval: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "blob"
    with tarfile.open(archive, "w") as tar:
        tar.add(senteval, "senteval")
    monkeypatch.setattr(senteval_files, "hub_file", lambda name, file: archive)
    monkeypatch.setattr(manifest, "user_cache_path", lambda name: tmp_path / "cache" / name)
    root = data_root(None)
    assert root == tmp_path / "cache/cseb/senteval-blob/senteval"
    assert READERS["stsb"](root)[0].gold == READERS["stsb"](senteval)[0].gold
    archive.write_bytes(b"")
    assert data_root(None) == root
    assert [each.name for each in (tmp_path / "cache/cseb").iterdir()] == ["senteval-blob"]


def half_an_archive() -> bytes:
    senteval = io.BytesIO()
    with tarfile.open(fileobj=senteval, mode="w") as tar:
        for name in ("first", "second"):
            entry = tarfile.TarInfo(name)
            entry.size = 5000
            tar.addfile(entry, io.BytesIO(bytes(5000)))
    return senteval.getvalue()[:8000]


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\0\0\0", half_an_archive()])
def test_a_broken_archive_leaves_nothing_behind(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "blob").write_bytes(content)
    with pytest.raises(BadData, match="cannot be unpacked"):
        unpacked(tmp_path / "blob", tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["blob"]


def test_without_a_network_the_answer_says_what_to_put_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str, file: str) -> Path:
        raise BadData("no network")

    monkeypatch.setattr(senteval_files, "hub_file", unreachable)
    with pytest.raises(
        BadData, match=r"no network; or name a folder with `data_dir`; expected below it: STS/STS12-en-test/"
    ):
        data_root(None)
