"""What one of several processes does in encoder/test_distributed.py: gradients of one batch, then a short training."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs

from cseb.encoder.distributed import distributed_context
from cseb.encoder.random_streams import TermGenerators
from cseb.methods.grammar import parse_method
from cseb.parts import NeedsPrecomputedTargets
from cseb.training.batches import Feed
from cseb.training.build import Built, build
from cseb.training.loop import train
from cseb.training.objective import Objective

SENTENCES = [f"the {each} dog {two} a ball in the {three}" for each in ("old", "red", "big", "sad")
             for two in ("chased", "saw", "had") for three in ("park", "house", "sun")]  # fmt: skip


def letters(texts: Sequence[str]) -> np.ndarray:
    """A teacher from outside: sums of random vectors of letters, (N, 16)."""
    table = np.random.default_rng(0).standard_normal((128, 16)).astype(np.float32) / 8
    return np.stack([table[[ord(each) for each in text]].sum(axis=0) for text in texts])


def still(built: Built) -> Built:
    """In float64 and with no dropout in copies of the encoder either, which have rates of their own."""
    for module in Objective(built).double().terms.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    if built.outside is not None:  # its vectors, which are kept in float32, count as float64 too
        kept = built.outside.targets
        built.outside.targets = lambda *asked: [each.double() for each in kept(*asked)]
    return replace(built, first_stage=tuple(partial(still_stage, make) for make in built.first_stage), teacher=letters)


def still_stage(make: Callable[[], Built]) -> Built:
    """The same of a model that is trained first; its vectors, which are kept in float32, count as float64."""
    built = still(make())
    kept = built.encoder.vectors
    built.encoder.vectors = lambda *asked: kept(*asked).astype(np.float64)
    return built


def gradients(built: Built, sentences: list[str]) -> dict[str, torch.Tensor]:
    """The loss and its gradients over one batch in float64, with keys of an earlier batch in the queue."""
    ours = distributed_context()
    accelerator = Accelerator(cpu=True, kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)])
    feed = Feed(built.views, built.encoder, built.recipe, sentences, 0, accelerator.device)
    objective = Objective(built, ours).train().double()
    model = accelerator.prepare(objective)
    generators = TermGenerators(7, accelerator.device)
    torch.manual_seed(11)
    first, second = (batch for _, batch in zip(range(2), feed, strict=False))
    queue = None
    if built.memory is not None:
        built.memory.start(built.encoder, feed.sentences)
        built.memory.copy.double()
        ids, mask, _, anchor = (field[: len(first.rows)] for field in first.fields)
        built.memory.remember(built.encoder, ids, mask, anchor, first.sids, ours)
        queue = built.memory.negatives(second.sids)
    teachers = [[torch.sin(torch.arange(len(sentences) * 16.0)).view(-1, 16).double()] * 2]
    teachers *= len(built.first_stage) + (built.outside is not None)
    for weighted in built.terms:
        if isinstance(weighted.term, NeedsPrecomputedTargets):
            weighted.term.precompute_targets(teachers)
    loss = model(second, queue, generators, [[view[second.rows] for view in views] for views in teachers])
    accelerator.backward(loss)
    results = {name: weight.grad for name, weight in objective.named_parameters() if weight.grad is not None}
    return {"loss": loss.detach(), **results}


def gradients_and_losses(folder: Path, out: Path, texts: list[str]) -> None:
    """One file for every method: loss and gradients, and the losses of a training."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)  # rounding of float32 grows with every step, up to parts in a thousand
    for number, text in enumerate(texts):
        method = parse_method(text).at(1.0)
        paired = method.views.name in ("triples", "pairs", "rated_pairs")
        third = [str(len(text) % 5) for text in SENTENCES] if method.views.name == "rated_pairs" else SENTENCES[2:]
        lines = [f"{a}\t{b}\t{c}" for a, b, c in zip(SENTENCES, SENTENCES[1:], third, strict=False)]
        sentences = lines if paired else SENTENCES
        stored = gradients(still(build(method, folder, 0)), sentences)
        once = still(build(method, folder, 0))
        once = replace(once, recipe=replace(once.recipe, steps=3))
        curve = train(once, sentences, 0, "cpu", None, lambda look: None).curve
        if distributed_context().main:
            torch.save({**stored, "curve": torch.tensor([loss for _, loss, _ in curve])}, out / f"{number}.pt")


def embeddings(folder: Path, out: Path, _: list[str]) -> None:
    """Write the vectors of some thousand sentences and the number that this process encoded."""
    Accelerator(cpu=True)
    encoder = build(parse_method("simcse").at(1.0), folder, 0).encoder
    encoder.distributed = distributed_context()
    rows, some = [], encoder._some
    encoder._some = lambda batch, *given: (rows.append(len(batch.ids)), some(batch, *given))[1]
    vectors = encoder.embed(SENTENCES * 30)
    np.savez(out / f"{encoder.distributed.rank}.npz", vectors=vectors, encoded=sum(rows))
