"""Messages about files that are, or are not, what the manifest says."""

import hashlib
import re
from pathlib import Path

import pytest

from cseb.data.manifest import Broken, DataFile, check, count, files_of

TEXT = b"id\tlabel\n1\tno\n2\tyes\n3\tno\n"
BROKEN = (Broken("cut", rows=1), Broken("quoted", holds="'`"))
TABLE = DataFile("a.txt", 3, hashlib.sha256(TEXT).hexdigest(), header=1, broken=BROKEN)


@pytest.mark.parametrize(
    ("content", "state", "said"),
    [
        (TEXT, "ok", "3 rows"),
        (TEXT.replace(b"\n", b"\r\n"), "wrong", "3 rows as expected, but another text, label, line end or byte order"),
        (b"\xef\xbb\xbf" + TEXT, "wrong", "3 rows as expected, but another text"),
        (TEXT.replace(b"2\t", b"'\t"), "wrong", "3 rows as expected, but quoted; sha256"),
        (TEXT[:14], "wrong", "1 row, 3 expected: cut"),
        (TEXT + b"\n", "wrong", "4 rows, 3 expected"),
        (b"", "wrong", "0 rows, 3 expected"),
    ],
)
def test_a_copy_is_named_for_what_it_is(tmp_path: Path, content: bytes, state: str, said: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    result = check(TABLE, tmp_path / "a.txt")
    assert result.state == state
    assert said in result.message
    assert ("as expected" not in said) or TABLE.sha256[:12] in result.message


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    assert (check(TABLE, None).state, check(TABLE, None).message) == ("missing", "3 rows expected")
    assert "cannot be read: Is a directory" in check(TABLE, tmp_path).message


@pytest.mark.parametrize(
    ("content", "rows"), [(b'a,b\n"one\nline",x\ntwo,y\n', 2), (b'a,b\n"one\nline,x\n', -1), (b"", 0)]
)
def test_rows_of_csv_are_counted(tmp_path: Path, content: bytes, rows: int) -> None:
    file = DataFile("a", 2, "", header=1, format="csv")
    assert count(file, content) == rows
    (tmp_path / "a").write_bytes(content)
    assert (rows != -1) or check(file, tmp_path / "a").message.startswith("not a valid csv file")


# Source: SimCSE issues 84 and 101, SentEval issue 63.
@pytest.mark.parametrize(
    ("data", "file", "content", "said"),
    [
        ("subj", "SUBJ/subj.subjective", b"a line\n" * 20, "20 rows, 5,000 expected: cut by a sed .* issue 84"),
        ("mr", "MR/rt-polarity.pos", b"a line\n" * 43, "43 rows, 5,331 expected: cut by a sed .* issue 101"),
        ("mr", "MR/rt-polarity.neg", b"a line\n" * 31, "31 rows, 5,331 expected: cut by a sed .* issue 101"),
        ("trec", "TREC/train_5500.label", b"HUM:ind Who 's he ?\n" * 5452, "5,452 rows as expected, but a sed of mac"),
        ("trec", "TREC/TREC_10.label", b"HUM:ind Who `` is ?\n" * 500, "500 rows as expected, but a sed of macOS"),
        ("mr", "MR/rt-polarity.pos", b"a line\n" * 44, "44 rows, 5,331 expected$"),
    ],
)
def test_copies_in_circulation_are_recognised(tmp_path: Path, data: str, file: str, content: bytes, said: str) -> None:
    (tmp_path / "copy").write_bytes(content)
    result = check(files_of(data)[file], tmp_path / "copy")
    assert result.state == "wrong"
    assert re.match(said, result.message)
