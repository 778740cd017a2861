"""Make the folder that is shipped of a finished pre-training run: weights in half precision, and the model card.

python -m benchmarks.pretrain.export RUN --text FOLDER --evaluation DATA --to cseb/open_data/encoders/cseb-tiny
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from benchmarks.pretrain.objective import Objective
from benchmarks.pretrain.overlap import overlap
from benchmarks.pretrain.sources import LISTED, BadText, described, read_documents
from benchmarks.pretrain.train import SIZES
from cseb.processor import processor

ROWS = 12  # of the table of held-out figures
WORDS = 5  # shown for each prompt


def export(run: Path, to: Path, text: Path, listed: Path, evaluation: Path) -> None:
    """Write the encoder and its card. Raises: BadText where the run is not finished."""
    if not (run / "encoder").is_dir():
        raise BadText(f"{run} has no encoder yet; let benchmarks.pretrain.train finish it")
    held = torch.load(run / "checkpoint.pt", weights_only=True)
    objective = SIZES[json.loads(held["identity"])["size"]]
    model = objective.learner.from_pretrained(run / "encoder", dtype=torch.float16)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(run / "encoder")
    model.save_pretrained(to)
    config = json.loads((to / "config.json").read_text("utf-8"))
    config["dtype"] = "float32"  # to compute in; only the file is in half precision
    (to / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    tokenizer.save_pretrained(to)
    found = overlap(read_documents(text, listed), evaluation)
    (to / "README.md").write_text(card(run, held, to, listed, found), encoding="utf-8")


def card(run: Path, held: dict[str, Any], folder: Path, listed: Path, found: dict[str, tuple[int, int]]) -> str:
    """The model card, in Markdown, of the encoder in `folder`; held: its checkpoint; found: what `overlap` counts."""
    options, made = json.loads(held["identity"]), json.loads((run / "text.json").read_text("utf-8"))
    objective = SIZES[options["size"]]
    kind = objective.card
    model = objective.learner.from_pretrained(folder, dtype=torch.float32)  # without dropout
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    shape = model.config
    train, tokens = made["train"], held["step"] * options["tokens"]
    words = sum(one["words"] for one in train.values())
    clock, computing = held["hours"]
    return f"""---
license: cc-by-sa-4.0
language: en
library_name: transformers
---

# {folder.name}

A {kind.what} of {shape.num_hidden_layers} layers x {shape.hidden_size}, uncased, {shape.vocab_size:,} WordPieces, \
{model.num_parameters() / 1e6:.2f} million weights, pre-trained from nothing by cseb on
{words / 1e6:.1f} million words of English under open licences, with {kind.learned}.
It is small and has read little: for comparing training methods on a laptop, not for use in products. It was never
trained on pairs of similar sentences, and {kind.remark}.

How it was made: `benchmarks/pretrain` in cseb's repository,
`{command(options)}`;
{held["step"]:,} steps, {tokens / 1e6:.0f} million tokens; {clock:.1f} hours by the clock, \
{computing * options["processes"]:.1f} of the processor, on {processor()},
torch {version("torch")}, transformers {version("transformers")}. What else was tried: `benchmarks/pretrain/TRIALS.md`.

## Text

{table([["source", "documents", "sentences", "words", "licence", "origin"], *sources(train, listed)])}

The weights are offered under CC BY-SA 4.0, the strictest of these. The text itself does not come with them.

{table([["evaluation set", "its texts that are also a sentence of the training text", "its texts"], *overlaps(found)])}

A text has five words or more; case, punctuation and spaces are ignored.

## Held-out text

On documents that were not trained on, without dropout.

{table([["step", "tokens", *kind.columns], *progress(run)])}

{table([["text", kind.answers], *((prompt, answers(objective, model, tokenizer, prompt)) for prompt in kind.prompts)])}

## Files

{table([["file", "sha256"], *hashes(folder)])}
"""


def table(rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown; the first row is its head."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def command(options: dict[str, Any]) -> str:
    """The options that were given to benchmarks.pretrain.train."""
    shown = ("size", "passes", "tokens", "rate", "pieces", "dropout", "precision", "seed")
    alone = " ".join(f"--{name} {options[name]}" for name in shown)
    return alone + (f", {options['processes']} processes" if options["processes"] > 1 else "")


def sources(train: dict[str, dict[str, int]], listed: Path) -> Iterable[list[str]]:
    """Rows of the table of sources."""
    for name, facts in described(listed).items():
        if name in train:
            counts = [f"{train[name][what]:,}" for what in ("documents", "sentences", "words")]
            yield [name, *counts, str(facts.get("licence", "")), str(facts.get("origin", ""))]


def overlaps(found: dict[str, tuple[int, int]]) -> Iterable[list[str]]:
    """Rows of the table of evaluation sets."""
    for name, (met, held) in found.items():
        yield [name, f"{met:,}", f"{held:,}"]


def progress(run: Path) -> Iterable[list[str]]:
    """Some rows of log.csv, the last among them."""
    with (run / "log.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row in rows[:: -max(1, len(rows) // ROWS)][::-1]:
        step, tokens, loss, *shares = map(float, row)
        yield [f"{step:,.0f}", f"{tokens / 1e6:.1f} M", f"{loss:.3f}", *(f"{share:.1%}" for share in shares)]


@torch.no_grad()
def answers(objective: Objective, model: Any, tokenizer: PreTrainedTokenizerFast, prompt: str) -> str:
    """The likeliest words at what a prompt asks for, with their probabilities."""
    scores = objective.likeliest(model, tokenizer, prompt)
    likely = scores.softmax(-1).topk(WORDS)
    shown = zip(tokenizer.convert_ids_to_tokens(likely.indices.tolist()), likely.values.tolist(), strict=True)
    return ", ".join(f"{word} {probability:.2f}" for word, probability in shown)


def hashes(folder: Path) -> Iterable[list[str]]:
    """Name and hash of every file but the card."""
    for path in sorted(folder.iterdir()):
        if path.name != "README.md":
            yield [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--text", type=Path, required=True, help="folder of the files that sources.yaml names")
    parser.add_argument("--sources", type=Path, default=LISTED, help="which files there are, as sources.yaml says it")
    parser.add_argument("--evaluation", type=Path, required=True, help="folder with one folder per evaluation set")
    parser.add_argument("--to", type=Path, required=True, help="folder to write; its name is the encoder's")
    options = parser.parse_args()
    try:
        export(options.run, options.to, options.text, options.sources, options.evaluation)
    except BadText as error:
        print(f"pretrain: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
