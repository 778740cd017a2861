"""Make the data files of `cseb/open_data` again from their sources, so that nobody has to believe them.

    git clone https://github.com/PolyAI-LDN/task-specific-datasets   # banking_data/ at 57ec275
    git clone https://github.com/clinc/oos-eval                      # data/ at 828f809
    python -m benchmarks.open_data --snli SNLI --banking task-specific-datasets/banking_data --clinc oos-eval/data \
        --wikipedia runs/text --against senteval wiki1m.txt --out cseb/open_data

SNLI is a folder with s1, s2 and labels of dev and test as SentEval's script prepares them: tokenised, pairs without an
agreed label left out. --wikipedia is the prepared text of `benchmarks/pretrain`. Every source must
have the sha256 written here; --against names files and folders whose sentences must not be in the corpus.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# The files that are read: argument, name below its folder, sha256.
SOURCES: Mapping[str, Mapping[str, str]] = {
    "snli": {
        "s1.test": "62cb8107dc3c56a4376e5e521842be24e0d61c92c346b94917da2bbf2a47d8be",
        "s2.test": "1174f3ad30a3c30fc0f9eeffc1b3b6a79e0514026c5a658968a8e2a324b311a1",
        "labels.test": "e25c363e5cc70d5494d6e6555d8053eced22dca836e0f03067530eaad3d4f5f5",
        "s1.dev": "28a398b5478b10b4b851d4bb5b2e5767171519add6586015ed50b9436df11d00",
        "s2.dev": "a8c59709630b64ba103f7784c0cb7104a6baf23234562487264d9634714f5d2b",
        "labels.dev": "d164d72435c3289fe53cb01e983f7c06e104bf192c0cae9caf2e99bf2e15f974",
    },
    "banking": {
        "train.csv": "b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b",
        "test.csv": "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d",
    },
    "clinc": {"data_full.json": "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0"},
    "wikipedia": {"corpus.txt": "1eaa8f72edb21829cdf4d3614adec64aa17addf846edba1a847ccd0131a29edc"},
}
GRADES = {"entailment": 2, "neutral": 1, "contradiction": 0}
TEST_EVERY, DEV_EVERY = 3, 6  # premises: one in so many, with all its hypotheses
BANKING_DEV, CLINC_DEV = 20, 30  # intents of the dev tasks
SHOTS = 10  # training queries of an intent, as in the smallest setting of Casanueva et al. 2020
QUERIES, DOCUMENTS = 10, 20  # utterances of an intent
FEWEST = 4  # words of a sentence of the corpus: what is shorter is a leftover of cutting text at full stops

Labelled = tuple[str, str]  # a text and its intent
Read = Mapping[str, Mapping[str, str]]  # argument, file, text


class BadSource(Exception):
    """A source that is not the one these files were made from."""


def snli(texts: Mapping[str, str], split: str, every: int, avoid: frozenset[str] = frozenset()) -> list[str]:
    """Lines "grade TAB premise TAB hypothesis" of every so-many-th premise of a split.

    avoid: `key` of sentences that must not occur, on either side. A pair that is there twice is taken once.
    """
    rows = [
        (GRADES[label], plain(premise), plain(hypothesis))
        for label, premise, hypothesis in zip(
            *(texts[f"{name}.{split}"].split("\n")[:-1] for name in ("labels", "s1", "s2")), strict=True
        )
    ]
    premises = list(dict.fromkeys(premise for _, premise, _ in rows))
    chosen = set(premises[::every])
    kept = [row for row in rows if row[1] in chosen and not avoid & {key(row[1]), key(row[2])}]
    return ["\t".join(map(str, row)) for row in dict.fromkeys(kept)]


def snli_sentences(texts: Mapping[str, str], split: str) -> frozenset[str]:
    """The `key` of all premises and hypotheses of a split."""
    return frozenset(key(line) for name in ("s1", "s2") for line in texts[f"{name}.{split}"].split("\n")[:-1])


def chosen_intents(intents: Iterable[str], dev: int) -> tuple[frozenset[str], frozenset[str]]:
    """Intents of the test task, and `dev` ones for the dev task: those whose names have the smallest sha256."""
    ranked = sorted(set(intents), key=digest)
    return frozenset(ranked[dev:]), frozenset(ranked[:dev])


def some(rows: Sequence[Labelled], intents: frozenset[str], each: int, avoid: Iterable[str] = ()) -> list[Labelled]:
    """For each of these intents, in the order of their names, the `each` texts with the smallest sha256.

    No text is taken twice, nor one that is in `avoid`; capitals make no difference.
    """
    taken = {plain(text).lower() for text in avoid}
    found: list[Labelled] = []
    for wanted in sorted(intents):
        left = each
        for text in sorted((plain(text) for text, intent in rows if intent == wanted), key=digest):
            if left and text.lower() not in taken:
                taken.add(text.lower())
                found.append((text, wanted))
                left -= 1
    return found


def banking(train: Sequence[Labelled], test: Sequence[Labelled], intents: frozenset[str]) -> list[str]:
    """Lines "train|test TAB intent TAB query": SHOTS training queries of each intent, and all of its test queries."""
    tested = some(test, intents, len(test))
    taught = some(train, intents, SHOTS, [text for text, _ in tested])
    return parts({"train": taught, "test": tested})


def clinc(train: Sequence[Labelled], test: Sequence[Labelled], intents: frozenset[str]) -> list[str]:
    """Lines "query|document TAB intent TAB utterance": queries are test utterances, documents training utterances."""
    asked = some(test, intents, QUERIES)
    return parts({"query": asked, "document": some(train, intents, DOCUMENTS, [text for text, _ in asked])})


def parts(rows: Mapping[str, Sequence[Labelled]]) -> list[str]:
    """Lines "part TAB intent TAB text"."""
    return [f"{part}\t{intent}\t{text}" for part, held in rows.items() for text, intent in held]


def wikipedia(sentences: Iterable[str], avoid: frozenset[str]) -> list[str]:
    """Distinct sentences of FEWEST words or more, without those whose `key` is in `avoid`."""
    kept = (sentence for sentence in map(plain, sentences) if len(sentence.split()) >= FEWEST)
    return list(dict.fromkeys(sentence for sentence in kept if key(sentence) not in avoid))


def evaluation_keys(paths: Iterable[Path]) -> frozenset[str]:
    """Keys of every line of these files and folders, of its cells between tabs, and of it without its first word.

    SentEval's files have sentences in lines, in cells, or behind a label.
    """
    found: set[str] = set()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                for line in file.read_bytes().decode("utf-8", "replace").split("\n"):
                    found |= {
                        key(cell) for cell in (*line.split("\t"), line.partition(" ")[2], line.rpartition(" ")[0])
                    }
    return frozenset(found)


def made(read: Read, against: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """Every file of `cseb/open_data` by its name, without .gz, as lines."""
    bank = {name: _csv(read["banking"][f"{name}.csv"]) for name in ("train", "test")}
    oos = json.loads(read["clinc"]["data_full.json"])
    banking_test, banking_dev = chosen_intents((intent for _, intent in bank["test"]), BANKING_DEV)
    clinc_test, clinc_dev = chosen_intents((intent for _, intent in oos["test"]), CLINC_DEV)
    tasks = {
        "snli": snli(read["snli"], "test", TEST_EVERY),
        "snli-dev": snli(read["snli"], "dev", DEV_EVERY, snli_sentences(read["snli"], "test")),
        "banking77": banking(bank["train"], bank["test"], banking_test),
        "banking77-dev": banking(bank["train"], bank["test"], banking_dev),
        "clinc150": clinc(oos["train"], oos["test"], clinc_test),
        "clinc150-dev": clinc(oos["train"], oos["test"], clinc_dev),
    }
    shipped = {key(cell) for lines in tasks.values() for line in lines for cell in line.split("\t")}
    corpus = wikipedia(read["wikipedia"]["corpus.txt"].split("\n"), against | shipped)
    return {"corpora/wikipedia.txt": corpus, **{f"tasks/{name}.tsv": lines for name, lines in tasks.items()}}


def write(files: Mapping[str, Sequence[str]], out: Path) -> None:
    """Each file gzipped, without time or name in it, and `files.json` with rows and sha256 of the unpacked text."""
    facts = {}
    for name, lines in files.items():
        content = "".join(f"{line}\n" for line in lines).encode()
        facts[name] = {"rows": len(lines), "sha256": hashlib.sha256(content).hexdigest()}
        path = out / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content, mtime=0))
    (out / "files.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def read_sources(
    folders: Mapping[str, Path], listed: Mapping[str, Mapping[str, str]] = SOURCES
) -> dict[str, dict[str, str]]:
    """The text of every source. Raises: BadSource."""
    found: dict[str, dict[str, str]] = {}
    for name, files in listed.items():
        for file, sha256 in files.items():
            path = folders[name] / file
            if not path.is_file():
                raise BadSource(f"--{name}: there is no file {path}; give the folder that holds {', '.join(files)}")
            content = path.read_bytes()
            if (own := hashlib.sha256(content).hexdigest()) != sha256:
                raise BadSource(
                    f"{path} has sha256 {own[:12]}..., expected {sha256[:12]}...; use the version named here"
                )
            found.setdefault(name, {})[file] = content.decode()
    return found


def plain(text: str) -> str:
    """Single blanks for all white space."""
    return " ".join(text.split())


def digest(text: str) -> str:
    """What texts and intents are ordered by where some are chosen: no order of a file decides."""
    return hashlib.sha256(text.encode()).hexdigest()


def key(text: str) -> str:
    """By which sentences are the same: letters and digits of all scripts, in lower case."""
    return re.sub(r"[\W_]", "", text.lower())


def _csv(text: str) -> list[Labelled]:
    return [(row["text"], row["category"]) for row in csv.DictReader(io.StringIO(text, newline=""))]


def main(words: Sequence[str] | None = None, listed: Mapping[str, Mapping[str, str]] = SOURCES) -> int:
    """Make the files; what came out, a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, held in listed.items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=f"folder of {', '.join(held)}")
    parser.add_argument("--against", type=Path, nargs="*", default=[], help="files and folders of evaluation texts")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    asked = parser.parse_args(words)
    try:
        read = read_sources({name: getattr(asked, name) for name in listed}, listed)
    except BadSource as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    files = made(read, evaluation_keys(asked.against))
    write(files, asked.out)
    for file, lines in files.items():
        print(f"{file}: {len(lines):,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
