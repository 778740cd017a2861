"""Corpora of several columns: by their names in every format, one line for every fault."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from cseb.data.corpus import FORMS, Columns, Corpus, read_corpus
from cseb.errors import BadData

ROWS = [
    {"id": 1, "title": "A bird", "body": "It sings\tloudly.\nVery.", "rated": 4.5},
    {"id": 2, "title": " Two, men ", "body": "They swim.", "rated": 0},
]
PAIRS = ["A bird\tIt sings loudly. Very.", "Two, men\tThey swim."]


def csv(rows: list[dict[str, object]], mark: str) -> str:
    quoted = '"{}"' if mark == "," else "{}"
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    if mark == "\t":  # a cell of a .tsv holds neither
        lines = [[each.replace("\t", " ").replace("\n", " ") for each in line] for line in lines]
    return "".join(mark.join(quoted.format(each) for each in line) + "\n" for line in lines)


def as_parquet(path: Path, rows: list[dict[str, object]]) -> None:
    parquet.write_table(pa.table({name: [row[name] for row in rows] for name in rows[0]}), path)


WRITERS: dict[str, Callable[[Path, list[dict[str, object]]], object]] = {
    "csv": lambda path, rows: path.write_text(csv(rows, ",")),
    "tsv": lambda path, rows: path.write_text(csv(rows, "\t")),
    "jsonl": lambda path, rows: path.write_text("".join(f"{json.dumps(row)}\n" for row in rows)),
    "parquet": as_parquet,
}


def written(folder: Path, ending: str, rows: list[dict[str, object]]) -> str:
    WRITERS[ending](path := folder / f"corpus.{ending}", rows)
    return str(path)


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_lines(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending, ROWS)
    result = read_corpus(path, "anchor=title,positive=body")
    assert list(result) == PAIRS
    assert result.roles == ("anchor", "positive")
    assert list(read_corpus(path, "positive=body, anchor=title")) == PAIRS  # in any order
    assert [line.split("\t")[2] for line in read_corpus(path, "left=title,right=body,score=rated")] in (
        ["4.5", "0"],
        ["4.5", "0.0"],  # a column of a parquet file has one type
    )


def test_a_folder_of_a_data_set_is_read_alike(tmp_path: Path) -> None:
    written(tmp_path, "jsonl", ROWS)
    assert list(read_corpus(f"hub:{tmp_path}", "anchor=title,positive=body")) == PAIRS


def pairs(folder: Path) -> Corpus:
    return read_corpus(written(folder, "jsonl", ROWS), "anchor=title,positive=body")


def test_texts_are_taken_by_name_and_the_first_where_none_is_asked_for(tmp_path: Path) -> None:
    corpus = pairs(tmp_path)
    assert corpus.texts([1, 0], ("positive",)) == ["They swim.", "It sings loudly. Very."]
    assert corpus.texts([1], ("anchor", "positive")) == PAIRS[1:]
    assert corpus.texts([1, 0], ()) == ["Two, men", "A bird"]
    with pytest.raises(BadData, match="has the columns anchor, positive, and none is negative"):
        corpus.texts([0], ("anchor", "negative"))


def test_a_corpus_is_another_one_under_other_names_and_without_them(tmp_path: Path) -> None:
    path = written(tmp_path, "jsonl", ROWS)
    (plain := tmp_path / "plain.txt").write_text("".join(f"{line}\n" for line in PAIRS))
    bare = read_corpus(str(plain))
    assert list(bare) == PAIRS
    assert bare.texts([0], ("anchor",)) == PAIRS[:1]  # lines as they are
    swapped = read_corpus(path, "anchor=body,positive=title")
    assert len({corpus.sha256 for corpus in (bare, pairs(tmp_path), swapped)}) == 3


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("anchor=title,positiv=body", "no column can be 'positiv'; did you mean positive"),
        ("anchor=title", "allowed together: anchor \\+ positive, or anchor \\+ positive \\+ negative, or left"),
        ("anchor=title,score=rated", "allowed together"),
        ("anchor=title,anchor=body", "each once"),
        ("anchor=title,positive=bdy", "no column 'bdy', named as positive; found: 'id', 'title', 'body', 'rated'; did "
         "you mean positive=body"),
        ("anchor=title,positive=", "no column '', named as positive; found: 'id'"),
        ("anchor=title,positive=rated", "column 'rated' holds 4.5; text is needed"),
    ],
)  # fmt: skip
def test_a_wrong_column_is_one_line(tmp_path: Path, column: str, words: str) -> None:
    with pytest.raises(BadData, match=words):
        read_corpus(written(tmp_path, "jsonl", ROWS), column)


def test_a_blank_cell_is_named_and_a_blank_row_is_dropped(tmp_path: Path) -> None:
    blank = {"id": 3, "title": "", "body": None, "rated": 1}
    corpus = read_corpus(written(tmp_path, "jsonl", [*ROWS, blank]), "anchor=title,positive=body")
    assert (len(corpus), corpus.blank) == (2, 1)
    half = written(tmp_path, "jsonl", [*ROWS, blank | {"title": "Three"}])
    with pytest.raises(BadData, match=r"row 3: column 'body' \(positive\) is blank; fill it, or leave the row out"):
        read_corpus(half, "anchor=title,positive=body")


def test_a_number_that_is_missing_is_a_blank_cell(tmp_path: Path) -> None:
    (path := tmp_path / "my.jsonl").write_text('{"body": "a", "label": 1.0}\n{"body": "b", "label": NaN}\n')
    with pytest.raises(BadData, match=r"row 2: column 'label' \(label\) is blank"):
        read_corpus(str(path), "text=body,label=label")


def test_plain_text_has_no_columns(tmp_path: Path) -> None:
    (path := tmp_path / "a.txt").write_text("a\tb\n")
    with pytest.raises(BadData, match="is plain text and has no column 'a'; leave `column` out"):
        read_corpus(str(path), "anchor=a,positive=b")


def test_every_form_is_read_back_from_its_text() -> None:
    for form in FORMS:
        assert Columns.of(",".join(f"{role}={role}-of-it" for role in form)).roles == form
