"""Unlabelled sentences of four domains, one a line, for `cseb run --corpus` and `cseb recommend`.

    python -m benchmarks.domains --data-dir FOLDER --to CORPORA

banking77: questions to a bank, which come with cseb. cr (customer reviews), subj (film reviews and plots) and trec
(questions) are read below --data-dir, the folder of SentEval's files. Labels are left out, each sentence is written
once, and the order is one of sha256, so that a prefix of a file says nothing of a class. What is scored afterwards are
the labels of these same sentences: a method may adapt to the sentences that it will be scored on, as it may for any
user who wants vectors of her own sentences. `--domains intents` writes the training sentences of banking77 and clinc150
alone.
"""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path

from cseb.errors import CsebError
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_tasks
from cseb.tasks.transfer.few_labels import FewLabels

DOMAINS = ("banking77", "cr", "subj", "trec")


INTENTS = "intents"


def sentences(domain: str, data_dir: Path | None) -> list[str]:
    """All sentences of a task, without labels. Raises: BadData where its files are missing."""
    if domain == INTENTS:
        texts = [text for name in ("banking77", "clinc150") for text in training_sentences(name)]
    else:
        (task,) = parse_tasks(domain)
        texts = list(load_task(task, data_dir).sentences())
    unlike = {" ".join(sentence.split()) for sentence in texts}
    return sorted(unlike - {""}, key=lambda sentence: sha256(sentence.encode()).digest())


def training_sentences(name: str) -> list[str]:
    """Return the sentences from which `shotsK:NAME` draws."""
    task = load_task(f"shots1:{name}", None)
    assert isinstance(task, FewLabels)
    scored = {text for row in task.test for text in task.texts[row]}
    return [text for texts in task.texts for text in texts if text not in scored]


def main() -> None:
    """Write a file a domain. Exits with 2 and one line where files are missing."""
    parser = argparse.ArgumentParser(description="Unlabelled sentences of four domains.")
    parser.add_argument("--data-dir", type=Path, help="folder of SentEval's files")
    parser.add_argument("--to", type=Path, required=True, help="folder of the four files")
    parser.add_argument("--domains", default=",".join(DOMAINS), help="those to write")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    for domain in options.domains.split(","):
        try:
            found = sentences(domain, options.data_dir)
        except CsebError as error:
            parser.exit(2, f"domains: {error}\n")
        (options.to / f"{domain}.txt").write_text("\n".join(found) + "\n", encoding="utf-8")
        print(f"{domain}: {len(found):,} sentences")


if __name__ == "__main__":
    main()
