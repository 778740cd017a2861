"""How fast are the seven STS tasks? cseb against SentEval's loop, in turn, with one encoder, mean pooling, one process.

    python benchmarks/speed/sts.py --encoder FOLDER --data-dir SENTEVAL [--senteval FOLDER] [--rounds 3]

--senteval names the folder `SentEval` of the SimCSE repository: its own code then runs, with the batcher of that
repository's evaluation.py (batches of 128 sentences in its order, padded to the longest, no deduplication; STS-B and
SICK-R with all their splits). Without it the same loop runs as written down here, batches and pairs included. Reading
files and loading weights count on neither side. CPU seconds are printed beside the clock: on a shared machine they are
the fairer of the two. Both sides' seven scores are printed and must agree. With --every K the network reads each K-th
batch only, on both sides, and its seconds are multiplied by K: for machines on which the whole would take too long.
The scores then mean nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr
from transformers import AutoModel, AutoTokenizer

from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.encoder import linear
from cseb.encoder.encoder import Encoder
from cseb.processor import processor
from cseb.registry import TASK_GROUPS
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.senteval import YEARS

TASKS = TASK_GROUPS["sts"]
NAMES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")
Scores = dict[str, float]


class Sampled:
    """A network that reads every K-th batch, and what that took; the other batches get zeros."""

    def __init__(self, read: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], width: int, every: int) -> None:
        self.read, self.width, self.every = read, width, every
        self.calls = self.tokens = 0
        self.clock = self.cpu = 0.0

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(B, T) to (B, D)."""
        self.calls += 1
        self.tokens += ids.numel()
        if self.calls % self.every:
            return torch.zeros(len(ids), self.width)
        begun, used = time.perf_counter(), time.process_time()
        found = self.read(ids, mask)
        self.clock += time.perf_counter() - begun
        self.cpu += time.process_time() - used
        return found


def batcher_of(folder: str, every: int) -> tuple[Sampled, Callable[[object, list[list[str]]], torch.Tensor]]:
    """The batcher of evaluation.py with pooler avg: tokens of B sentences to (B, D)."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def read(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            states = model(ids, mask, output_hidden_states=True, return_dict=True).last_hidden_state
        return torch.Tensor((states * mask.unsqueeze(-1)).sum(1) / mask.sum(-1).unsqueeze(-1))

    network = Sampled(read, model.config.hidden_size, every)

    def batcher(_: object, batch: list[list[str]]) -> torch.Tensor:
        told = tokenizer([" ".join(tokens) for tokens in batch], return_tensors="pt", padding=True)
        return network(told["input_ids"], told["attention_mask"])

    return network, batcher


def released(senteval: Path, folder: str, data_dir: Path, every: int) -> tuple[Sampled, Callable[[], Scores]]:
    """SentEval's own code, which looks for the files of a task under `downstream`."""
    sys.path.insert(0, str(senteval))
    import senteval as package

    network, batcher = batcher_of(folder, every)
    root = Path(tempfile.mkdtemp())
    (root / "downstream").symlink_to(data_dir.resolve())
    params = {"task_path": str(root), "usepytorch": True, "kfold": 10}

    def run() -> Scores:
        found = {}
        for task, name in zip(TASKS, NAMES, strict=True):
            result = package.engine.SE(params, batcher, None).eval(name)
            in_all = result["all"]["spearman"]["all"] if name.startswith("STS1") else result["test"]["spearman"][0]
            found[task] = 100 * float(in_all)
        return found

    return network, run


def written_out(folder: str, data_dir: Path, every: int) -> tuple[Sampled, Callable[[], Scores]]:
    """The same loop written down: splits one after the other, 128 left and 128 right sentences, one cosine a pair."""
    network, batcher = batcher_of(folder, every)
    held = {task: list(splits(task, data_dir)) for task in TASKS}

    def run() -> Scores:
        found = {}
        for task, parts in held.items():
            cosines: list[float] = []
            counted: list[float] = []
            for rows, counts in parts:
                for at in range(0, len(rows), 128):
                    block = rows[at : at + 128]
                    left, right = (
                        batcher(None, side).numpy() for side in ([r[0] for r in block], [r[1] for r in block])
                    )
                    for u, v, row in zip(left, right, block, strict=True):
                        cosine = np.nan_to_num(np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v)))
                        if counts:
                            cosines.append(float(cosine))
                            counted.append(row[2])
            found[task] = 100 * float(spearmanr(cosines, counted).statistic)
        return found

    return network, run


