"""Readers: every format, every fault answered in one line, and no traceback on any bytes."""

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from cseb.data.read_corpus import read_corpus
from cseb.data.readers import FORMATS, LONGEST_FIELD
from cseb.errors import BadData, CsebError

ENDINGS = [*FORMATS, *(f"{ending}.gz" for ending in FORMATS)]


def table(path: Path, **columns: object) -> bytes:
    parquet.write_table(pa.table(columns), path)
    return path.read_bytes()


def arrow(path: Path, **columns: object) -> bytes:
    content = pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, content.schema) as stream:
        stream.write_table(content)
    return path.read_bytes()


def read(folder: Path, name: str, content: bytes, column: str = "") -> list[str]:
    (folder / name).write_bytes(content)
    return list(read_corpus(str(folder / name), column))


CONTENT: dict[str, Callable[[Path], bytes]] = {
    ".txt": lambda folder: b"one\ntwo \xc3\xa4\n\nthree",
    ".csv": lambda folder: b'id,text\r\n1,one\r\n2,"two \xc3\xa4"\r\n3,\r\n4,three\r\n',
    ".tsv": lambda folder: b"text\tid\none\t1\ntwo \xc3\xa4\t2\n\t3\nthree\t4\n",
    ".jsonl": lambda folder: b'{"text": "one"}\n{"text": "two \\u00e4", "id": 1}\n{"text": null}\n{"text": "three"}\n',
    ".json": lambda folder: b'[{"text": "one"}, {"text": "two \\u00e4", "id": 1}, {"text": null}, {"text": "three"}]',
    ".arrow": lambda folder: arrow(folder / "made", id=[1, 2, 3, 4], text=["one", "two ä", None, "three"]),
    ".parquet": lambda folder: table(folder / "made", id=[1, 2, 3, 4], text=["one", "two ä", None, "three"]),
}


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_sentences(tmp_path: Path, ending: str, bom: bytes) -> None:
    content = CONTENT[ending](tmp_path)
    content = content if ending in (".parquet", ".arrow") else bom + content
    assert read(tmp_path, f"a{ending}", content) == ["one", "two ä", "three"]
    assert read(tmp_path, f"a{ending.upper()}.gz", gzip.compress(content)) == ["one", "two ä", "three"]


