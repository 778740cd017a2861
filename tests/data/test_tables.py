"""Tables: every format gives the same rows, and every fault is answered in one line."""

import gzip
import json
from pathlib import Path

import pytest

from cseb.data.tables import ENDINGS, read_table
from cseb.errors import BadData

ROWS = [("one", "1.5"), ("two, too", "2"), ("drei ä", "0")]
OBJECTS = [{"text": text, "score": score} for text, score in ROWS]
CONTENT = {
    ".csv": 'text,score\r\none,1.5\r\n\r\n"two, too",2\r\ndrei ä,0\r\n',
    ".tsv": "text\tscore\none\t1.5\n\t\ntwo, too\t2\ndrei ä\t0\n",
    ".jsonl": "\n".join(map(json.dumps, OBJECTS[:1])) + "\n\n" + "\n".join(map(json.dumps, OBJECTS[1:])),
    ".json": json.dumps(OBJECTS),
}
LINES = {".csv": (2, 4, 5), ".tsv": (2, 4, 5), ".jsonl": (1, 3, 4), ".json": (1, 2, 3)}


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_same_rows(tmp_path: Path, ending: str, bom: str) -> None:
    content = (CONTENT[ending] if ending == ".json" else bom + CONTENT[ending]).encode()
    (tmp_path / f"a{ending}").write_bytes(content)
    (tmp_path / f"a{ending.upper()}.gz").write_bytes(gzip.compress(content))
    for name in (f"a{ending}", f"a{ending.upper()}.gz"):
        table = read_table(tmp_path / name)
        assert table.columns == ("text", "score")
        assert list(table.rows) == ROWS
        assert table.lines == LINES[ending]
        assert table.column("score") == ["1.5", "2", "0"]


def test_without_a_header_the_first_row_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\t1\nz\tu\t2\n")
    table = read_table(tmp_path / "a.tsv").headless()
    assert (table.columns, table.rows, table.lines) == (("1", "2", "3"), (("x", "y", "1"), ("z", "u", "2")), (1, 2))


def test_rows_of_json_may_leave_columns_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1, "b": [2]}\n{"b": null}\n')
    assert read_table(tmp_path / "a.jsonl").rows == ((1, [2]), (None, None))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "x", r"a.txt is not a readable task file: a task file ends in .csv, .tsv, .jsonl, .json"),
        ("a.csv", "a,b\n1\n", r"a.csv, line 2 has 1 field, the header 2"),
        ("a.csv", 'a,b\n"1,2\n', r"a.csv, line 2: .*quotation mark not closed"),
        ("a.jsonl", '{"a": 1}\n[1]\n', r"a.jsonl, line 2 is a list; an object"),
        ("a.jsonl", "{", r"a.jsonl, line 1 is not JSON"),
        ("a.json", '{"a": 1}', r"a.json is not a list of objects"),
        ("a.json", "[1]", r"a.json is not a list of objects"),
        ("a.json", "[", r"a.json cannot be read: Expecting value"),
        ("a.csv.gz", "a,b\n", r"a.csv.gz cannot be read: Not a gzipped file"),
    ],
)
def test_faults_are_answered(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BadData, match=message):
        read_table(tmp_path / name)


def test_what_is_not_there_or_not_utf8_is_answered(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"there is no file .*a.csv; a task file ends in"):
        read_table(tmp_path / "a.csv")
    with pytest.raises(BadData, match="is a folder"):
        read_table(tmp_path)
    (tmp_path / "a.tsv").write_bytes(b"a\tb\n\xff\t1\n")
    with pytest.raises(BadData, match=r"a.tsv, line 2 is not UTF-8"):
        read_table(tmp_path / "a.tsv")
