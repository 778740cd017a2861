"""Are transfer accuracies those of the reference? SentEval's own code beside ours, on the same vectors.

    python benchmarks/equality/reference.py --senteval FOLDER --data-dir SENTEVAL [--encoder FOLDER] [--tasks trec]

FOLDER is `SentEval` of the SimCSE repository: its files are read, ordered and split by its own code, its classifiers
trained on the CPU. The vectors are those of `--encoder` with mean pooling (encoded once, kept in `--cache`), or
without one the mean of sixteen numbers for each word, drawn from its hash. What both sides say of each task is printed
with the CPU seconds of each, without encoding. Exit code 1 if an accuracy differs by more than 0.005.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import time
import types
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.embedders.vector_cache import stored
from cseb.registry import TASK_GROUPS
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Embed, Vectors

TEST = {"nhid": 0, "optim": "adam", "batch_size": 64, "tenacity": 5, "epoch_size": 4}
FAST = {"nhid": 0, "optim": "rmsprop", "batch_size": 128, "tenacity": 3, "epoch_size": 2}
FIGURES = {"acc": "accuracy", "devacc": "dev", "f1": "f1"}


def hashed_words(sentences: Sequence[str], width: int = 16) -> Vectors:
    """The mean of `width` normal numbers for each word, drawn from its hash; zeros for an empty sentence."""

    def of(word: str) -> Vectors:
        seed = int.from_bytes(sha256(word.encode()).digest()[:4], "little")
        return np.random.RandomState(seed).standard_normal(width).astype(np.float32)

    drawn = {word: of(word) for word in {word for sentence in sentences for word in sentence.split()}}
    nothing = [np.zeros(width, dtype=np.float32)]
    rows = [np.mean([drawn[word] for word in sentence.split()] or nothing, axis=0) for sentence in sentences]
    return np.array(rows, dtype=np.float32)


def reference(folder: Path, data_dir: Path, embed: Embed, task: str) -> dict[str, float]:
    """What SentEval says of a task. It asks for CUDA and for a function that Python has dropped."""
    inspect.getargspec = inspect.getfullargspec  # type: ignore[attr-defined]
    for kind in (torch.Tensor, torch.nn.Module):
        setattr(kind, "cuda", lambda self: self)  # noqa: B010 (to mypy it is another type)
    sys.path.insert(0, str(folder))
    import senteval
    from senteval.tools import classifier

    cuda = {"FloatTensor": torch.FloatTensor, "manual_seed": lambda seed: None, "is_available": lambda: True}
    on_cpu = {"device": lambda name: torch.device("cpu"), "cuda": types.SimpleNamespace(**cuda)}
    classifier.torch = types.SimpleNamespace(**vars(torch) | on_cpu)
    root = Path(tempfile.mkdtemp())
    (root / "downstream").symlink_to(data_dir.resolve())
    fast = task.endswith("-fast")
    params = {
        "task_path": str(root),
        "usepytorch": True,
        "kfold": 5 if fast else 10,
        "classifier": FAST if fast else TEST,
    }
    batcher = lambda _, batch: embed([" ".join(tokens) for tokens in batch])  # noqa: E731
    found: dict[str, Any] = senteval.engine.SE(params, batcher, None).eval(task.removesuffix("-fast").upper())
    return {ours: float(found[theirs]) for theirs, ours in FIGURES.items() if theirs in found}


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--senteval", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--encoder", help="folder of a Hugging Face encoder")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "cseb-equality")
    parser.add_argument("--tasks", default=",".join(TASK_GROUPS["transfer"]))
    options = parser.parse_args()
    torch.set_num_threads(1)
    embed: Embed = hashed_words
    if options.encoder:
        embedder = find(options.encoder, EncoderOptions(pooler="mean"))
        embed = stored(options.cache, embedder.source.sha256, embedder.open())
    differ = 0
    for task in parse_tasks(options.tasks):
        loaded = task.load(options.data_dir)
        embed(loaded.sentences())
        begun = time.process_time()
        ours = {name: value or 0.0 for name, value in loaded.outcome(loaded.items(embed)).detail.items()}
        between = time.process_time()
        theirs = reference(options.senteval, options.data_dir, embed, task.name)
        seconds = between - begun, time.process_time() - between
        apart = max(abs(ours[name] - value) for name, value in theirs.items())
        differ += apart > 0.005
        print(f"{task.name:16s} apart by {apart:.4f}; CPU s cseb {seconds[0]:.1f}, reference {seconds[1]:.1f}")
        for side, values in (("cseb", ours), ("reference", theirs)):
            print(f"    {side:10s} {values}", flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
