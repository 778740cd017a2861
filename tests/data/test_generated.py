"""The generated corpus: written once, checked whenever it is read again."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from cseb.data import generated
from cseb.data.corpus import Corpus
from cseb.data.read_corpus import read_corpus
from cseb.errors import BadData


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(generated, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "cseb"


def same(one: Corpus, other: Corpus) -> bool:
    return (one.sha256, list(one)) == (other.sha256, list(other))


def test_a_second_reading_generates_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_corpus("microworld:50")
    assert (len(first), first.name, first.blank) == (50, "microworld:50", 0)

    def fail(count: int, seed: int) -> Iterable[str]:
        raise AssertionError("generated again")

    monkeypatch.setattr(generated, "sentences", fail)
    assert same(read_corpus("microworld:50:0"), first)
    with pytest.raises(AssertionError):
        read_corpus("microworld:50:1")


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one(cache: Path) -> None:
    assert list(read_corpus("microworld:60"))[:20] == list(read_corpus("microworld:20"))
    assert list(read_corpus("microworld:20:7")) != list(read_corpus("microworld:20"))


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe\n", b"abc\nOne.\n"])
def test_a_damaged_cache_is_noticed_and_rebuilt(cache: Path, damage: bytes) -> None:
    whole = read_corpus("microworld:20")
    [path] = cache.iterdir()
    sound = path.read_bytes()
    for broken in (damage, sound[:-9], sound.replace(b"a", b"b", 1), sound + b"more\n"):
        path.write_bytes(broken)
        assert same(read_corpus("microworld:20"), whole)
        assert path.read_bytes() == sound


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(generated, "user_cache_path", lambda name: tmp_path / "file" / name)
    assert len(read_corpus("microworld:20")) == 20


@pytest.mark.parametrize(
    "ref", ["microworld:0", "microworld:x", "microworld:-1", "microworld:5:", "microworld:9999999"]
)
def test_a_count_that_cannot_be_is_answered(cache: Path, ref: str) -> None:
    with pytest.raises(BadData, match="COUNT from 1 to 1000000"):
        read_corpus(ref)
