"""Five steps of SimCSE's released trainer beside ours: same weights, same sentences, dropout off.

    python benchmarks/equality/released_trainer.py --encoder FOLDER --corpus FILE [--steps 5] [--batch-size 64]

The released trainer is written out here from its equations, none of cseb in it: the tokenizer's own cutting and
padding, [CLS] of both copies in one pass, tanh(W h + b) with W ~ N(0, 0.02), torch's cosine over 0.05, cross-entropy,
gradients clipped at 1, AdamW as transformers 4.2.1 has it (eps 1e-8 added to sqrt(v) before bias correction), the
learning rate falling linearly over 15,625 steps. Ours is `cseb.training.loop.train` with every optimiser of the
recipe that can stand in its place. It prints each step's losses, and how far the updates of all steps lie apart:
their distance over the length of the released update, for all weights, and for those of queries and keys, whose
gradients are near eps.
Exit code 1 if the optimiser that has the released one's name is further away than 1e-4.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer

from cseb.encoder.encoder import Encoder
from cseb.methods.grammar import parse_method
from cseb.records.progress import Progress
from cseb.training.batches import Feed
from cseb.training.build import Built, build
from cseb.training.loop import train

SAME, OTHERS = "adamw_hf", ("adamw",)
SEED, FULL, RATE, LENGTH, TEMPERATURE = 0, 15_625, 3e-5, 32, 0.05
BETAS, EPS, LARGEST_NORM = (0.9, 0.999), 1e-8, 1.0
CLOSE = 1e-4
QUERIES_AND_KEYS = (".query.", ".key.")

Weights = dict[str, Tensor]


class Run(NamedTuple):
    """Losses of every step, and what the steps changed: names of the released model's weights to differences."""

    losses: list[float]
    update: Weights


class Enough(Exception):
    """As many steps were made as were asked for."""


class Released(nn.Module):
    """SimCSE's model: BERT without its pooler, and a new head that reads [CLS]."""

    def __init__(self, folder: Path, head: Weights) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(folder)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        options: dict[str, Any] = {"attn_implementation": "eager", "dtype": torch.float32, "add_pooling_layer": False}
        self.bert = AutoModel.from_pretrained(folder, config=config, **options)
        self.mlp = nn.Linear(config.hidden_size, config.hidden_size)
        self.mlp.load_state_dict(head)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The loss of B sentences, each of them twice in a row. ids, mask: (2 B, T)."""
        first = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        pairs = torch.tanh(self.mlp(first)).view(len(ids) // 2, 2, -1)
        left, right = pairs[:, 0], pairs[:, 1]
        cosines = F.cosine_similarity(left.unsqueeze(1), right.unsqueeze(0), dim=-1) / TEMPERATURE
        return F.cross_entropy(cosines, torch.arange(len(left)))


@torch.no_grad()
def released_update(weights: Sequence[Tensor], moments: list[tuple[Tensor, Tensor]], step: int, rate: float) -> None:
    """One update of AdamW without decay, in place. step: from 1. Source: transformers 4.2.1, optimization.py."""
    size = rate * math.sqrt(1 - BETAS[1] ** step) / (1 - BETAS[0] ** step)
    for weight, (mean, square) in zip(weights, moments, strict=True):
        assert weight.grad is not None
        mean.mul_(BETAS[0]).add_(weight.grad, alpha=1 - BETAS[0])
        square.mul_(BETAS[1]).addcmul_(weight.grad, weight.grad, value=1 - BETAS[1])
        weight.addcdiv_(mean, square.sqrt().add_(EPS), value=-size)


def released(folder: Path, head: Weights, batches: Sequence[Sequence[str]]) -> Run:
    """What the released trainer makes of these batches."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model = Released(folder, head).train()
    start = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    weights = list(model.parameters())
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    losses = []
    for step, sentences in enumerate(batches, 1):
        twice = [sentence for sentence in sentences for _ in range(2)]
        block = tokenizer(twice, max_length=LENGTH, truncation=True, padding=True, return_tensors="pt")
        loss = model(block["input_ids"], block["attention_mask"])
        loss.backward()
        nn.utils.clip_grad_norm_(weights, LARGEST_NORM)
        released_update(weights, moments, step, RATE * (FULL - step + 1) / FULL)
        model.zero_grad()
        losses.append(loss.item())
    return Run(losses, {name: weight.detach() - start[name] for name, weight in model.named_parameters()})


