"""Pairs that people have rated and triples from inference, for methods that learn from labels.

    python -m benchmarks.labelled --data-dir FOLDER --to CORPORA

rated.jsonl: the 5,749 pairs of STS-B train with their scores from 0 to 5. Many of these pairs stand in STS12 to STS16
too, which are no tests of what has learnt from them. triples.jsonl: one for each premise of SNLI dev and test that has
both an entailed and a contradicting sentence (of several, seed 0 chooses one, as in `cseb data triples`). FOLDER: that
of SentEval's files and of SNLI's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cseb.data.lines import Row, nli_triples
from cseb.data.manifest import local_path
from cseb.errors import CsebError
from cseb.tasks.senteval import TABLES, read_table

SPLITS = ("dev", "test")
TRIPLE = ("sent0", "sent1", "hard_neg")  # as SimCSE's release calls them


def rated(data_dir: Path) -> Iterator[Mapping[str, object]]:
    """The pairs of STS-B train. Raises: BadData."""
    root = local_path(TABLES["stsb-train"].file.file, data_dir).parents[2]
    (pairs,) = read_table(TABLES["stsb-train"], root)
    for left, right, score in zip(pairs.left, pairs.right, pairs.gold, strict=True):
        yield {"sentence1": left, "sentence2": right, "score": score}


def inferences(data_dir: Path) -> Iterator[Row]:
    """Label, premise and hypothesis of every pair. Raises: BadData."""
    for split in SPLITS:
        files = [local_path(f"SNLI/{column}.{split}", data_dir) for column in ("labels", "s1", "s2")]
        yield from zip(*(file.read_text(encoding="utf-8").splitlines() for file in files), strict=True)


def triples(data_dir: Path) -> Iterator[Mapping[str, object]]:
    """Premises with an entailed and a contradicting sentence each. Raises: BadData."""
    for line in nli_triples(inferences(data_dir), seed=0):
        yield dict(zip(TRIPLE, line.split("\t"), strict=True))


def write(file: Path, rows: Iterable[Mapping[str, object]]) -> int:
    """One JSON object a line; how many there are."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def main() -> None:
    """Write both files. Exits with 2 and one line where data are missing."""
    parser = argparse.ArgumentParser(description="Corpora with labels.")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of SentEval's and SNLI's files")
    parser.add_argument("--to", type=Path, required=True, help="folder of the two files")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    try:
        for name, rows in {"rated": rated(options.data_dir), "triples": triples(options.data_dir)}.items():
            print(f"{name}.jsonl: {write(options.to / f'{name}.jsonl', rows):,} rows")
    except CsebError as error:
        parser.exit(2, f"labelled: {error}\n")


if __name__ == "__main__":
    main()