def test_a_csv_cell_may_hold_commas_quotes_and_lines(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", b'text\n"a, ""b""\nc"\n\nd\n') == ['a, "b" c', "d"]


def test_a_tsv_cell_may_hold_quotes_that_never_close(tmp_path: Path) -> None:
    assert read(tmp_path, "a.tsv", b'text\tn\n"Yes\t1\nno\t2\n') == ['"Yes', "no"]


def test_a_long_csv_field_is_read(tmp_path: Path) -> None:
    assert len(read(tmp_path, "a.csv", b"text\n" + b"a" * 1_000_000 + b"\n")[0]) == 1_000_000


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
def test_the_column_is_the_named_the_usual_or_the_only_one(
    tmp_path: Path, header: str, column: str, chosen: int
) -> None:
    cells = [f"cell {number}" for number in range(header.count(",") + 1)]
    assert read(tmp_path, "a.csv", f"{header}\n{','.join(cells)}\n".encode(), column) == [cells[chosen]]


def test_semicolons_may_separate_the_columns(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", b'id;text\n1;one, two\n2;"three; four"\n', "") == ["one, two", "three; four"]
    assert read(tmp_path, "a.csv", b'"id;a",text\n1,one\n', "") == ["one"]


def test_a_carriage_return_inside_a_text_is_no_line_end(tmp_path: Path) -> None:
    assert read(tmp_path, "a.txt", b"one\rand more\ntwo\r\n") == ["one\rand more", "two"]
    assert read(tmp_path, "a.txt", b"only\r") == ["only"]


def open_quote() -> bytes:
    return b'text\nfine\n"' + b"x\n" * (LONGEST_FIELD // 2 + 1)


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.txt", b"fine\nbr\xf6ken\n", "", r"a\.txt, line 2 is not UTF-8 \(byte 0xf6\)"),
        ("a.txt", b"", "", "holds no sentence, only 0 blank rows"),
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
        (
            "a.txt",
            b"one\rtwo\rthree\r",
            "",
            r"has carriage returns \(CR\) as line ends; save it with line feeds \(LF\)",
        ),
        ("a.csv", b"text\rone\rtwo", "", "carriage returns"),
        ("a.csv", b"id,titel\n1,x\n", "", "choose one with `column`; found: 'id', 'titel'"),
        ("a.csv", b"id,title\n1,x\n", "titel", "no column 'titel'; found: 'id', 'title'; did you mean `column` title?"),
        ("a.csv", b"text,n\none, two,3\n", "", "line 2 has 3 fields, the header 2; quote the text"),
        ("a.csv", b'text\n"never closed\n', "", "is a quotation mark not closed"),
        ("a.csv", open_quote(), "", "is a quotation mark not closed"),
        ("a.csv", b"text\nfine\n\xff\n", "", "line 3 is not UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n{"text"\n', "", "line 2 is not JSON"),
        ("a.jsonl", b"[" * 100_000, "", "line 1 is not JSON"),
        ("a.jsonl", b'["a"]\n', "", "line 1 is a list; an object"),
        ("a.jsonl", b'{"text": "a"}\n{"txt": "b"}\n', "", "row 2 has no column 'text'; found: 'txt'"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', "", "row 2: column 'text' holds a int; text is needed"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "", "row 1 holds an unpaired surrogate"),
        ("a.parquet", b"PAR1 but not really PAR1", "", "a.parquet"),
        (
            "a.doc",
            b"",
            "",
            r"does not end in \.txt, \.csv, \.tsv, \.jsonl, \.json, \.parquet, \.arrow, with or without \.gz",
        ),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, name: str, content: bytes, column: str, message: str) -> None:
    with pytest.raises(BadData, match=message) as caught:
        read(tmp_path, name, content, column)
    assert "\n" not in str(caught.value)


def test_a_parquet_column_must_hold_text(tmp_path: Path) -> None:
    content = table(tmp_path / "made", text=[1, 2])
    with pytest.raises(BadData, match="row 1: column 'text' holds a int"):
        read(tmp_path, "a.parquet", content)
    with pytest.raises(BadData, match="no column 'body'; found: 'text'"):
        read(tmp_path, "a.parquet", content, "body")


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_text_in_parquet_may_be_stored_in_several_ways(tmp_path: Path, kind: pa.DataType) -> None:
    assert read(tmp_path, "a.parquet", table(tmp_path / "made", text=pa.array(["x", "y"], kind))) == ["x", "y"]


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("missing.txt", "there is no file .*missing.txt"),
        ("folder.txt", "is a folder; give a file in it, or read it as a data set with hub:"),
        ("x" * 5000 + ".txt", "cannot be read: .*name too long"),
        ("nul\0.txt", "cannot be read: .*null byte|there is no file"),
        ("", "is a folder"),
    ],
)
def test_a_path_that_is_no_file_is_answered(tmp_path: Path, ref: str, message: str) -> None:
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(BadData, match=f"(?i){message}"):
        read_corpus(str(tmp_path / ref) if ref else ref)


SEEDS = [json.dumps({"text": "a"}).encode(), b"text,b\n1,2\n", b"PAR1", gzip.compress(b"text\nhello\n", mtime=0)]


@pytest.mark.parametrize("ending", ENDINGS)
@given(content=st.binary() | st.sampled_from(SEEDS).flatmap(lambda seed: st.binary().map(lambda tail: seed + tail)))
@example(content=b"\xff\xfea\0")
@settings(max_examples=60)
def test_no_bytes_at_all_make_a_traceback(ending: str, content: bytes) -> None:
    packed = gzip.compress(content, 1, mtime=0) if ending.endswith(".gz") and len(content) % 2 else content
    with tempfile.TemporaryDirectory() as folder:
        try:
            assert read(Path(folder), f"a{ending}", packed)
        except CsebError as error:
            assert "\n" not in str(error)


@given(data=st.data())
@settings(max_examples=150)
def test_a_damaged_parquet_file_makes_no_traceback(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        content = bytearray(table(Path(folder) / "made", text=["one", "two", None], n=[1, 2, 3]))
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        try:
            assert read(Path(folder), "a.parquet", bytes(content))
        except CsebError as error:
            assert "\n" not in str(error)


def test_an_arrow_file_is_read_like_an_arrow_stream(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"text": ["one", "two"]}), str(tmp_path / "made"))
    assert read(tmp_path, "a.arrow", (tmp_path / "made").read_bytes()) == ["one", "two"]


def test_damaged_arrow_files_are_refused(tmp_path: Path) -> None:
    whole = arrow(tmp_path / "made", text=["one", "two"] * 100)
    for content in (b"", b"no arrow at all", whole[:200], b"ARROW1\0\0" + whole):
        with pytest.raises(BadData, match=r"a\.arrow"):
            read(tmp_path, "a.arrow", content)


@pytest.mark.parametrize("content", [b'{"text": "one"}', b'["one", "two"]', b"[", b"3"])
def test_json_without_an_array_of_objects_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadData, match=r"a\.json"):
        read(tmp_path, "a.json", content)
