"""The line that says how a file of one's own is interpreted: its header and its blank rows."""

from pathlib import Path

import pytest

from cseb.tasks.names import interpretations


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
