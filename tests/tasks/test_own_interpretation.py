"""The line that says how a file of one's own is interpreted: its header and its blank rows."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from cseb.data.tables import number
from cseb.errors import BadData
from cseb.tasks.names import interpretations, parse_tasks


@pytest.mark.parametrize(("kind", "names"), [("clustering", "body,topic"), ("triplets", "a cat,the cat,a dog")])
def test_a_first_line_without_known_names_is_said_to_be_the_header(tmp_path: Path, kind: str, names: str) -> None:
    said = "; line 1 is read as the header, not as a row"
    (tmp_path / "a.csv").write_text(f"{names}\n{names}\n")
    (line,) = interpretations(f"{tmp_path}/a.csv:{kind}")
    assert "1 row (" in line and line.endswith(said)
    known = {"clustering": "text,label", "triplets": "anchor,positive,negative"}[kind]
    (tmp_path / "a.csv").write_text(f"{known}\n{names}\n")
    assert not interpretations(f"{tmp_path}/a.csv:{kind}")[0].endswith(said)


def test_blank_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sentence,label\na,x\n,\n\nb,y\n")
    (line,) = interpretations(f"{tmp_path}/a.csv")
    assert "2 rows, 2 blank rows left out (sentence: sentence, label: label)" in line


def test_columns_of_json_called_by_numbers_are_no_row(tmp_path: Path) -> None:
    """pandas names columns so; the names were scored as a pair of their own, with the rating 2."""
    rows = [{"0": f"a{n}", "1": f"b{n}", "2": n} for n in range(4)]
    (tmp_path / "n.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(BadData, match="has the columns '0', '1', '2', which match no kind of task"):
        parse_tasks(str(tmp_path / "n.jsonl"))
    [task] = parse_tasks(f"{tmp_path}/n.jsonl:pairs")
    assert task.load(None).subsets[0].gold == [0, 1, 2, 3]


def test_a_file_is_explained_behind_a_prefix_too(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text("".join(f"s{n},{'xy'[n % 2]}\n" for n in range(12)))
    [plain] = interpretations(f"{path}:classification")
    assert "line 1 is read as the header" in plain
    for prefix in ("shots2:", "setfit2(steps=3):", "first64:"):
        assert interpretations(f"{prefix}{path}:classification") == [plain]
    assert interpretations("first64:stsb") == []


def test_decimals_of_parquet_are_numbers() -> None:
    assert [number(each) for each in (Decimal("1.5"), Decimal("NaN"), Decimal("1e99"))] == [1.5, None, None]