def prepared(folder: Path, optimizer: str, batch_size: int) -> Built:
    """Our SimCSE without dropout, ready to train. It refuses a rate of 0; at this one no number is ever dropped."""
    recipe = f"recipe(optimizer={optimizer},batch_size={batch_size},dropout=1e-15,eval_every=1)"
    return build(parse_method(f"simcse+{recipe}").at(1.0), folder, SEED)


def named(encoder: Encoder) -> Iterator[tuple[str, Tensor]]:
    """Our weights under the released model's names, without BERT's pooler, which neither trains."""
    for name, weight in encoder.backbone.named_parameters():
        if not name.startswith("pooler."):
            yield f"bert.{name}", weight.detach()
    for name, weight in encoder.head.named_parameters():  # type: ignore[attr-defined]
        yield name.replace("dense.", "mlp."), weight.detach()


def ours(built: Built, sentences: Sequence[str], steps: int) -> Run:
    """What our trainer makes of the same sentences, in the order of its seed."""
    start = {name: weight.clone() for name, weight in named(built.encoder)}
    losses: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.loss is not None:
            losses.append(progress.loss)
        if progress.step == steps:
            raise Enough

    with contextlib.suppress(Enough):
        train(built, sentences, SEED, "cpu", None, watch)
    return Run(losses, {name: weight - start[name] for name, weight in named(built.encoder)})


def apart(left: Weights, right: Weights, names: Sequence[str]) -> float:
    """The distance of two updates over the length of the second, of the weights of these names."""
    pairs = [(left[name].double(), right[name].double()) for name in names]
    distance, length = (math.sqrt(sum(float(one.square().sum()) for one in some)) for some in
                        ([one - other for one, other in pairs], [other for _, other in pairs]))  # fmt: skip
    return distance / length


def compare(folder: Path, lines: Sequence[str], steps: int, batch_size: int) -> dict[str, tuple[float, float, float]]:
    """By optimiser: the largest difference of two losses, and how far apart updates are, all and of queries and keys.

    Prints what it finds.
    """
    sentences = [line for line in lines if line][: steps * batch_size]
    found = {}
    for optimizer in (SAME, *OTHERS):
        built = prepared(folder, optimizer, batch_size)
        feed = Feed(built.views, built.encoder, built.recipe, sentences, SEED, torch.device("cpu"))
        batches = [[sentences[row] for row in batch.rows] for batch, _ in zip(feed, range(steps), strict=False)]
        head = {name.removeprefix("dense."): weight.clone() for name, weight in built.encoder.head.state_dict().items()}  # type: ignore[attr-defined]
        theirs = released(folder, head, batches)
        mine = ours(built, sentences, steps)
        names = sorted(theirs.update)
        assert names == sorted(mine.update), "the two models have different weights"
        some = [name for name in names if any(part in name for part in QUERIES_AND_KEYS)]
        worst = max(abs(a - b) for a, b in zip(mine.losses, theirs.losses, strict=True))
        found[optimizer] = (worst, apart(mine.update, theirs.update, names), apart(mine.update, theirs.update, some))
        print(f"optimizer={optimizer}")
        for step, (a, b) in enumerate(zip(mine.losses, theirs.losses, strict=True), 1):
            print(f"    step {step}: loss ours {a:.9f}, released {b:.9f}, apart {abs(a - b):.1e}")
        print(f"    update of {steps} steps apart: all weights {found[optimizer][1]:.2e}", end="")
        print(f", queries and keys {found[optimizer][2]:.2e}", flush=True)
    return found


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=Path, required=True, help="folder of a BERT in Hugging Face's layout")
    parser.add_argument("--corpus", type=Path, required=True, help="sentences, one per line")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = options.corpus.read_text(encoding="utf-8").splitlines()
    found = compare(options.encoder, lines, options.steps, options.batch_size)
    sys.exit(1 if max(found[SAME][1:]) > CLOSE else 0)


if __name__ == "__main__":
    main()
