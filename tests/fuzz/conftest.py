"""The server of the fuzz and the sound files it starts from: both once for each process of the tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.harness import ROOT, Ended, Fuzz, Server, seed
from tests.world import WORLD

GRID = ("--corpus", "wikipedia:200", "--sizes", "16,32", "--seeds", "2", "--tasks", "toy-captions,toy-forum",
        "--steps", "2", "--workers", "1", "--threads", "1", "--device", "cpu", "--quiet")  # fmt: skip
PAIRS = [("a man is eating food", "a man was eating pizza", 4.0), ("the dog is playing", "a woman was eating", 0.5),
         ("a woman is playing guitar", "the woman is playing the guitar", 5.0), ("a dog", "the park",
         1.25)]  # fmt: skip


@pytest.fixture(scope="session")
def fuzz(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Iterator[Fuzz]:
    server = Server(tmp_path_factory.mktemp("fuzz"))
    try:
        data = server.folder / "sound"
        data.mkdir()
        make_sound(server, data, tiny("bert"))
        data.rename(server.folder / "pristine")
        chosen = seed()
        print(f"the seed of the fuzz is {chosen}")  # noqa: T201
        made = Fuzz(server, data, chosen)
        made.restore()
        yield made
    finally:
        server.close()


def make_sound(server: Server, data: Path, encoder: Path) -> None:
    """Records with items, a saved model, an encoder, a model of sentence-transformers, a cache, and files of tasks."""

    def done(*argv: str) -> Ended:
        ended = server.run(data, argv)
        assert ended.code == 0, (argv, ended.errors)
        return ended

    methods = "simcse+recipe(batch_size=8),cls,mean"
    done("run", WORLD, "--methods", methods, *GRID)
    done("run", WORLD, "--methods", "simcse+recipe(batch_size=8)", *GRID[:2], "--sizes", "16", "--seeds", "1",
    *GRID[6:],
         "--save-models", "--results", "saved")  # fmt: skip
    done("eval", "cseb-tiny", "--pooler", "mean", "--tasks", "toy-captions")
    shutil.copytree(encoder, data / "tiny")
    save_modules(data / "tiny", data / "st")
    write_tasks(data)
    done("eval", "tiny", "--pooler", "mean", "--tasks", "pairs.tsv", "--cache", "cache", "--results", "cached")
    done("eval", "tiny", "--pooler", "cls", "--tasks", "pairs.tsv", "--cache", "other-cache", "--results", "other")
    done("eval", "st", "--tasks", "pairs.tsv", "--results", "cached")
    shutil.copytree(ROOT / "benchmarks/expected/demo", data / "demo")
    demo = Path(WORLD).read_text()
    (data / "small.yaml").write_text(demo.replace("wikipedia", "wikipedia:500").replace("[0.01, 0.1]", "[0.2]"))


def save_modules(encoder: Path, folder: Path) -> None:
    """The encoder as sentence-transformers saves it: mean pooling, a linear layer, unit length."""
    from safetensors.numpy import save_file

    shutil.copytree(encoder, folder)
    package = "sentence_transformers.models"
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"{package}.{kind}"}
        for number, (path, kind) in enumerate(kinds)
    ]
    configs = {
        "sentence_bert_config.json": {"max_seq_length": 64, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True},
        "2_Dense/config.json": {"in_features": 16, "out_features": 8, "bias": True,
                                "activation_function": "torch.nn.modules.activation.Tanh"},
    }  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    for name, content in configs.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    (folder / "3_Normalize").mkdir()
    rng = np.random.default_rng(0)
    layer = {"linear.weight": rng.normal(size=(8, 16)), "linear.bias": rng.normal(size=8)}
    save_file({name: one.astype(np.float32) for name, one in layer.items()}, folder / "2_Dense/model.safetensors")


def write_tasks(data: Path) -> None:
    """One small file of each kind of task, a corpus in each format, and word vectors."""
    pairs = [f"{first}\t{second}\t{score}" for first, second, score in PAIRS * 3]
    (data / "pairs.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *pairs]) + "\n")
    sentences = [f"{first} number {number}" for number in range(12) for first, _, _ in PAIRS]
    labels = [f"{sentence},{'yes' if number % 2 else 'no'}" for number, sentence in enumerate(sentences)]
    (data / "labels.csv").write_text("\n".join(["text,label", *labels]) + "\n")
    faq = [{"question": sentence, "answer": f"because of {sentence}"} for sentence in sentences]
    (data / "faq.jsonl").write_text("".join(json.dumps(each) + "\n" for each in faq))
    judged = [f"{q},{d},{int(q == d)}" for q in sentences[:6] for d in sentences[:6]]
    (data / "candidates.csv").write_text("\n".join(["query,document,relevance", *judged]) + "\n")
    (data / "corpus.txt").write_text("".join(f"{sentence}\n" for sentence in sentences))
    (data / "corpus.csv").write_text("text,other\n" + "".join(f"{sentence},1\n" for sentence in sentences))
    (data / "corpus.jsonl").write_text("".join(json.dumps({"text": sentence}) + "\n" for sentence in sentences))
    words = sorted({word for sentence in sentences for word in sentence.split()})
    rng = np.random.default_rng(0)
    vectors = ["".join([word, *(f" {each:.3f}" for each in rng.normal(size=5))]) for word in words]
    (data / "glove.txt").write_text("\n".join(vectors) + "\n")
