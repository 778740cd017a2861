"""Pre-train a small BERT or a small decoder on text of open licences.

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from benchmarks.pretrain.checkpoints import Checkpoints, OtherRun, State
from benchmarks.pretrain.masked_words import Bert
from benchmarks.pretrain.next_words import Decoder
from benchmarks.pretrain.objective import Objective, precision
from benchmarks.pretrain.sources import LISTED, BadText
from benchmarks.pretrain.text import prepare

SIZES: Mapping[str, Objective] = {  # layers, width, heads
    "tiny": Bert(2, 128, 2),
    "mini": Bert(4, 256, 4),
    "tiny-decoder": Decoder(2, 128, 2),
}
ELSEWHERE = ("text", "sources", "out", "stop_after", "save_every")  # options that change no number
SAY_EVERY = 30.0  # seconds


def rate(step: int, steps: int, highest: float) -> float:
    """Learning rate of a step: a ramp over a twentieth of all, then linearly to zero."""
    warmup = max(1, steps // 20)
    return highest * min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


def optimizer_of(model: torch.nn.Module, highest: float) -> torch.optim.Optimizer:
    """AdamW; biases and norms do not decay."""
    decayed = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=highest, betas=(0.9, 0.98), fused=True)


def train(options: argparse.Namespace, rank: int, world: int) -> None:
    """The whole run, or what is left of it."""
    if rank == 0:
        prepare(options.text, options.out, options.pieces, options.sources)
    if world > 1:
        dist.barrier()
    tokenizer, text, unseen = prepare(options.text, options.out, options.pieces, options.sources)
    objective = SIZES[options.size]
    steps = int(options.passes * len(text.ids)) // options.tokens
    model = objective.model(options, len(tokenizer)).train()
    losses, optimizer = objective.losses(model), optimizer_of(model, options.rate)
    identity = {name: value for name, value in vars(options).items() if name not in ELSEWHERE}
    identity |= json.loads((options.out / "text.json").read_text("utf-8"))["made_of"]
    checkpoints = Checkpoints(options.out, identity | {"processes": world, "threads": torch.get_num_threads()})
    state = checkpoints.read(model, optimizer) or State()
    done, log = state.step, state.log
    shared: Any = torch.nn.parallel.DistributedDataParallel(losses) if world > 1 else losses
    source = objective.rows(text, options, steps, done)
    began = saved = said = time.monotonic()
    computing = time.process_time()
    last = min(steps, options.stop_after or steps)
    for step in range(done, last):
        rows = next(source)
        own = rows[rank * len(rows) // world : (rank + 1) * len(rows) // world]
        batch = objective.batch(own, len(tokenizer), np.random.default_rng([options.seed, step, rank, 4]))
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
            log.append(
                [step + 1, (step + 1) * options.tokens, *objective.held_out(losses, unseen, options, len(tokenizer))]
            )
            say_held_out(options.out / "log.csv", objective.card.columns, log)
        if now - saved >= options.save_every or step + 1 == last:
            hours = (state.hours[0] + (now - began) / 3600, state.hours[1] + (time.process_time() - computing) / 3600)
            checkpoints.write(State(step + 1, log, hours), model, optimizer)
            saved = time.monotonic()
        if now - said > SAY_EVERY:
            say_progress(step + 1, steps, float(words.detach()), (step + 1 - done) / (now - began), options.tokens)
            said = now
    if rank == 0 and last == steps:
        objective.finished(model)
        model.save_pretrained(options.out / "encoder")
        objective.tokenizer(tokenizer).save_pretrained(options.out / "encoder")


def say_progress(step: int, steps: int, loss: float, speed: float, tokens: int) -> None:
    """How far a run is; speed in steps a second, `tokens` of a step."""
    left = (steps - step) / speed / 60
    print(
        f"step {step} of {steps}, loss {loss:.3f}, {speed * tokens:,.0f} tokens a second, {left:.0f} min left",
        flush=True,
    )


def say_held_out(path: Path, columns: Sequence[str], log: list[list[float]]) -> None:
    """Write held-out figures by step, and print the last of them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "tokens", *columns])
        writer.writerows(log)
    step, tokens, *found = log[-1]
    shown = ", ".join(f"{name} {value:.4f}" for name, value in zip(columns, found, strict=True))
    print(f"step {step:.0f}, {tokens:.3g} tokens: held-out {shown}", flush=True)


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
