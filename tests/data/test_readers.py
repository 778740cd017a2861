"""Readers: every format, every fault answered in one line, and no traceback on any bytes."""

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from cseb.data.corpus import read_corpus
from cseb.data.readers import LONGEST_FIELD, READERS
from cseb.data.tables import ENDINGS, read_table
from cseb.errors import BadData, CsebError
from cseb.progress import reading

COLUMNS = {"id": [1, 2, 3, 4], "text": ["one", "two ä", None, "three"]}


def table(**columns: object) -> bytes:
    parquet.write_table(pa.table(columns), stream := io.BytesIO())
    return stream.getvalue()


def read(folder: Path, name: str, content: bytes, column: str = "") -> list[str]:
    (folder / name).write_bytes(content)
    return list(read_corpus(str(folder / name), column))


CONTENT: dict[str, Callable[[], bytes]] = {
    ".txt": lambda: b"one\ntwo \xc3\xa4\n\nthree",
    ".csv": lambda: b'id,text\r\n1,one\r\n2,"two \xc3\xa4"\r\n3,\r\n4,three\r\n',
    ".tsv": lambda: b"text\tid\none\t1\ntwo \xc3\xa4\t2\n\t3\nthree\t4\n",
    ".jsonl": lambda: b'{"text": "one"}\n{"text": "two \\u00e4", "id": 1}\n{"text": null}\n{"text": "three"}\n',
    ".json": lambda: b'[{"text": "one"}, {"text": "two \\u00e4", "id": 1}, {"text": null}, {"text": "three"}]',
    ".parquet": lambda: table(**COLUMNS),
}


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", READERS)
def test_every_format_gives_the_same_sentences(tmp_path: Path, ending: str, bom: bytes) -> None:
    content = CONTENT[ending]()
    content = content if ending == ".parquet" else bom + content
    assert read(tmp_path, f"a{ending}", content) == ["one", "two ä", "three"]
    assert read(tmp_path, f"a{ending.upper()}.gz", gzip.compress(content)) == ["one", "two ä", "three"]
    if ending != ".txt":
        assert [text or None for text in read_table(tmp_path / f"a{ending}").column("text")] == COLUMNS["text"]


@pytest.mark.parametrize(
    ("name", "content", "sentences"),
    [
        ("a.csv", b'text\n"a, ""b""\nc"\n\nd\n', ['a, "b" c', "d"]),
        ("a.tsv", b'text\tn\n"Yes\t1\nno\t2\n', ['"Yes', "no"]),  # quotes need not close in a .tsv
        ("a.csv", b"text\n" + b"a" * 1_000_000 + b"\n", ["a" * 1_000_000]),
        ("a.csv", b'id;text\n1;one, two\n2;"three; four"\n', ["one, two", "three; four"]),
        ("a.csv", b'"id;a",text\n1,one\n', ["one"]),
        ("a.txt", b"one\rand more\ntwo\r\n", ["one\rand more", "two"]),
        ("a.txt", b"only\r", ["only"]),
        ("a.jsonl", b'{"text": "a"}\n{}\n', ["a"]),  # an object without keys is blank
    ],
)
def test_texts_are_read_as_the_format_has_them(tmp_path: Path, name: str, content: bytes, sentences: list[str]) -> None:
    assert read(tmp_path, name, content) == sentences


@pytest.mark.parametrize(
    ("header", "column", "chosen"),
    [
        ("a,text", "", 1),
        ("sentence,a", "", 0),
        ("a,text", "a", 0),
        ("only", "", 0),
        (",text", "", 1),
        ("text,sentence", "", 0),
        ("my text", "my text", 0),
        ("n,n,text", "", 2),
        ("my id,text", "", 1),
    ],
)
def test_the_column_is_the_named_usual_or_only_one(tmp_path: Path, header: str, column: str, chosen: int) -> None:
    cells = [f"cell {number}" for number in range(header.count(",") + 1)]
    assert read(tmp_path, "a.csv", f"{header}\n{','.join(cells)}\n".encode(), column) == [cells[chosen]]


