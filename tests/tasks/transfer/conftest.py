"""Files of the right size and layout with made-up sentences, and features whose classes overlap."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from cseb.tasks.transfer.labelled import BINARY, MRPC_FILES, QUESTIONS, SST2_FILES, TREC_FILES

SHARED = Path(__file__).parents[3].parent / "shared" / "data"
real = pytest.mark.skipif(not (SHARED / "senteval/MR").is_dir(), reason="needs the task files beside the repository")


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with MR/, CR/, ... in which row i has 1 + i % 3 tokens and says its own number; row 7 is empty."""
    root = tmp_path_factory.mktemp("labelled")

    def sentence(i: int, word: str) -> str:
        return " ".join([f"{word}{i}", *["\u00e9"] * (i % 3)])

    def write(name: str, rows: list[str], encoding: str) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("".join(f"{row}\n" for row in rows).encode(encoding))

    for files in BINARY.values():
        for word, file in zip("pn", files, strict=True):
            write(file.file, ["" if i == 7 else sentence(i, word) for i in range(file.rows)], "latin-1")
    for file in SST2_FILES:
        write(file.file, [f"{sentence(i, 's')} \t{i % 2}" for i in range(file.rows)], "utf-8")
    for file in TREC_FILES:
        write(file.file, [f"{QUESTIONS[i % 6]}:fine {sentence(i, 'q')} ?" for i in range(file.rows)], "latin-1")
    for file in MRPC_FILES:
        rows = [f'{i % 2}\t1\t2\t"{sentence(i, "a")}\tb' for i in range(file.rows)]
        write(file.file, ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", *rows], "utf-8")
    return root


def noisy(n: int, width: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, width) and labels (n,) that no linear classifier tells apart without errors."""
    rng = np.random.RandomState(5)
    labels = rng.randint(0, classes, n)
    centres = rng.standard_normal((classes, width))
    return (centres[labels] + 2.5 * rng.standard_normal((n, width))).astype(np.float32), labels


def hashed_words(sentences: list[str], width: int = 16) -> np.ndarray:
    """The mean of `width` normal numbers for each word, drawn from its hash; zeros for an empty sentence."""
    drawn: dict[str, np.ndarray] = {}
    for word in {word for sentence in sentences for word in sentence.split()}:
        seed = int.from_bytes(sha256(word.encode()).digest()[:4], "little")
        drawn[word] = np.random.RandomState(seed).standard_normal(width).astype(np.float32)
    nothing = [np.zeros(width, dtype=np.float32)]
    rows = [np.mean([drawn[word] for word in sentence.split()] or nothing, axis=0) for sentence in sentences]
    return np.array(rows, dtype=np.float32)
