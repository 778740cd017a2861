"""Sentences for a language model to rewrite, and what it wrote, joined to a corpus of triples.

    python -m benchmarks.written draw --to FOLDER      # part-01.tsv ...: number TAB sentence
    python -m benchmarks.written join FOLDER --to results/written

draw: 2,000 sentences of the Wikipedia corpus that comes with cseb, of 6 to 30 words. A language model is given
results/written/prompt.txt and one part after the other; its answers, written-01.tsv ..., lie beside them: number TAB
positive TAB negative. join: triples.jsonl.gz, with the columns of SimCSE's release. An answer that repeats its sentence
or is missing is refused; where the model wrote from more than the prompt says, say so in triples.provenance.yaml.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.labelled import TRIPLE
from cseb.data.bounded import read_lines
from cseb.data.corpus import read_corpus
from cseb.errors import BadData, CsebError

COUNT, PART = 2_000, 50
SHORTEST, LONGEST = 6, 30  # words: shorter ones have little to rewrite, longer ones are cut at 32 tokens


def drawn(sentences: Sequence[str], count: int = COUNT, seed: int = 0) -> list[str]:
    """`count` of the sentences that are neither too short nor too long, in an order drawn by `seed`."""
    fit = [one for one in sentences if SHORTEST <= len(one.split()) <= LONGEST]
    return [fit[i] for i in np.random.default_rng(seed).permutation(len(fit))[:count]]


def rows(file: Path, texts: int) -> Iterator[tuple[int, list[str]]]:
    """Number and texts of each line. Raises: BadData, also for a blank text."""
    lines = read_lines(file)
    for at, line in enumerate(lines[:-1] if lines[-1] == "" else lines, 1):
        number, *found = (piece.strip() for piece in line.split("\t"))
        if not number.isdecimal() or len(found) != texts or not all(found):
            raise BadData(f"{file}, line {at}: found {line[:60]!r}; needed: a number and {texts} texts, TABs between")
        yield int(number), found


def joined(folder: Path) -> list[dict[str, str]]:
    """The triples of all parts, in the order of their numbers. Raises: BadData."""
    triples = {}
    for part in sorted(folder.glob("part-*.tsv")):
        answers = dict(rows(part.with_name(part.name.replace("part-", "written-")), texts=2))
        for number, (sentence,) in rows(part, texts=1):
            if number not in answers:
                raise BadData(f"{part}: nothing was written for sentence {number}; ask for it again")
            triple = (sentence, *answers[number])
            if len({_letters(text) for text in triple}) < len(triple):
                raise BadData(f"{part}: sentence {number} was repeated, {triple[0][:60]!r}; ask for it again")
            triples[number] = dict(zip(TRIPLE, triple, strict=True))
    if not triples:
        raise BadData(f"{folder} holds no part-01.tsv; write it by `python -m benchmarks.written draw --to {folder}`")
    return [triples[number] for number in sorted(triples)]


def _letters(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def main() -> None:
    """Write parts or triples. Exits with 2 and one line for what cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    draw = actions.add_parser("draw")
    join = actions.add_parser("join")
    join.add_argument("folder", type=Path)
    for action in (draw, join):
        action.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    try:
        options.to.mkdir(parents=True, exist_ok=True)
        if options.action == "draw":
            sentences = drawn(list(read_corpus("wikipedia")))
            for first in range(0, len(sentences), PART):
                lines = [f"{first + at}\t{one}\n" for at, one in enumerate(sentences[first : first + PART], 1)]
                (options.to / f"part-{first // PART + 1:02}.tsv").write_text("".join(lines), encoding="utf-8")
            return
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in joined(options.folder)]
        file = options.to / "triples.jsonl.gz"
        file.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
        print(f"{file}: {len(lines):,} triples")
    except (CsebError, OSError) as error:
        parser.exit(2, f"written: {error}\n")


if __name__ == "__main__":
    main()
