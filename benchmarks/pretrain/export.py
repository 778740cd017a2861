"""Write the shipped folder of a finished pre-training run: weights in half precision, and the model card.

python -m benchmarks.pretrain.export RUN --sources-folder FOLDER --evaluation DATA --to .../encoders/cseb-tiny
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.checkpoints import state_of
from benchmarks.pretrain.objective import Objective
from benchmarks.pretrain.overlap import overlap
from benchmarks.pretrain.sizes import SIZES
from benchmarks.pretrain.sources import LISTED, BadText, described, in_one_line, read_documents
from benchmarks.pretrain.text import genre_name
from benchmarks.pretrain.train import FACTS, decay_steps

ROWS = 12  # of the table of held-out figures
WORDS = 5  # shown for each prompt
BEGINNINGS = {
    "random": "It began with random weights.",
    "cooccurrence": "Its word embeddings began with counts of co-occurrence in this text, its other weights at random.",
}


def export(run: Path, to: Path, text: Path, listed: Path, evaluation: Path) -> None:
    """Write the encoder and its card. Raises: BadText if the run is not finished."""
    if not (run / FACTS).is_file():
        raise BadText(f"{run} has no encoder yet. Run benchmarks.pretrain.train with --decay-from to its end.")
    facts = json.loads((run / FACTS).read_text("utf-8"))
    objective = SIZES[facts["identity"]["size"]]
    model = objective.learner.from_pretrained(run / "encoder", dtype=torch.float16)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(run / "encoder")
    model.save_pretrained(to)
    config = json.loads((to / "config.json").read_text("utf-8"))
    config["dtype"] = "float32"  # to compute in; only the file is in half precision
    (to / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    tokenizer.save_pretrained(to)
    shared = overlap(read_documents(text, listed), evaluation)
    (to / "README.md").write_text(card(run, facts, to, listed, shared), encoding="utf-8")


def card(run: Path, facts: dict[str, Any], folder: Path, listed: Path, shared: dict[str, tuple[int, int, int]]) -> str:
    """Return the model card in Markdown. facts: options, progress and machine. shared: the result of `overlap`."""
    options, made = facts["identity"], json.loads((run / "text.json").read_text("utf-8"))
    state = state_of(facts["state"])
    objective = SIZES[options["size"]]
    kind = objective.card
    model = objective.learner.from_pretrained(folder, dtype=torch.float32)  # without dropout
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    shape = model.config
    train, tokens = made["parts"]["train"], state.step * options["tokens"]
    words = sum(source["words"] for source in train.values())
    elapsed, computing = state.hours
    return f"""---
license: cc-by-sa-4.0
language: en
library_name: transformers
---

# {folder.name}

A {kind.what} of {shape.num_hidden_layers} layers x {shape.hidden_size}, uncased, {shape.vocab_size:,} WordPieces, \
{model.num_parameters() / 1e6:.2f} million weights, pre-trained by cseb on {words / 1e6:.1f} million words of
English under open licences, with {kind.learned}. {BEGINNINGS[options["words"]]}
It is small, for the comparison of training methods on a laptop, not for use in products. It was not trained on pairs of
similar sentences, and {kind.remark}.

It was made by `benchmarks/pretrain` in cseb's repository with the options
`{command(options)}`:
{state.step:,} steps, {tokens / 1e6:,.0f} million tokens; the learning rate decayed over the last \
{decay_steps(state):,} steps. The run took {60 * elapsed:,.0f} minutes ({60 * computing:,.0f} of processor time) on
{facts["machine"]}.
`benchmarks/pretrain/TRIALS.md` lists the trials.

## Text

{table([["source", "documents", "sentences", "words", "licence", "origin"], *sources(train, listed)])}

The weights are offered under CC BY-SA 4.0, the strictest of these. The text itself does not come with them.

{table([["genre", "of the text", "of the drawn text"], *genres(made, listed)])}

{table([["evaluation set", "texts", "equal to a training sentence", "sharing eight words"], *overlaps(shared)])}

Evaluation texts have five words or more. Case, punctuation and spaces are ignored. The eight words are in sequence.

## Held-out text

Measured without dropout on documents that were not trained on.

{table([["step", "tokens", *kind.columns], *progress(run)])}

{table([["text", kind.answers], *((prompt, answers(objective, model, tokenizer, prompt)) for prompt in kind.prompts)])}

## Files

{table([["file", "sha256"], *hashes(folder)])}
"""


def table(rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown; the first row is its head."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def command(options: dict[str, Any]) -> str:
    """Return the options of benchmarks.pretrain.train that determine the numbers."""
    shown = ("size", "tokens", "short-rows", "words", "rate", "dropout", "precision", "seed")
    given = " ".join(f"--{name} {options[name.replace('-', '_')]}" for name in shown)
    return given + (" --compile" if options["compile"] else "")


def genres(made: dict[str, Any], listed: Path) -> Iterable[list[str]]:
    """Yield the rows of the table of genres."""
    facts, words = described(listed), Counter[str]()
    for name, source in made["parts"]["train"].items():
        words[genre_name(facts[name])] += source["words"]
    for genre, fraction in sorted(made["genres"].items(), key=lambda item: -item[1]):
        yield [genre, f"{words[genre] / words.total():.1%}", f"{fraction:.1%}"]


def sources(train: dict[str, dict[str, int]], listed: Path) -> Iterable[list[str]]:
    """Yield the rows of the table of sources."""
    for name, facts in described(listed).items():
        if name in train:
            counts = [f"{train[name][what]:,}" for what in ("documents", "sentences", "words")]
            yield [name, *counts, str(facts.get("licence", "")), str(facts.get("origin", ""))]


def overlaps(shared: dict[str, tuple[int, int, int]]) -> Iterable[list[str]]:
    """Yield the rows of the table of evaluation sets."""
    for name, numbers in shared.items():
        yield [name, *(f"{number:,}" for number in numbers)]


def progress(run: Path) -> Iterable[list[str]]:
    """Yield some rows of log.csv, the last among them."""
    with (run / "log.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row in rows[:: -max(1, len(rows) // ROWS)][::-1]:
        step, tokens, loss, *shares = map(float, row)
        yield [f"{step:,.0f}", f"{tokens / 1e6:.1f} M", f"{loss:.3f}", *(f"{share:.1%}" for share in shares)]


@torch.no_grad()
def answers(objective: Objective, model: Any, tokenizer: PreTrainedTokenizerFast, prompt: str) -> str:
    """Return the likeliest words for a prompt, with their probabilities."""
    scores = objective.likeliest(model, tokenizer, prompt)
    likely = scores.softmax(-1).topk(WORDS)
    shown = zip(tokenizer.convert_ids_to_tokens(likely.indices.tolist()), likely.values.tolist(), strict=True)
    return ", ".join(f"{word} {probability:.2f}" for word, probability in shown)


def hashes(folder: Path) -> Iterable[list[str]]:
    """Yield name and hash of every file except the card."""
    for path in sorted(folder.iterdir()):
        if path.name != "README.md":
            yield [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--sources-folder", type=Path, required=True, help="folder of the files in sources.yaml")
    parser.add_argument("--sources", type=Path, default=LISTED, help="list of sources (default: sources.yaml)")
    parser.add_argument("--evaluation", type=Path, required=True, help="folder with one folder per evaluation set")
    parser.add_argument("--to", type=Path, required=True, help="folder to write; its name is the encoder's")
    options = parser.parse_args()
    with in_one_line(BadText):
        export(options.run, options.to, options.sources_folder, options.sources, options.evaluation)


if __name__ == "__main__":
    main()