@pytest.mark.parametrize(("name", "said"), [("a.csv", True), ("a.tsv", True), ("a.jsonl", False)])
def test_a_first_line_that_may_be_a_sentence_is_said_to_be_the_header(tmp_path: Path, name: str, said: bool) -> None:
    lines: list[str] = []
    content = b'{"Hello!": "Bye!"}' if name == "a.jsonl" else b"Hello!\nBye!\n"
    with reading(lines.append):
        assert read(tmp_path, name, content) == ["Bye!"]
        assert read(tmp_path, name, content, "Hello!") == ["Bye!"]
        assert read(tmp_path, f"text-{name}", content.replace(b"Hello!", b"text")) == ["Bye!"]
    remark = f"{tmp_path / name}: line 1, 'Hello!', is read as the header, not as a sentence"
    assert lines == ([remark] if said else [])


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.txt", b"fine\nbr\xf6ken\n", "", r"a\.txt, line 2 is not UTF-8 \(byte 0xf6\)"),
        ("a.txt", b"", "", "holds no sentence; one a line or row is needed"),
        ("a.txt", b"\n \n\t\n", "", "holds no sentence, only 3 blank rows"),
        ("a.txt", b"a\n", "text", "is plain text and has no column 'text'"),
        ("a.txt.gz", b"a\n", "", "cannot be read: Not a gzipped file"),
        ("a.txt.gz", gzip.compress(b"a\n" * 999, mtime=0)[:-9], "", "cannot be read: Compressed file ended"),
        ("a.csv", b"", "", r"a\.csv is empty; a header line and"),
        ("a.csv", b"A first sentence\nanother\n", "", "one column and line 1 is 'A first sentence', not a header"),
        ("a.csv", b"id|text\n1|one\n", "", r"line 1 is 'id\|text', not a header; .* commas"),
        ("a.tsv", b"a sentence\nanother\n", "", "line 1 is 'a sentence', not a header"),
        ("a.csv", b"text,text\na,b\n", "", "has 2 columns 'text'; rename one"),
        ("a.csv", b"n,n\na,b\n", "n", "has 2 columns 'n'; rename one"),
        ("a.txt", b"one\rtwo\rthree\r", "", r"has carriage returns \(CR\) as line ends; save it with line feeds \(LF"),
        ("a.csv", b"text\rone\rtwo", "", "carriage returns"),
        ("a.csv", b"id,titel\n1,x\n", "", "choose one with `column`; found: 'id', 'titel'"),
        ("a.csv", b"id,title\n1,x\n", "titel", "no column 'titel'; found: 'id', 'title'; did you mean `column` title?"),
        ("a.csv", b"text,n\none, two,3\n", "", "line 2 has 3 fields, the header 2; quote the text"),
        ("a.csv", b'text\n"never closed\n', "", "is a quotation mark not closed"),
        ("a.csv", b'text\nfine\n"' + b"x\n" * (LONGEST_FIELD // 2 + 1), "", "is a quotation mark not closed"),
        ("a.csv", b"text\nfine\n\xff\n", "", "line 3 is not UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n{"text"\n', "", "line 2 is not JSON"),
        ("a.jsonl", b"[" * 100_000, "", "line 1 is not JSON"),
        ("a.jsonl", b'["a"]\n', "", "line 1 is a list; an object"),
        ("a.jsonl", b'{"txt": "b", "n": 1}\n', "", "choose one with `column`; found: 'txt'"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', "", "row 2: column 'text' holds 3; text is needed"),
        ("a.jsonl", b'{"text": "a"}\n{"n": 3, "body": "b"}\n', "", "line 2 has 'n', 'body', but not 'text'"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "", "row 1 holds an unpaired surrogate"),
        ("a.json", b'{"text": "one"}', "", r"a\.json is not a list of objects"),
        ("a.json", b'["one", "two"]', "", r"a\.json, line 1 is a str; an object"),
        ("a.json", b"[", "", r"a\.json cannot be read: Expecting value"),
        ("a.parquet", b"PAR1 but not really PAR1", "", "a.parquet"),
        ("a.parquet", table(text=[1, 2]), "", "row 1: column 'text' holds 1; text"),
        ("a.parquet", table(text=["1"]), "body", "no column 'body'; found: 'text'"),
        ("a.doc", b"", "", r"does not end in \.txt, \.csv, .*, \.parquet, with or without \.gz; see also hub:NAME"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, name: str, content: bytes, column: str, message: str) -> None:
    with pytest.raises(BadData, match=message):
        read(tmp_path, name, content, column)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_text_in_parquet_may_be_stored_in_several_ways(tmp_path: Path, kind: pa.DataType) -> None:
    assert read(tmp_path, "a.parquet", table(text=pa.array(["x", "y"], kind))) == ["x", "y"]


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("missing.txt", "there is no file .*missing.txt"),
        ("folder.txt", "folder.txt is a folder; give a file of sentences$"),
        ("tables", "tables is a folder; give a file of sentences, or read it as a data set with hub:.*tables$"),
        ("x" * 5000 + ".txt", "cannot be read: .*name too long"),
        ("nul\0.txt", "cannot be read: .*null byte|there is no file"),
        ("", "is a folder"),
    ],
)
def test_a_path_that_is_no_file_is_answered(tmp_path: Path, ref: str, message: str) -> None:
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("text\none\n")
    with pytest.raises(BadData, match=f"(?i){message}"):
        read_corpus(str(tmp_path / ref) if ref else ref)


SEEDS = [json.dumps({"text": "a"}).encode(), b"text,b\n1,2\n", b"PAR1", gzip.compress(b"text\nhello\n", mtime=0)]


@pytest.mark.parametrize("ending", [*READERS, *(f"{ending}.gz" for ending in READERS)])
@given(content=st.binary() | st.sampled_from(SEEDS).flatmap(lambda seed: st.binary().map(lambda tail: seed + tail)))
@example(content=b"\xff\xfea\0")
@settings(max_examples=40)
def test_no_bytes_at_all_make_a_traceback(ending: str, content: bytes) -> None:
    packed = gzip.compress(content, 1, mtime=0) if ending.endswith(".gz") and len(content) % 2 else content
    with tempfile.TemporaryDirectory() as folder, suppress(CsebError):
        assert read(Path(folder), f"a{ending}", packed)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_damaged_parquet_file_makes_no_traceback(data: st.DataObject) -> None:
    content = bytearray(table(**COLUMNS))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder, suppress(CsebError):
        assert read(Path(folder), "a.parquet", bytes(content))


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.csv", 'text,score\r\none,1.5\r\n\r\n"two, too",2\r\n', (2, 4)),
        ("a.tsv", "text\tscore\none\t1.5\n\t\ntwo, too\t2\n", (2, 4)),
        ("a.jsonl", '{"text": "one", "score": "1.5"}\n\n{"text": "two, too", "score": "2"}', (1, 3)),
    ],
)
def test_the_rows_of_a_table_have_their_lines(tmp_path: Path, name: str, content: str, lines: tuple[int]) -> None:
    (tmp_path / name).write_bytes(content.encode())
    result = read_table(tmp_path / name)
    assert (result.columns, result.lines) == (("text", "score"), lines)
    assert result.rows == (("one", "1.5"), ("two, too", "2"))


def test_without_a_header_the_first_row_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\tx\t1\nz\tu\t2\n")
    result = read_table(tmp_path / "a.tsv").headless()
    assert (result.columns, result.rows, result.lines) == (("1", "2", "3"), (("x", "x", "1"), ("z", "u", "2")), (1, 2))


def test_rows_of_json_may_leave_columns_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1, "b": [2]}\n{"b": null}\n')
    assert read_table(tmp_path / "a.jsonl").rows == ((1, [2]), (None, None))


def test_a_task_file_is_no_plain_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert ".txt" not in ENDINGS
    with pytest.raises(BadData, match=r"a.txt does not end in .csv, .tsv, .*; a task file ends in .csv, .tsv"):
        read_table(tmp_path / "a.txt")
