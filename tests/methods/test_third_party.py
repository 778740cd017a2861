"""The hash of a third-party package's source: which files count."""

import sys
from pathlib import Path

import pytest

from cseb.methods.third_party import code_hash, sources


def hashed(module: str) -> str:
    return code_hash.__wrapped__(module)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "hashed_kit"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__.py", "term.py", "inner/helper.py"):
        (folder / name).write_text(f"raise RuntimeError('{name} is imported')\n")
    (tmp_path / "hashed_single.py").write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_every_source_file_of_the_package_counts_and_none_is_imported(package: Path) -> None:
    first = hashed("hashed_kit.term")
    assert len(first) == 16
    assert hashed("hashed_kit.term") == hashed("hashed_kit.inner.helper") == first
    (package / "notes.txt").write_text("no source")
    assert hashed("hashed_kit.term") == first
    (package / "inner" / "helper.py").write_text("A = 2\n")
    second = hashed("hashed_kit.term")
    (package / "inner" / "helper.py").rename(package / "inner" / "other.py")
    assert len({first, second, hashed("hashed_kit.term")}) == 3
    assert not [name for name in sys.modules if name.startswith("hashed_kit")]


def test_a_package_of_one_file(package: Path) -> None:
    first = hashed("hashed_single")
    (package.parent / "hashed_single.py").write_text("A = 2\n")
    assert hashed("hashed_single") != first


def test_parts_and_tasks_of_cseb_are_not_third_party() -> None:
    assert sources(["infonce", "cls"], ["sts12@1", "first8:snli@1", "mteb:X@1", ""]) == ()
