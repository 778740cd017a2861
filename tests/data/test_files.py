"""Files appear complete or not at all."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cseb.data.files import regular, write_whole


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


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    full = tmp_path / "full"
    try:
        os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        full.open("wb").close()
    except OSError:
        pytest.skip("devices can be made and opened by the superuser alone")
    with pytest.raises(OSError, match="No space left"):
        write_whole(full, [b"one"])
    assert stat.S_ISCHR(full.stat().st_mode)
    (tmp_path / "link").symlink_to(full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "link", [b"one"])
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR(full.stat().st_mode)
    assert not regular(full)


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


def test_an_open_descriptor_is_written_at_its_end(tmp_path: Path) -> None:
    with (tmp_path / "open.txt").open("wb") as file:
        file.write(b"before ")
        file.flush()
        name = Path(f"/dev/fd/{file.fileno()}")
        if not name.exists():
            pytest.skip("no such names here")
        write_whole(name, [b"after"])
        assert not regular(name)
    assert (tmp_path / "open.txt").read_bytes() == b"before after"


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    write_whole(tmp_path / ("a" * 255), [b"one"])
    assert (tmp_path / ("a" * 255)).read_bytes() == b"one"
