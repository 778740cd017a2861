"""How fast is a training step? cseb, a bare PyTorch loop and sentence-transformers, in turn, on the same sentences.

    python benchmarks/speed/step.py [--encoder FOLDER] [--corpus FILE] [--steps 10] [--batch 64] [--rounds 5]

Prints the processor, the library of cseb's linear layers, versions, and of each the median time of a step with ratios
within rounds; the machine may be busy, ratios in turn are fair. The bare loop does the arithmetic of simcse and nothing
else: float32, tokenised batches padded to the longest, PyTorch's own linear layers and dropout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoTokenizer

from cseb.data.corpus import read_corpus
from cseb.data.subset import draw
from cseb.data.weights import find_encoder
from cseb.encoder import linear
from cseb.methods.grammar import parse_method
from cseb.processor import processor
from cseb.training.build import build
from cseb.training.loop import train

LIBRARIES = ("torch", "transformers", "sentence-transformers")
QUEUE = 512  # sentences at least, so that the queue of micse fits


def cseb_steps(method: str, folder: Path, sentences: list[str], steps: int, batch: int, padding: str) -> float:
    """Seconds of `steps` steps in cseb's own trainer, tokenising and looking at the loss included."""
    recipe = f"recipe(steps={steps},batch_size={batch},eval_every={steps},last_batch=drop,padding={padding},warmup=0)"
    built = build(parse_method(f"{method}+{recipe}").at(1.0), folder, seed=0)
    start = time.perf_counter()
    train(built, sentences, 0, "cpu", None, lambda look: None)
    return time.perf_counter() - start


def bare_steps(folder: Path, sentences: list[str], steps: int, batch: int, padding: str) -> float:
    """Seconds of the same steps written out: two dropout passes, tanh head, InfoNCE, clip, AdamW, linear decay."""
    torch.manual_seed(0)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).train()
    head = torch.nn.Linear(model.config.hidden_size, model.config.hidden_size)
    weights = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=3e-5, weight_decay=0.0, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    start = time.perf_counter()
    pad = "max_length" if padding == "fixed" else "longest"
    order = np.random.default_rng(0).permutation(len(sentences))[: steps * batch].reshape(steps, batch)
    batches = [
        tokenizer([sentences[i] for i in rows], truncation=True, max_length=32, padding=pad, return_tensors="pt")
        for rows in order
    ]
    for told in batches:
        ids, mask = (torch.cat([told[name]] * 2) for name in ("input_ids", "attention_mask"))
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        first, second = torch.tanh(head(h)).chunk(2)
        cosine = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T
        F.cross_entropy(cosine / 0.05, torch.arange(batch)).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
    return time.perf_counter() - start


def peer_steps(folder: Path, sentences: list[str], steps: int, batch: int, bf16: bool) -> float:
    """Seconds of the same number of steps in sentence-transformers: MultipleNegativesRankingLoss on (s, s) pairs."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from sentence_transformers.models import Pooling, Transformer

    transformer = Transformer(str(folder), max_seq_length=32)
    model = SentenceTransformer(
        modules=[transformer, Pooling(transformer.get_embedding_dimension(), "cls")], device="cpu"
    )
    pairs = Dataset.from_dict({"anchor": sentences, "positive": sentences})
    arguments = Arguments(
        output_dir="unused", max_steps=steps, per_device_train_batch_size=batch, use_cpu=True, save_strategy="no",
        report_to=[], disable_tqdm=True, logging_strategy="no", learning_rate=3e-5, dataloader_drop_last=True,
        bf16=bf16,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(model, arguments, pairs, loss=MultipleNegativesRankingLoss(model))
    start = time.perf_counter()
    trainer.train()
    return time.perf_counter() - start


RUNS = (
    *("bare loop", "simcse", "simcse+ami", "micse", "simcse+recipe(precision=bf16)"),
    *("sentence-transformers", "sentence-transformers bf16"),
)


def main() -> None:
    """Measure in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", default="cseb-tiny")
    parser.add_argument("--corpus", default="wikipedia")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--linear", default="auto", choices=["auto", "blas", "onednn"])
    parser.add_argument("--padding", default="longest", choices=["longest", "fixed"])
    parser.add_argument("--runs", default=";".join(RUNS), help="some of them, with semicolons between, in this order")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    linear.take(linear.resolved(options.linear, options.threads))
    folder, _ = find_encoder(options.encoder)
    corpus = read_corpus(options.corpus)
    sentences = corpus.take(draw(len(corpus), max(options.steps * options.batch, QUEUE), 0))
    size: tuple[int, int] = (options.steps, options.batch)
    names = options.runs.split(";")

    def seconds(name: str) -> float:
        """Of one step."""
        if name == "bare loop":
            took = bare_steps(folder, sentences, *size, options.padding)
        elif name.startswith("sentence-transformers"):
            took = peer_steps(folder, sentences, *size, bf16=name.endswith("bf16"))
        else:
            took = cseb_steps(name, folder, sentences, *size, options.padding)
        return took / size[0]

    for name in names:
        seconds(name)  # warm: imports, allocator, files
    print(f"# {processor()}; {options.threads} threads; linear layers of cseb by {linear.taken()}")
    print("# " + ", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    print(f"# {options.encoder}, {corpus.name}, batch {options.batch}, padding {options.padding}, medians of rounds")
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            found[name].append(seconds(name))
    for name, took in found.items():
        compared = "   ".join(
            f"{statistics.median(ratios):.3f} x {other} ({min(ratios):.3f} to {max(ratios):.3f})"
            for other in ("bare loop", "simcse")
            if other in found
            for ratios in [[a / b for a, b in zip(took, found[other], strict=True)]]
        )
        print(f"{name:30s} {statistics.median(took) * 1000:9.1f} ms a step   {compared}")
    print(json.dumps({"options": vars(options), "seconds_per_step": found}))


if __name__ == "__main__":
    main()
