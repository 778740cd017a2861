"""What is said of a file that is, or is not, what the manifest says."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.data.manifest import Broken, DataFile, files_of
from cseb.data.verify import check, count

TEXT = b"id\tlabel\n1\tno\n2\tyes\n3\tno\n"
TABLE = DataFile(
    "a.txt",
    3,
    hashlib.sha256(TEXT).hexdigest(),
    header=1,
    label_at=1,
    labels={"no": 2, "yes": 1},
    broken=(Broken("cut", rows=1), Broken("quoted", holds="'`")),
)


@pytest.mark.parametrize(
    ("content", "state", "said"),
    [
        (TEXT, "ok", "3 rows"),
        (
            TEXT.replace(b"\n", b"\r\n"),
            "wrong",
            "3 rows as expected, but other line ends or a byte order mark; the text",
        ),
        (TEXT.removesuffix(b"\n"), "wrong", "but other line ends"),
        (b"\xef\xbb\xbf" + TEXT, "wrong", "but other line ends or a byte order mark"),
        (TEXT.replace(b"1\tno", b"1\tyes"), "wrong", "but other labels: no 1, yes 2, expected no 2, yes 1; sha256"),
        (TEXT.replace(b"1\tno", b"1"), "wrong", "other labels: none 1, no 1, yes 1"),
        (TEXT.replace(b"2\t", b"5\t"), "wrong", "but other text: another tokenisation, order or edition; sha256"),
        (TEXT.replace(b"2\t", b"'\t"), "wrong", "3 rows as expected, but quoted"),
        (TEXT[:14], "wrong", "1 row, 3 expected: cut"),
        (TEXT + b"\n", "wrong", "4 rows, 3 expected"),
        (b"", "wrong", "0 rows, 3 expected"),
    ],
)
def test_a_copy_is_named_for_what_it_is(tmp_path: Path, content: bytes, state: str, said: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    verdict = check(TABLE, tmp_path / "a.txt")
    assert (verdict.state, verdict.sha256) == (state, hashlib.sha256(content).hexdigest())
    assert said in verdict.message
    assert ("as expected" not in said) or TABLE.sha256[:12] in verdict.message or "quoted" in said


def test_a_byte_order_mark_that_is_gone_is_no_other_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    marked = replace(TABLE, sha256=hashlib.sha256(b"\xef\xbb\xbf" + TEXT).hexdigest())
    assert "the text is the same" in check(marked, tmp_path / "a.txt").message


def test_nothing_is_said_against_a_file_whose_hash_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    unknown = replace(TABLE, sha256="")
    assert (
        check(unknown, tmp_path / "a.txt").state,
        "none in the manifest" in check(unknown, tmp_path / "a.txt").message,
    ) == (
        "ok",
        True,
    )
    (tmp_path / "a.txt").write_bytes(TEXT + b"4\tno\n")
    assert check(unknown, tmp_path / "a.txt").state == "wrong"


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    assert (check(TABLE, None).state, check(TABLE, None).message) == ("missing", "3 rows expected")
    assert "cannot be read: Is a directory" in check(TABLE, tmp_path).message


def test_a_rating_that_is_gone_is_counted(tmp_path: Path) -> None:
    (tmp_path / "gs").write_bytes(b"1\n\n3\n")
    one = DataFile("gs", 3, hashlib.sha256(b"1\n2\n3\n").hexdigest(), rated=3)
    assert "2 ratings, expected 3" in check(one, tmp_path / "gs").message


@pytest.mark.parametrize(
    ("kind", "content", "rows"),
    [
        ("csv", b'a,b\n"one\nline",x\ntwo,y\n', 2),
        ("csv", b'a,b\n"one\nline,x\n', -1),
        ("csv", b"", 0),
        ("xml", b"<Pairs><qaPair><Id/></qaPair><QAPAIR id='1'></QAPAIR><qaPairs/></Pairs>", 2),
    ],
)
def test_rows_are_counted_as_the_format_has_them(kind: str, content: bytes, rows: int) -> None:
    one = DataFile("a", 2, header=kind == "csv", format=kind, element="qaPair")  # type: ignore[arg-type]
    assert count(one, content) == rows


def test_an_open_quotation_mark_is_no_sound_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'a\n"one\n')
    assert check(DataFile("a.csv", 2, header=1, format="csv"), tmp_path / "a.csv").message.startswith(
        "not a valid csv file"
    )


# Source: SimCSE issues 84 and 101, SentEval issue 63.
@pytest.mark.parametrize(
    ("data", "file", "content", "said"),
    [
        ("subj", "SUBJ/subj.subjective", b"a line\n" * 20, "20 rows, 5,000 expected: cut by a sed .* issue 84"),
        ("mr", "MR/rt-polarity.pos", b"a line\n" * 43, "43 rows, 5,331 expected: cut by a sed .* issue 101"),
        ("mr", "MR/rt-polarity.neg", b"a line\n" * 31, "31 rows, 5,331 expected: cut by a sed .* issue 101"),
        (
            "trec",
            "TREC/train_5500.label",
            b"HUM:ind Who 's he ?\n" * 5452,
            "5,452 rows as expected, but a sed of macOS",
        ),
        ("trec", "TREC/TREC_10.label", b"HUM:ind Who `` is ?\n" * 500, "500 rows as expected, but a sed of macOS"),
        ("mr", "MR/rt-polarity.pos", b"a line\n" * 44, "44 rows, 5,331 expected$"),
    ],
)
def test_copies_known_to_be_in_circulation_are_recognised(
    tmp_path: Path, data: str, file: str, content: bytes, said: str
) -> None:
    (tmp_path / "copy").write_bytes(content)
    verdict = check(files_of(data)[file], tmp_path / "copy")
    assert verdict.state == "wrong"
    assert re.match(said, verdict.message)
