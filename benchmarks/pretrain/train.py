"""Pre-train a small BERT: masked words and next sentence (Devlin et al. 2019, section 3.1), on text of open licences.

    python -m benchmarks.pretrain.train --text FOLDER --out RUN --size tiny
    torchrun --nproc-per-node 2 -m benchmarks.pretrain.train ...        # the batch shared by two processes

A run that was stopped, at any time and in any way, goes on with the same command, and ends with the same bits as one
that was never stopped: whatever is random is a function of the seed and the number of the step. The result is
`RUN/encoder`; `RUN/log.csv` has held-out loss and accuracy by step.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from transformers import BertConfig, BertForPreTraining

from benchmarks.pretrain.checkpoints import Checkpoints, OtherRun, State
from benchmarks.pretrain.rows import LONG, SHORT, UNRELATED, Rows, TokenisedText, rows_of_pass
from benchmarks.pretrain.sources import LISTED, BadText
from benchmarks.pretrain.text import POSITIONS, prepare

SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4)}  # layers, width, heads (Turc et al. 2019)
SPECIAL = 5  # tokens that are neither masked nor put in the place of another
MASK = 4
MASKED = 0.15  # of the tokens of a row
HELD_OUT_TOKENS, LOOK_BATCH = 200_000, 1024  # on which loss and accuracy are measured, and so many at a time
ELSEWHERE = ("text", "sources", "out", "stop_after", "save_every")  # options that change no number
SAY_EVERY = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Batch:
    """R rows of T tokens with M masked ones each. ids, segments: (R, T); places, words: (R, M); follows: (R,)."""

    ids: Tensor
    segments: Tensor
    places: Tensor
    words: Tensor
    follows: Tensor


def schedule(text: TokenisedText, seed: int, tokens: int, steps: int, done: int) -> Iterator[Rows]:
    """Batches of a run from step `done` on: the last three tenths have long rows too.

    A BERT so small learns nothing from context for thousands of steps where rows are longer (TRIALS.md); BERT itself
    took the longest ones for its last tenth.
    """
    long = steps * 7 // 10
    yield from islice(batches(text, SHORT, seed, tokens, done), max(0, long - done))
    yield from batches(text, LONG, seed, tokens, max(0, done - long))


def batches(
    text: TokenisedText, lengths: Mapping[int, float], seed: int, tokens: int, start: int = 0
) -> Iterator[Rows]:
    """Endless batches of `tokens` tokens, from batch number `start` on; batches of a pass in random order.

    Raises: BadText where there is not one row.
    """
    number, passed = 0, 0
    while True:
        groups = []
        for rows in rows_of_pass(text, lengths, seed, number):
            at_once = min(tokens // rows.ids.shape[1], len(rows))
            order = np.random.default_rng([seed, number, 1]).permutation(len(rows))
            for first in range(0, len(order) - at_once + 1, at_once):
                groups.append((rows, order[first : first + at_once]))
        if not groups:
            raise BadText(f"{len(text.ids)} tokens of text do not fill one row; give more text")
        for which in np.random.default_rng([seed, number, 2]).permutation(len(groups)):
            if passed >= start:
                rows, chosen = groups[which]
                yield Rows(rows.ids[chosen], rows.first[chosen], rows.follows[chosen])
            passed += 1
        number += 1


def masked(rows: Rows, pieces: int, rng: np.random.Generator) -> Batch:
    """Hide 15 % of the tokens of each row: 80 % as [MASK], 10 % as a random token, 10 % as they are."""
    ids = rows.ids.astype(np.int64)
    count = round(MASKED * ids.shape[1])
    draw = np.where(ids < SPECIAL, 2.0, rng.random(ids.shape))
    places = np.sort(np.argpartition(draw, count, axis=1)[:, :count], axis=1)
    words = np.take_along_axis(ids, places, axis=1)
    action = rng.random(places.shape)
    shown = np.where(action < 0.8, MASK, np.where(action < 0.9, rng.integers(SPECIAL, pieces, places.shape), words))
    np.put_along_axis(ids, places, shown, axis=1)
    segments = (np.arange(ids.shape[1]) >= rows.first[:, None]).astype(np.int64)
    return Batch(*map(torch.from_numpy, (ids, segments, places, words, rows.follows)))


class Losses(torch.nn.Module):
    """Both losses of a batch, so that several processes can share the gradients of one call."""

    def __init__(self, model: BertForPreTraining) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sum of both losses, the masked-word loss, scores (R * M, V) of the masked words and (R, 2) of the pairs."""
        found = self.model.bert(input_ids=batch.ids, token_type_ids=batch.segments, return_dict=True)
        states = found.last_hidden_state
        states = torch.gather(states, 1, batch.places.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        scores = self.model.cls.predictions(states.flatten(0, 1)).float()
        words = F.cross_entropy(scores, batch.words.flatten())
        pair = self.model.cls.seq_relationship(found.pooler_output).float()
        known = batch.follows != UNRELATED
        follows = F.cross_entropy(pair, batch.follows, ignore_index=UNRELATED, reduction="sum") / known.sum().clamp(1)
        return words + follows, words, scores, pair


def rate(step: int, steps: int, highest: float) -> float:
    """Learning rate of a step: a ramp over a twentieth of all, then linearly to zero."""
    warmup = max(1, steps // 20)
    return highest * min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


@torch.no_grad()
def held_out(losses: Losses, text: TokenisedText, options: argparse.Namespace) -> tuple[float, float, float]:
    """Masked-word loss, accuracy of masked words, and of next sentence, without dropout, on the same rows each time."""
    losses.eval()
    loss = right = words = same = pairs = 0.0
    rng, source = np.random.default_rng([options.seed, 3]), batches(text, LONG, options.seed, LOOK_BATCH)
    for _ in range(max(1, min(len(text.ids), HELD_OUT_TOKENS) // LOOK_BATCH)):
        batch = masked(next(source), losses.model.config.vocab_size, rng)
        with precision(options):
            _, mean, scores, pair = losses(batch)
        loss, words = loss + float(mean) * batch.words.numel(), words + batch.words.numel()
        right += float((scores.argmax(-1) == batch.words.flatten()).sum())
        known = batch.follows != UNRELATED
        same += float((pair.argmax(-1) == batch.follows)[known].sum())
        pairs += float(known.sum())
    losses.train()
    return loss / words, right / words, same / max(pairs, 1)


def precision(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """What products are computed in."""
    return torch.autocast("cpu", dtype=torch.bfloat16) if options.precision == "bf16" else nullcontext()


def optimizer_of(model: torch.nn.Module, highest: float) -> torch.optim.Optimizer:
    """AdamW; biases and norms do not decay."""
    decayed = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=highest, betas=(0.9, 0.98), fused=True)


def new_model(options: argparse.Namespace, pieces: int) -> BertForPreTraining:
    """A BERT with both heads and weights drawn from the seed."""
    layers, width, heads = SIZES[options.size]
    torch.manual_seed(options.seed)
    model = BertForPreTraining(
        BertConfig(
            vocab_size=pieces,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            max_position_embeddings=POSITIONS,
            hidden_dropout_prob=options.dropout,
            attention_probs_dropout_prob=options.dropout,
            pad_token_id=0,
            initializer_range=0.05,  # narrower layers need larger weights than BERT's 0.02 for sums of the same size
        )
    )
    model.set_attn_implementation("eager")  # for short rows a fifth less time a step than fused attention, on a CPU
    return model


def train(options: argparse.Namespace, rank: int, world: int) -> None:
    """The whole run, or what is left of it."""
    if rank == 0:
        prepare(options.text, options.out, options.pieces, options.sources)
    if world > 1:
        dist.barrier()
    tokenizer, text, unseen = prepare(options.text, options.out, options.pieces, options.sources)
    steps = int(options.passes * len(text.ids)) // options.tokens
    model = new_model(options, len(tokenizer)).train()
    losses, optimizer = Losses(model), optimizer_of(model, options.rate)
    identity = {name: value for name, value in vars(options).items() if name not in ELSEWHERE}
    identity |= json.loads((options.out / "text.json").read_text("utf-8"))["made_of"]
    checkpoints = Checkpoints(options.out, identity | {"processes": world, "threads": torch.get_num_threads()})
    state = checkpoints.read(model, optimizer) or State()
    done, log = state.step, state.log
    shared: Any = torch.nn.parallel.DistributedDataParallel(losses) if world > 1 else losses
    source = schedule(text, options.seed, options.tokens, steps, done)
    began = saved = said = time.monotonic()
    computing = time.process_time()
    last = min(steps, options.stop_after or steps)
    for step in range(done, last):
        rows = next(source)
        own = slice(rank * len(rows) // world, (rank + 1) * len(rows) // world)
        rows = Rows(rows.ids[own], rows.first[own], rows.follows[own])
        batch = masked(rows, len(tokenizer), np.random.default_rng([options.seed, step, rank, 4]))
        torch.manual_seed((options.seed * 1_000_003 + step) * 64 + rank)  # dropout
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, options.rate)
        with precision(options):
            loss, words, *_ = shared(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        now = time.monotonic()
        if rank:
            continue
        if (step + 1) % options.look_every == 0 or step + 1 == steps:
            log.append([step + 1, (step + 1) * options.tokens, *held_out(losses, unseen, options)])
            write_log(options.out / "log.csv", log)
            print(
                "step {:.0f}, {:.3g} tokens: held-out loss {:.4f}, masked words {:.4f}, next sentence {:.4f}".format(
                    *log[-1]
                )
            )
        if now - saved >= options.save_every or step + 1 == last:
            hours = (state.hours[0] + (now - began) / 3600, state.hours[1] + (time.process_time() - computing) / 3600)
            checkpoints.write(State(step + 1, log, hours), model, optimizer)
            saved = time.monotonic()
        if now - said > SAY_EVERY:
            say_progress(step + 1, steps, float(words.detach()), (step + 1 - done) / (now - began), options.tokens)
            said = now
    if rank == 0 and last == steps:
        model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1  # BERT's, for training on
        model.save_pretrained(options.out / "encoder")
        tokenizer.save_pretrained(options.out / "encoder")


def say_progress(step: int, steps: int, loss: float, speed: float, tokens: int) -> None:
    """How far a run is; speed in steps a second, `tokens` of a step."""
    left = (steps - step) / speed / 60
    print(
        f"step {step} of {steps}, loss {loss:.3f}, {speed * tokens:,.0f} tokens a second, {left:.0f} min left",
        flush=True,
    )


def write_log(path: Path, log: list[list[float]]) -> None:
    """Held-out figures by step."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "tokens", "loss", "masked_accuracy", "next_sentence_accuracy"])
        writer.writerows(log)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True, help="folder of the files that sources.yaml names")
    parser.add_argument("--sources", type=Path, default=LISTED, help="which files there are, as sources.yaml says it")
    parser.add_argument("--out", type=Path, required=True, help="folder of this run")
    parser.add_argument("--size", choices=sorted(SIZES), required=True)
    parser.add_argument("--passes", type=float, default=2.0, help="over the text")
    parser.add_argument("--tokens", type=int, default=4096, help="of a batch, over all processes")
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--pieces", type=int, default=8192, help="size of the vocabulary, at most 65,536")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--look-every", type=int, default=500, help="steps between two measurements on held-out text")
    parser.add_argument("--save-every", type=float, default=120.0, help="seconds between checkpoints")
    parser.add_argument("--stop-after", type=int, default=0, help="steps, to be continued later")
    return parser.parse_args()


def main() -> None:
    """Train alone, or as one of the processes that torchrun started."""
    options, world = arguments(), int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        dist.init_process_group("gloo")
    try:
        train(options, dist.get_rank() if world > 1 else 0, world)
    except (BadText, OtherRun) as error:
        print(f"pretrain: {error}", file=sys.stderr)
        sys.exit(2)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
