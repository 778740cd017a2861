"""Files appear complete or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cseb.data.files import write_whole


def test_pieces_are_written_one_after_another_into_a_new_folder(tmp_path: Path) -> None:
    write_whole(tmp_path / "a/b/c.txt", [b"one\n", bytearray(b"two\n")])
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"one\ntwo\n"


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        assert (tmp_path / "a.txt").read_bytes() == b"old"  # nothing is seen before the end
        raise RuntimeError

    (tmp_path / "a.txt").write_bytes(b"old")
    with pytest.raises(RuntimeError):
        write_whole(tmp_path / "a.txt", pieces())
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]
