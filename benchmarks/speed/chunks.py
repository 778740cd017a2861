"""Measure memory and time of chunks and of activation checkpointing against plain steps of the same batch, on a CPU.

    python benchmarks/speed/chunks.py [--encoder cseb-mini] [--batches 64,256] [--tokens 32,128] [--ways plain,chunk]

`--encoder bert-base` has random weights in the shape of BERT-base. Prints a table in Markdown. Each run has a process
of its own. Texts are sentences joined to the number of tokens. Memory is the largest resident set during training, less
that before it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

from cseb.data.corpus import read_corpus
from cseb.data.weights import find_encoder
from cseb.experiment.origin import peak_rss_mb
from cseb.methods.grammar import parse_method
from cseb.processor import processor
from cseb.training.build import build
from cseb.training.loop import train

WAYS = ("plain", "checkpointing", "chunk", "both")


def save_bert_base(folder: Path) -> Path:
    """Write an encoder in the shape of BERT-base, with random weights and the tokenizer of cseb-mini."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(find_encoder("cseb-mini")[0])
    tokenizer.save_pretrained(folder)
    BertModel(BertConfig(vocab_size=len(tokenizer))).save_pretrained(folder)
    return folder


def step(folder: Path, method: str, batch: int, tokens: int, options: str, steps: int) -> tuple[float, float]:
    """Return the CPU seconds of a step, of one thread, and the memory that training adds, in MB."""
    sentences, joined = read_corpus("wikipedia").take(range(8_000)), tokens // 8
    texts = [" ".join(sentences[at : at + joined]) for at in range(2 * batch)]
    recipe = f"steps={steps},batch_size={batch},eval_every={steps},warmup=0,max_length={tokens},{options}"
    built = build(parse_method(f"{method}+recipe({recipe})").at(1.0), folder, seed=0)
    before, start = peak_rss_mb(), time.process_time()
    train(built, texts, 0, "cpu", None, lambda progress: None)
    return (time.process_time() - start) / steps, peak_rss_mb() - before


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="cseb-mini")
    parser.add_argument("--method", default="simcse")
    parser.add_argument("--batches", default="64,256,1024")
    parser.add_argument("--tokens", default="32")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    given = {
        "plain": "chunk=0",
        "checkpointing": "activation_checkpointing=true",
        "chunk": f"chunk={options.chunk}",
        "both": f"chunk={options.chunk},activation_checkpointing=true",
    }
    with tempfile.TemporaryDirectory() as made:
        bert_base = options.encoder == "bert-base"
        folder = save_bert_base(Path(made)) if bert_base else find_encoder(options.encoder)[0]
        print(f"{processor()}, {options.method}, {options.encoder}, one thread, chunks of {options.chunk}\n")
        print("| tokens | batch | way | CPU seconds per step | memory, MB | load |")
        print("| ---: | ---: | --- | ---: | ---: | ---: |")
        columns = (options.tokens, options.batches, options.ways)
        for tokens, batch, way in product(*(column.split(",") for column in columns)):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                work = (folder, options.method, int(batch), int(tokens), given[way], options.steps)
                seconds, memory = pool.submit(step, *work).result()
            load = os.getloadavg()[0]
            print(f"| {tokens} | {int(batch):,} | {way} | {seconds:.1f} | {memory:,.0f} | {load:.1f} |", flush=True)


if __name__ == "__main__":
    main()
