"""The door for files of others: type, size, depth and text are looked at before anything else."""

from pathlib import Path

import pytest

from cseb.data import bounded
from cseb.errors import BadData


def test_what_is_right_is_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"a": [1, 2.5, null, "\\ud83d\\ude00 é"]}', encoding="utf-8")
    assert bounded.read_json(file) == bounded.read_object(file) == {"a": [1, 2.5, None, "\U0001f600 é"]}
    assert bounded.read_text(file) == file.read_text(encoding="utf-8")
    assert bounded.read_bytes(file, limit=file.stat().st_size) == file.read_bytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": 1} {}', "not JSON"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'"\xed\xa0\x80"', "not UTF-8 at byte 1"),
        (b'{"a": "\\ud800"}', "an unpaired surrogate"),
        (b'{"\\uDC00": 1}', "an unpaired surrogate"),
        (b"[" * 100_000 + b"]" * 100_000, "levels deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "levels deep"),
        (b"[" * 100 + b"]" * 100, "levels deep"),
        (b"9" * 5000, "not JSON"),
    ],
)
def test_what_is_no_json_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(BadData, match=said) as error:
        bounded.read_json(file)
    assert "config.json" in str(error.value) and len(str(error.value)) < 500


def test_size_is_bounded_before_reading(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)  # a hole: a terabyte that takes no room
    with pytest.raises(BadData, match="larger than 1,000 bytes"):
        bounded.read_bytes(file, limit=1000)


@pytest.mark.parametrize("content", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_an_object_has_to_be_one(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(BadData, match="a JSON object is needed"):
        bounded.read_object(file)


@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 3000, "nul\0l", "missing.json"])
def test_a_name_that_cannot_be_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadData, match="cannot be read") as error:
        bounded.read_text(tmp_path / name)
    assert len(str(error.value)) < 500
