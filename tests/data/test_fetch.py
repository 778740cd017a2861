"""Files from the hub and from an archive, complete or not at all."""

import hashlib
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

import pytest

from cseb.data import hub, manifest
from cseb.data.manifest import DataFile, DataSet, OnHub, fetch, locate
from cseb.errors import BadData, BadResults

CONTENT = {"MR/a.pos": b"good\n", "MR/a.neg": b"bad\n"}
FILES = tuple(DataFile(name, 1, "") for name in CONTENT)
PACKED = DataSet("mr", "", "", "http://x", FILES, hub=OnHub("o/n", "all.tar"))
SINGLE = DataSet("wiki", "", "", "http://x", (DataFile("wiki.txt", 1, ""),), hub=OnHub("o/n", "wiki.txt"))
ELSEWHERE = DataSet("pairs", "", "", "http://x", (DataFile("PAIRS/pairs.csv", 1, ""),))


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty caches of our own, and no hub unless a test brings one."""
    from huggingface_hub import constants

    monkeypatch.setattr(manifest, "user_cache_path", lambda name: tmp_path / "unpacked")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    for name, content in CONTENT.items():
        (tmp_path / "mirror" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mirror" / name).write_bytes(content)
    return tmp_path / "mirror"


@pytest.fixture
def archive(mirror: Path, tmp_path: Path) -> Path:
    (tmp_path / "archives").mkdir()
    with tarfile.open(tmp_path / "archives/all.tar", "w") as tar:
        tar.add(mirror, "senteval")
    return tmp_path / "archives"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_interrupted_unpacking_leaves_nothing(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(self: tarfile.TarFile, path: Path, **options: object) -> None:
        (path / "half").write_bytes(b"x")
        raise KeyboardInterrupt

    monkeypatch.setattr(tarfile.TarFile, "extractall", stopped)
    monkeypatch.setattr(manifest, "hub_file", lambda repository, file: archive / file)
    (tmp_path / "unpacked").mkdir()
    with pytest.raises(KeyboardInterrupt):
        fetch(PACKED, PACKED.files, None)
    assert contents(tmp_path / "unpacked") == {}


def test_what_is_not_on_the_hub_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"pairs is not on the hub: get it from http://x and put it .* PAIRS/pairs\.csv"):
        fetch(ELSEWHERE, ELSEWHERE.files, tmp_path)


def test_without_a_network_there_is_one_line_and_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"all\.tar of the data set o/n cannot be fetched .* `data_dir`$"):
        fetch(PACKED, PACKED.files, tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.fixture
def served(archive: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A hub on this machine that holds the archive and a text file, and what it was asked for."""
    from huggingface_hub import constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    (archive / "wiki.txt").write_bytes(b"a sentence\n")
    (archive / "api.json").write_text(f'{{"id": "o/n", "sha": "{commit}"}}')
    asked: list[str] = []

    class Hub(SimpleHTTPRequestHandler):
        def send_head(self) -> BinaryIO | None:
            asked.append(f"{self.command} {self.path}")
            if self.path.startswith("/api/datasets/o/n"):
                self.path = "/api.json"
            return super().send_head()

        def translate_path(self, path: str) -> str:
            return str(archive / Path(path.partition("?")[0]).name)

        def end_headers(self) -> None:
            self.send_header("ETag", f'"{hashlib.sha256(self.path.encode()).hexdigest()}"')
            self.send_header("X-Repo-Commit", commit)
            super().end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("/{repo_id}")
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "".join(template[1:]))
    yield asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_files_come_from_the_hub_once_and_are_found_in_its_cache(served: list[str], tmp_path: Path) -> None:
    assert locate(SINGLE, SINGLE.files[0], None) is None
    fetch(SINGLE, SINGLE.files, None)
    path = locate(SINGLE, SINGLE.files[0], None)
    assert path.read_bytes() == b"a sentence\n"
    assert any(line.startswith("GET /datasets/o/n/resolve/main/wiki.txt") for line in served)
    served.clear()
    fetch(SINGLE, SINGLE.files, tmp_path / "to")
    assert contents(tmp_path / "to") == {"wiki.txt": b"a sentence\n"}
    assert served == []  # what is in the cache asks nobody


def test_an_archive_of_the_hub_is_unpacked_where_tasks_look(served: list[str], tmp_path: Path, archive: Path) -> None:
    fetch(PACKED, PACKED.files, None)
    paths = [locate(PACKED, file, None) for file in PACKED.files]
    assert [path.read_bytes() for path in paths if path] == list(CONTENT.values())
    (tmp_path / "to/MR").mkdir(parents=True)
    (tmp_path / "to/MR/a.neg").write_bytes(b"mine\n")  # a file that is there is never overwritten
    fetch(PACKED, PACKED.files, tmp_path / "to")
    assert contents(tmp_path / "to") == CONTENT | {"MR/a.neg": b"mine\n"}
    other = DataSet("mr", "", "", "http://x", (DataFile("MR/b.pos", 1, ""),), hub=PACKED.hub)
    with pytest.raises(BadData, match=r"all.tar lacks MR/b\.pos; nothing was copied"):
        fetch(other, other.files, tmp_path / "to")
    with pytest.raises(BadResults, match=r"MR/a\.pos cannot be written: Not a directory"):
        fetch(PACKED, PACKED.files, archive / "wiki.txt")
    assert hub.hub_file("o/n", "all.tar").is_file()
