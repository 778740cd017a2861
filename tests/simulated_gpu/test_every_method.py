"""Every method trains on the simulated GPU, in every precision, with the first loss that it has on a CPU."""

import weakref
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from cseb.encoder import device_batches, packing
from cseb.methods.grammar import parse_method
from cseb.parts.networks import Queue
from cseb.registry import METHODS
from cseb.training.build import build
from cseb.training.checkpoints import Trained
from cseb.training.loop import Updates, train
from tests.conftest import SENTENCES
from tests.simulated_gpu import device
from tests.training.small_runs import DOCUMENTS, LINES, TRAINED, Tiny, letters, method

SHORT = "recipe(steps=2,warmup=0,batch_size=16,learning_rate=1e-4,eval_every=2,dropout=1e-9"
PRECISIONS = ("fp32", "bf16", "fp16")  # tf32 differs from fp32 in kernels, which this device does not have
FITTED = {"bert-whitening": "+whiten(dimensions=8)", "bert-flow": "+flow(steps=4)"}
OWN_DROPOUT = ("scd", "mocose")  # rates of their own, which the recipe's does not replace
BUDGET = {  # waits of the host in a step; 1 for the others, transformers' check of the attention mask
    **dict.fromkeys(("clsep-unsup", "consert", "ct", "ct-sbert", "distillcse", "esimcse", "mocose"), 2),
    **dict.fromkeys(("pcl", "pcl-released", "pt-bert", "pt-bert-released", "scd", "sg-opt"), 2),
    **dict.fromkeys(("angle", "cosent", "simcse+ami", "whitenedcse"), 3),
    **dict.fromkeys(("micse", "msse", "msse-literal", "msse-released", "retromae", "tsdae"), 4),
    **dict.fromkeys(("dclr", "declutr", "declutr-sentence", "infocse", "informin-cl-mlm", "multicsr"), 5),
    **dict.fromkeys(("diffcse", "l2p-csr"), 6),
    **dict.fromkeys(("isbert", "promptbert"), 8),
}

# Operations that raise an error in deterministic mode, as they have no deterministic kernel for CUDA. Source: PyTorch,
# documentation of torch.use_deterministic_algorithms.
NONDETERMINISTIC = {
    *("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward", "adaptive_max_pool2d_backward"),
    *("avg_pool3d_backward", "fractional_max_pool2d_backward", "fractional_max_pool3d_backward"),
    *("max_pool3d_with_indices_backward", "max_unpool2d", "max_unpool3d", "_embedding_bag_dense_backward"),
    *("grid_sampler_2d_backward", "grid_sampler_3d_backward", "histc", "kthvalue", "nll_loss2d_forward"),
    *("nll_loss2d_backward", "put_", "reflection_pad1d_backward", "reflection_pad2d_backward", "_ctc_loss_backward"),
    *("reflection_pad3d_backward", "replication_pad1d_backward", "replication_pad3d_backward", "scatter_reduce"),
    *("upsample_bicubic2d_backward", "upsample_bilinear2d_backward", "upsample_linear1d_backward", "median"),
    *("upsample_trilinear3d_backward", "bincount", "cumsum", "resize_", "_cummin_helper", "_cummax_helper"),
}


def trained(tiny: Tiny, name: str, recipe: str, where: str = device.NAME) -> Trained:
    built = replace(build(method(name, recipe), tiny("bert"), 0), teacher=letters)
    with nullcontext() if where == device.NAME else _disable_current_modes():
        return train(built, (LINES | DOCUMENTS).get(name, SENTENCES), 0, where, None, lambda progress: None)


@pytest.mark.parametrize(
    ("name", "precision"),
    [*product([*TRAINED, "simcse+ami", "simcse+mix", "simcse+whiten(dimensions=8)"], PRECISIONS), ("simcse", "tf32")],
)
def test_every_method_trains(tiny: Tiny, name: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = [Counter[tuple[str, str]]()]
    update = Updates.step

    def counted(updates: Updates, loss: torch.Tensor) -> None:
        update(updates, loss)
        waits.append(Counter(device.waits))

    monkeypatch.setattr(Updates, "step", counted)
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: precision == "fp32")
    result = trained(tiny, name, f"{SHORT},precision={precision})")
    assert all(tensor.device.type == device.NAME for tensor in result.last.values())
    assert all(torch.isfinite(tensor.cpu()).all() for tensor in result.last.values() if tensor.is_floating_point())
    of_last_step = waits[-1] - waits[-2]
    assert precision != "fp32" or not device.operations & NONDETERMINISTIC
    assert of_last_step.total() <= BUDGET.get(name, 1) + (precision == "fp16"), of_last_step


@pytest.mark.parametrize("name", [name for name, spec in METHODS.items() if not spec.terms])
def test_what_trains_nothing_is_moved_too(tiny: Tiny, name: str) -> None:
    fitted = parse_method(f"{name}{FITTED.get(name, '')}").at(1.0)
    result = train(build(fitted, tiny("bert"), 0), SENTENCES, 0, device.NAME, None, lambda progress: None)
    assert all(tensor.device.type == device.NAME for tensor in result.last.values())


