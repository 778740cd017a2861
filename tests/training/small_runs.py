"""Every method as a tiny encoder trains it in a fraction of a second."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import tests.world  # noqa: F401  # its tasks are on the path before the first look-up of a name
from cseb.encoder.device_batches import tensors
from cseb.encoder.encoder import Encoder
from cseb.methods.grammar import parse_method
from cseb.methods.recipe import Recipe
from cseb.parts import LossInputs
from cseb.registry import METHODS
from cseb.training.build import Built, build
from cseb.training.checkpoints import Trained
from cseb.training.loop import Updates, train
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
SMALL = "recipe(steps=12,warmup=0,batch_size=16,learning_rate=3e-3,eval_every=3)"
LONGER = {
    "promptbert": "+recipe(steps=20,eval_every=5)",  # its loss on so few sentences goes up before it goes down
    "llm2vec": "+recipe(steps=24,eval_every=6,learning_rate=1e-2)",  # of low-rank changes alone, which start at 0
}
FIT = {
    **dict.fromkeys(("promcse", "promcse-sup"), "+prefix(length=4)"),
    "micse": "+ami(layers=(0,1))+queue(size=16)",
    "msse": "+reconstruct(layers=1,inner=16)",
    "compcse": "+compose(first=5)",
    **dict.fromkeys(("rcl", "rcl-literal", "rcl-unsup"), "+entropy_models(phis=(0.01,0.02),steps=5)"),
    "msse-released": "+reconstruct(layers=1,inner=16)",
    "msse-literal": "+reconstruct(layers=1,inner=16)",
    "scd": "+barlow_projector(width=32)",
    "iscse": "+smooth(size=40,neighbours=4)",
    "esimcse": "+queue(size=16)",
    **dict.fromkeys(("pt-bert", "pt-bert-released"), "+queue(size=4)+pseudo_tokens(count=4)"),
    "diffcse": "+rtd(generator=self)+recipe(dropout=0.01)",
    "sg-opt": "+gelu_mlp(width=32)",
    "clsep-unsup": "+paraphraser(inner=32,neck=8)",
    "mocose": "+momentum_nce(size=16,start=4)",
    "whitenedcse": "+group_whiten(groups=4)",
    "isbert": "+cnn_mean(widths=(1,3))",
    "dclr": "+teacher(steps=5)+debiased_nce(threshold=0.99)",
    "vascl": "+virtual_nt_xent(neighbours=4)+relu_mlp(width=8,rate=1.0)",
    "l2p-csr": "+learnt_mask_nce(points=2)",
    "declutr": "+spans(shortest=2,longest=12)",
    "rankencoder": "+teacher(steps=5)+rank_mse(weight=1.0)",
    "distillcse": "+teacher(steps=5)",
    **dict.fromkeys(
        ("gist", "gcse", "multicsr", "distil-l2", "distil-mse", "distil-relational", "skd", "congen", "sct"),
        "+outside_teacher(encoder=any)",
    ),
}
DECODERS_ONLY = ("mntp",)  # trained by tests/encoder/test_decoders.py
TRAINED = [name for name, method in METHODS.items() if method.terms and name not in DECODERS_ONLY]
LINES = {  # what a method trains on, where that is not sentences
    name: [f"{anchor}\t{positive}\t{SENTENCES[-1 - at]}" for at, (anchor, positive) in
           enumerate(zip(SENTENCES, SENTENCES[1:] + SENTENCES[:1], strict=True))]
    for name, method in METHODS.items() if method.views.name in ("triples", "pairs", "generated_triples")
}  # fmt: skip
LINES |= {
    name: [f"{anchor}\t{other}\t{at % 6}" for at, (anchor, other) in enumerate(pairwise(SENTENCES))]
    for name, method in METHODS.items() if method.views.name == "rated_pairs"
}  # fmt: skip
LINES["setfit"] = [f"{sentence}\t{at % 3}" for at, sentence in enumerate(SENTENCES)]


DOCUMENTS = {"declutr": [" and ".join(SENTENCES[at : at + 8]) for at in range(len(SENTENCES) - 8)]}


def letters(texts: Sequence[str]) -> np.ndarray:
    """A teacher from outside: sums of random vectors of letters, (N, 24)."""
    table = np.random.default_rng(0).standard_normal((128, 24)).astype(np.float32) / 8
    return np.stack([table[[ord(value) for value in text]].sum(axis=0) for text in texts])


def method(name: str, recipe: str = ""):
    """A method that fits the tiny encoder; recipe: its own if not SMALL."""
    recipe = recipe or SMALL + LONGER.get(name, "")
    ami, queue = ("+ami(layers=(0,1))" if "+ami" in name else ""), ("+queue(size=16)" if "+moco" in name else "")
    return parse_method(f"{name}{FIT.get(name.split('+', 1)[0], '')}{ami}{queue}+{recipe}").at(1.0)


def built_of(tiny: Tiny, text: str, family: str = "bert", seed: int = 0) -> Built:
    """The method of a text on a tiny encoder."""
    return build(parse_method(text).at(1.0), tiny(family), seed)


def encoder_in(folder: Path, text: str = "mean") -> Encoder:
    """The encoder of a method on the encoder of a folder."""
    return built_of(lambda family: folder, text).encoder


def batch_of(encoder: Encoder, texts: Sequence[str], *width: int) -> tuple[Tensor, ...]:
    """The tensors of a batch of texts, at least so wide."""
    return tensors(encoder.tokenise(texts, 32).batch(np.arange(len(texts)), *width), encoder.device)


def by_library(folder: Path, texts: Sequence[str], **options: object) -> np.ndarray:
    """The vectors that sentence-transformers gives texts with a saved model."""
    library = pytest.importorskip("sentence_transformers")
    with torch.random.fork_rng():
        return library.SentenceTransformer(str(folder), device="cpu", **options).encode(texts)


def run(built: Built, lines: Sequence[str] = SENTENCES, select=None, seed: int = 0) -> Trained:
    """Train on the CPU."""
    return train(built, lines, seed, "cpu", select, lambda progress: None)


def trained(tiny: Tiny, name: str, recipe: str = "", seed: int = 0, select=None) -> Trained:
    built = replace(build(method(name, recipe), tiny("bert"), seed), teacher=letters)
    return run(built, (LINES | DOCUMENTS).get(name, SENTENCES), select, seed)


def first_gradients(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str, options: str, family: str = "bert"
) -> dict[str, Tensor]:
    """The gradient of each weight at the first step, and the loss; options: of the recipe."""
    kept: dict[str, Tensor] = {}

    def step(updates: Updates, loss: Tensor) -> None:
        loss.backward()
        for weight_name, weight in updates.objective.named_parameters():
            if weight.grad is not None:
                kept[weight_name] = weight.grad.clone()
        kept["loss"] = loss.detach()
        updates.optimizer.zero_grad()

    recipe = f"recipe(steps=1,warmup=0,batch_size=16,eval_every=1,learning_rate=3e-3,{options})"
    with monkeypatch.context() as patch:
        patch.setattr(Updates, "step", step)
        corpus = (LINES | DOCUMENTS).get(name, SENTENCES)
        run(replace(build(method(name, recipe), tiny(family), 0), teacher=letters), corpus)
    return kept


@cache
def trained_once(folder: Path, name: str) -> Trained:
    """As `trained`, for tests that only look at what came of it."""
    return trained(lambda family: folder, name)


def grouped(names: Iterable[str]) -> list[Any]:
    """Names for tests that share what was trained: all of a name run in one process."""
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


def slow(names: Iterable[str]) -> list[Any]:
    """Names for tests that `make slow` runs."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


class Recording(torch.nn.Module):
    """A term that keeps every step. value: what it makes of one."""

    needs: frozenset[str] = frozenset()
    views = 2

    def __init__(self, value: Callable[[LossInputs], Tensor] = lambda step: step.views[0].z.sum() * 0) -> None:
        super().__init__()
        self.value, self.steps = value, list[LossInputs]()

    def forward(self, step: LossInputs) -> Tensor:
        self.steps.append(step)
        return self.value(step)


def recipe(**options: object) -> Recipe:
    """SimCSE's, with other options."""
    return Recipe(**{**dict(parse_method("simcse").recipe.options), **options})
