"""Files appear complete or not at all."""

import os
import stat
import threading
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such thing here")
def test_a_fifo_is_written_into_and_stays_one(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    write_whole(fifo, [b"one\n", b"x" * 200_000])
    reader.join(10)
    assert read == [b"one\n" + b"x" * 200_000]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["fifo"]


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder/target.txt"
    target.write_bytes(b"old")
    target.chmod(0o640)
    (tmp_path / "link").symlink_to("folder/target.txt")
    (tmp_path / "second").symlink_to(tmp_path / "link")
    for name in ("link", "second"):
        write_whole(tmp_path / name, [name.encode()])
        assert (tmp_path / name).is_symlink()
        assert target.read_bytes() == name.encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    (tmp_path / "new").symlink_to(tmp_path / "folder/new.txt")  # one that leads nowhere yet
    write_whole(tmp_path / "new", [b"made"])
    assert (tmp_path / "folder/new.txt").read_bytes() == b"made"