@pytest.mark.parametrize("name", sorted({*TRAINED} - {*OWN_DROPOUT}))
def test_the_first_loss_is_that_of_a_cpu(tiny: Tiny, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_supported", lambda backbone: False)  # a GPU computes padded batches
    first = f"{SHORT},precision=fp32)+recipe(steps=1,eval_every=1,learning_rate=3e-3)"
    here, there = (trained(tiny, name, first, where).curve[0][1] for where in (device.NAME, "cpu"))
    assert here == pytest.approx(there, rel=1e-5)


@pytest.mark.parametrize("name", ["simcse", "simcse+ami", "ct"])
def test_chunks_have_the_loss_of_the_whole_batch(tiny: Tiny, name: str) -> None:
    whole, chunks = (trained(tiny, name, f"{SHORT},chunk={chunk})").curve[0][1] for chunk in (0, 5))
    assert chunks == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize(("name", "options"), [("simcse", "precision=bf16"), ("micse+moco", "precision=fp32,chunk=9")])
def test_layers_that_are_computed_again_give_the_same_weights(tiny: Tiny, name: str, options: str) -> None:
    stored, again = (
        trained(tiny, name, f"{SHORT},{options},activation_checkpointing={on})+recipe(dropout=0.1)").last
        for on in ("false", "true")
    )
    assert all(torch.equal(stored[weight].cpu(), again[weight].cpu()) for weight in stored)


@pytest.mark.parametrize("name", ["simcse+ami", "micse", "simcse", "promptbert", "simcse+ami(valid=positive)"])
def test_a_multiple_of_8_does_not_change_the_loss(tiny: Tiny, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = f"{SHORT},precision=bf16)+recipe(steps=1,eval_every=1)"
    wide = trained(tiny, name, recipe).curve[0][1]
    monkeypatch.setattr(device_batches, "MULTIPLE", 1)
    assert trained(tiny, name, recipe).curve[0][1] == pytest.approx(wide, rel=5e-3)


def test_only_forward_passes_whose_maps_are_read_compute_them(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels: list[tuple[bool, str]] = []
    choose = packing._choose_attention

    def chosen(backbone: Any, maps: bool) -> None:
        choose(backbone, maps)
        kernels.append((maps, backbone.config._attn_implementation))

    monkeypatch.setattr(packing, "_choose_attention", chosen)
    built = build(method("micse+moco", f"{SHORT})"), tiny("bert"), 0)
    train(
        built, SENTENCES, 0, device.NAME, lambda encoder: float(encoder.embed(SENTENCES)[0, 0]), lambda progress: None
    )
    assert {*kernels} == {(True, "eager"), (False, "sdpa")}


def test_when_memory_runs_out_at_test_the_failed_batch_is_freed(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, alive = build(method("simcse", f"{SHORT})"), tiny("bert"), 0).encoder.to(device.NAME), list[object]()
    pool, tried = encoder.pool, list[weakref.ref[torch.Tensor]]()

    def full(*given: Any) -> torch.Tensor:
        pooled = pool(*given)
        tried.append(weakref.ref(pooled))
        if len(tried) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return pooled

    monkeypatch.setattr(encoder, "pool", full)
    monkeypatch.setattr(torch.get_device_module(device.NAME), "empty_cache", lambda: alive.append(tried[0]()))
    assert np.isfinite(encoder.embed(SENTENCES)).all()
    assert alive == [None]


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_precision_of_evaluation_is_that_of_the_recipe(tiny: Tiny, precision: str) -> None:
    half, full = (
        build(method("simcse", f"{SHORT},eval_precision={each})"), tiny("bert"), 0) for each in (precision, "fp32")
    )
    for built in (half, full):
        train(built, SENTENCES, 0, device.NAME, None, lambda progress: None)
    difference = np.abs(half.encoder.embed(SENTENCES) - full.encoder.embed(SENTENCES)).max()
    assert 0 < difference < 0.1


def test_updates_with_overflow_in_fp16_are_skipped_and_noted(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not trained(tiny, "simcse", f"{SHORT},precision=fp16)").notes
    monkeypatch.setattr(torch.amp, "GradScaler", partial(torch.amp.GradScaler, init_scale=2.0**100))
    (note,) = trained(tiny, "simcse", f"{SHORT},precision=fp16)").notes
    assert note == "2 of 2 updates were skipped because fp16 gradients overflowed"


def test_the_momentum_queue_is_encoded_in_the_precision_of_the_run(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    halves: list[bool] = []
    remember = Queue.remember

    def seen(*given: Any, **named: Any) -> None:
        halves.append(torch.is_autocast_enabled(device.NAME))
        remember(*given, **named)

    monkeypatch.setattr(Queue, "remember", seen)
    for precision in ("fp32", "bf16"):
        trained(tiny, "simcse+moco", f"{SHORT},precision={precision})")
    assert halves == [False] * 2 + [True] * 2
