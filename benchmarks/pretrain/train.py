"""Pre-train a small BERT or a small decoder on text under open licences.

    python -m benchmarks.pretrain.vectors TEXT
    python -m benchmarks.pretrain.train --text TEXT --out RUN --size tiny --until 1800
    python -m benchmarks.pretrain.train --text TEXT --out RUN-2000 --size tiny --decay-from RUN

The first command trains with a constant learning rate. The second decays the rate from there and writes
`RUN-2000/encoder`. The same command resumes a run that was stopped, and gives the bits of an uninterrupted run.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.pretrain import stage, vectors
from benchmarks.pretrain.checkpoints import Checkpoints, OtherRun, State, facts_of
from benchmarks.pretrain.objective import on_device, precision
from benchmarks.pretrain.sizes import SIZES
from benchmarks.pretrain.sources import BadText, in_one_line
from benchmarks.pretrain.text import load
from cseb.processor import processor

# options that may differ when a run is resumed
NO_IDENTITY = ("text", "out", "until", "decay_from", "restart", "save_every", "device", "workers")
WARMUP = 1000  # steps in which the learning rate rises, at the start and after a restart
DECAYED = 9  # a decay has one step per so many steps before it: a tenth of all tokens
PROGRESS_EVERY = 30.0  # seconds
FACTS = "run.json"  # of a finished run, for its model card


def rate(step: int, state: State, highest: float) -> float:
    """Return the learning rate of a step: a linear rise, then constant, then the decay 1 - sqrt (Hägele et al. 2024).

    state: tells where the rise and the decay begin. highest: the constant rate.
    """
    rise = min(1.0, (step - state.warmed_from + 1) / WARMUP)
    decay = (step - state.decay_from) / decay_steps(state) if state.decay_from else 0.0
    return float(highest * rise * (1 - decay**0.5))


def decay_steps(state: State) -> int:
    """Return the number of steps of a decay."""
    return max(1, state.decay_from // DECAYED)


def optimizer_of(model: torch.nn.Module, highest: float) -> torch.optim.Optimizer:
    """Return AdamW, without weight decay of biases and norms."""
    decayed = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=highest, betas=(0.9, 0.98), fused=True)


def train(options: argparse.Namespace) -> bool:
    """Train from the last checkpoint on; return whether the run reached its end.

    Raises: BadText if the text is not prepared or too short, OtherRun if a checkpoint has other options.
    """
    tokenizer, text, unseen, made = load(options.text)
    objective = SIZES[options.size]
    model = objective.model(options, len(tokenizer)).to(options.device).train()
    losses, optimizer = objective.losses(model), optimizer_of(model, options.rate)
    identity = {name: value for name, value in vars(options).items() if name not in NO_IDENTITY}
    identity |= made["made_of"] | {"threads": torch.get_num_threads()}
    checkpoints = Checkpoints(options.out, identity)
    state = checkpoints.read(model, optimizer) or _first_state(options, identity, model, optimizer)
    options.out.mkdir(parents=True, exist_ok=True)
    objective.tokenizer(tokenizer).save_pretrained(options.out / "tokenizer")
    (options.out / "text.json").write_bytes((options.text / "text.json").read_bytes())
    last = state.decay_from + decay_steps(state) if state.decay_from else int(options.until * 1e6) // options.tokens
    mode = "reduce-overhead" if options.device == "cuda" else "default"  # CUDA graphs: 1.7 times as many steps
    step_losses = torch.compile(losses, dynamic=False, mode=mode) if options.compile else losses
    source, log = objective.batches(text, options, len(tokenizer), state.step), list(state.log)
    stop = _stop_on_signal()
    current, began = state, time.monotonic()
    saved = reported = began
    computing = time.process_time()
    for step in range(state.step, last):
        batch = on_device(next(source), options.device)
        torch.manual_seed(options.seed * 1_000_003 + step)  # dropout
        for group in optimizer.param_groups:
            group["lr"] = rate(step, state, options.rate)
        with precision(options):
            loss, words, *_ = step_losses(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        now = time.monotonic()
        if (step + 1) % options.look_every == 0 or step + 1 == last:
            figures = objective.held_out(losses, unseen, options, len(tokenizer))
            log.append([step + 1, (step + 1) * options.tokens, *figures])
            write_log(options.out / "log.csv", objective.card.columns, log)
        if now - saved >= options.save_every or step + 1 == last or stop:
            hours = (state.hours[0] + (now - began) / 3600, state.hours[1] + (time.process_time() - computing) / 3600)
            current = replace(state, step=step + 1, log=log, hours=hours)
            checkpoints.write(current, model, optimizer)
            saved = now
        if now - reported > PROGRESS_EVERY:
            speed = (step + 1 - state.step) / (now - began)
            print_progress(step + 1, last, float(words.detach()), speed, options.tokens)
            reported = now
        if stop:
            return False
    if state.decay_from:
        objective.finished(model)
        model.cpu().save_pretrained(options.out / "encoder")
        objective.tokenizer(tokenizer).save_pretrained(options.out / "encoder")
        facts = {"identity": identity, "state": facts_of(current), "machine": machine(options.device)}
        (options.out / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")  # last: marks completion
    return True


def machine(device: str) -> str:
    """Return the names of the processor or GPU and of the libraries."""
    computed = torch.cuda.get_device_name() if device == "cuda" else processor()
    return f"{computed}, torch {version('torch')}, transformers {version('transformers')}"


def _first_state(
    options: argparse.Namespace, identity: dict[str, Any], model: Any, optimizer: torch.optim.Optimizer
) -> State:
    if options.decay_from:
        state = Checkpoints(options.decay_from, identity).read(model, optimizer)
        if state is None:
            raise OtherRun(f"{options.decay_from} has no checkpoint. Give the --out of a run with a constant rate.")
        return replace(state, decay_from=state.step)
    if options.restart:
        return stage.read(options.restart, identity, model)
    if options.words == "cooccurrence":
        vectors.begin(model.get_input_embeddings().weight, options.text / vectors.FILE)
    return State()


def _stop_on_signal() -> list[int]:
    """Return a list that becomes non-empty when the process is asked to end."""
    received: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: received.append(number))
    return received


def print_progress(step: int, steps: int, loss: float, speed: float, tokens: int) -> None:
    """Print the progress of a run; speed: steps per second; tokens: per step."""
    left = (steps - step) / speed / 3600
    print(
        f"step {step:,} of {steps:,}, loss {loss:.3f}, {speed * tokens:,.0f} tokens per second, {left:.1f} h left",
        flush=True,
    )


def write_log(path: Path, columns: Sequence[str], log: list[list[float]]) -> None:
    """Write the held-out figures by step, and print the last of them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "tokens", *columns])
        writer.writerows(log)
    step, tokens, *figures = log[-1]
    shown = ", ".join(f"{name} {value:.4f}" for name, value in zip(columns, figures, strict=True))
    print(f"step {step:,.0f}, {tokens / 1e6:,.1f} million tokens: held-out {shown}", flush=True)


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Path, required=True, help="folder that benchmarks.pretrain.text made")
    parser.add_argument("--out", type=Path, required=True, help="folder of this run")
    parser.add_argument("--size", choices=sorted(SIZES), required=True)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--until", type=float, help="million tokens at which a run with a constant rate ends")
    length.add_argument("--decay-from", type=Path, help="--out of a run: continue with a decaying rate to an encoder")
    parser.add_argument("--restart", type=Path, help="restart point to begin with, if --out has no checkpoint")
    parser.add_argument("--tokens", type=int, default=4096, help="per step")
    parser.add_argument("--short-rows", type=float, default=10.0, help="million tokens that are read in short rows")
    parser.add_argument(
        "--words", choices=["random", "cooccurrence"], default="cooccurrence", help="first word embeddings"
    )
    parser.add_argument("--rate", type=float, default=1e-3, help="constant learning rate")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--compile", action="store_true", help="use torch.compile: faster steps, other last bits")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw batches ahead, for a GPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--look-every", type=int, default=500, help="steps between measurements on held-out text")
    parser.add_argument("--save-every", type=float, default=120.0, help="seconds between checkpoints")
    return parser.parse_args()


def main() -> None:
    """Run the command line. Exit code 1: stopped by a signal, with a checkpoint."""
    with in_one_line(BadText, OtherRun):
        complete = train(arguments())
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