def splits(task: str, data_dir: Path) -> Iterator[tuple[list[tuple[list[str], list[str], float]], bool]]:
    """Rows of each subset or split of a task as SentEval orders them, and whether they count for the score."""
    if task in ("stsb", "sickr"):
        names = "STS/STSBenchmark/sts-{}.csv", "SICK/SICK_{}.txt"
        parts = ("train", "dev", "test"), ("train", "trial", "test_annotated")
        which = ("stsb", "sickr").index(task)
        files = [names[which].format(part) for part in parts[which]]
        columns, skip = ((5, 6, 4), (1, 2, 3))[which], which  # SICK's files have a heading
        for file in files:
            cells = [line.strip().split("\t") for line in (data_dir / file).open(encoding="utf-8")][skip:]
            a, b, gold = columns
            yield [(row[a].split(), row[b].split(), float(row[gold])) for row in cells], file == files[-1]
        return
    year = task.removeprefix("sts")
    for name in YEARS[year]:
        where = data_dir / f"STS/STS{year}-en-test"
        pairs = (where / f"STS.input.{name}.txt").read_text(encoding="utf-8").splitlines()
        ratings = (where / f"STS.gs.{name}.txt").read_text(encoding="utf-8").splitlines()
        rows: list[tuple[list[str], list[str], float]] = []
        for pair, rating in zip(pairs, ratings, strict=True):
            if rating:
                left, right = pair.split("\t")
                rows.append((left.split(), right.split(), float(rating)))
        yield sorted(rows, key=lambda row: (len(row[0]), len(row[1]), row[2])), True


def ours(folder: str, data_dir: Path, every: int) -> tuple[Sampled, Callable[[], Scores]]:
    """What `cseb eval FOLDER --pooler mean --tasks sts` does once the files are read."""
    embed = find(folder, EncoderOptions(pooler="mean")).open()
    encoder: Encoder = embed.__self__  # type: ignore[attr-defined]  # a folder opens as the method of an encoder
    pool = encoder.pool
    network = Sampled(lambda ids, mask: pool(encoder.backbone, ids, mask, ids), encoder.config.hidden_size, every)
    encoder.pool = lambda backbone, ids, mask, anchor: network(ids, mask)  # type: ignore[method-assign]
    loaded = [(task, load_task(task, data_dir)) for task in parse_tasks(",".join(TASKS))]

    def run() -> Scores:
        outcomes = score_all(loaded, embed)
        return {task.name: outcome.value or 0.0 for (task, _), (outcome, _) in zip(loaded, outcomes, strict=True)}

    return network, run


def main() -> None:
    """Measure in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--senteval", type=Path, help="folder SentEval of princeton-nlp/SimCSE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--linear", default=linear.AUTO, help="library of our linear layers")
    parser.add_argument("--every", type=int, default=1, help="let the network read every K-th batch alone")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    linear.take(linear.resolved(options.linear, options.threads))
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    print(f"{processor()}; {options.threads} threads; cseb's linear layers by {linear.taken()}; {versions}")
    common = (options.encoder, options.data_dir, options.every)
    name = "SentEval's code" if options.senteval else "SentEval's loop, written out"
    reference = released(options.senteval, *common) if options.senteval else written_out(*common)
    sides = {"cseb": ours(*common), name: reference}
    clock: dict[str, list[float]] = {side: [] for side in sides}
    cpu: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(options.rounds):
        for side, (network, run) in sides.items():
            network.tokens, network.clock, network.cpu = 0, 0.0, 0.0
            begun, used = time.perf_counter(), time.process_time()
            scores = run()
            rest = options.every - 1
            clock[side].append(time.perf_counter() - begun + rest * network.clock)
            cpu[side].append(time.process_time() - used + rest * network.cpu)
            share = options.every * network.cpu / cpu[side][-1]
            print(f"{side:30s} {clock[side][-1]:8.1f} s {cpu[side][-1]:8.1f} CPU s", end=", ")
            print(f"{100 * share:.1f} % in the network", end=", ")
            print(f"{network.tokens:,} tokens with padding", flush=True)
            if options.every == 1:
                print(" ".join(f"{scores[task]:.2f}" for task in TASKS), flush=True)
    for what, found in (("clock", clock), ("CPU seconds", cpu)):
        ratio = statistics.median(b / a for a, b in zip(found["cseb"], found[name], strict=True))
        print(f"{name} to cseb, {what}: {ratio:.2f}")
    print(json.dumps({"options": vars(options), "seconds": clock, "cpu_seconds": cpu}, default=str))


if __name__ == "__main__":
    main()
