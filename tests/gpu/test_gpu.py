"""What can only be known on a GPU (`make gpu`): precisions, equality with a CPU, equal bits, memory, times."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.encoder import packing, random_streams
from cseb.errors import memory_ran_out
from cseb.methods.grammar import parse_method
from cseb.seeds import INIT, stream_seed
from cseb.training.build import build
from cseb.training.checkpoints import Trained
from cseb.training.devices import set_deterministic
from cseb.training.loop import Updates, train
from tests.conftest import SENTENCES
from tests.gpu.conftest import SIMULATED
from tests.training.small_runs import DOCUMENTS, LINES, TRAINED, Tiny, letters, method

pytestmark = pytest.mark.gpu
MOST_WAITS = 8  # of a step of any method
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
SHORT = "recipe(steps=4,warmup=0,batch_size=16,learning_rate=1e-4,eval_every=4,dropout=1e-9"
ONLY_REAL = pytest.mark.skipif(SIMULATED, reason="kernels are not simulated")


def trained(tiny: Tiny, name: str, recipe: str, device: str) -> Trained:
    built = replace(build(method(name, recipe), tiny("bert"), 0), teacher=letters)
    return train(built, (LINES | DOCUMENTS).get(name, SENTENCES), 0, device, None, lambda progress: None)


def on_cpu(function: Callable[[], Trained]) -> Trained:
    if not SIMULATED:
        return function()
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return function()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [*TRAINED, "simcse+ami", "simcse+mix", "simcse+whiten(dimensions=8)"])
def test_every_method_trains(tiny: Tiny, device: str, name: str, precision: str) -> None:
    weights = trained(tiny, name, f"{SHORT},precision={precision})", device).last.values()
    assert all(torch.isfinite(tensor.cpu()).all() for tensor in weights if tensor.is_floating_point())


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in ("scd", "mocose", "promcse", "promcse-sup")])
def test_the_first_loss_is_that_of_a_cpu(tiny: Tiny, device: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_supported", lambda backbone: False)  # a GPU computes padded batches
    first = f"{SHORT})+recipe(steps=1,eval_every=1,learning_rate=3e-3)"  # a slower first stage leaves near-ties
    expected = on_cpu(lambda: trained(tiny, name, first, "cpu")).curve[0][1]
    if not SIMULATED:  # the simulated GPU draws the random numbers of a CPU
        with monkeypatch.context() as other:
            other.setattr(random_streams, "stream_seed", other_numbers)
            if trained(tiny, name, first, "cpu").curve[0][1] != pytest.approx(expected, rel=1e-4):
                pytest.skip("the first loss depends on random numbers, and a GPU draws others")
    loss = trained(tiny, name, first, device).curve[0][1]
    assert loss == pytest.approx(expected, rel=1e-4)


def other_numbers(seed: int, path: str) -> int:
    """Return another seed for every stream but those of new weights."""
    return stream_seed(seed, path) + (not path.startswith(INIT))


@pytest.mark.parametrize(
    "text", ["cls", "mean", "bert-whitening+whiten(dimensions=8)", "bert-flow+flow(steps=4)", "sif"]
)
def test_untrained_methods_compute_on_the_gpu(tiny: Tiny, device: str, text: str) -> None:
    built = build(parse_method(text).at(1.0), tiny("bert"), 0)
    train(built, SENTENCES, 0, device, None, lambda progress: None)
    assert built.encoder.device.type == device
    assert np.isfinite(built.encoder.embed(SENTENCES)).all()


@pytest.mark.parametrize("name", TRAINED)
def test_deterministic_mode_repeats_the_bits(tiny: Tiny, device: str, name: str) -> None:
    set_deterministic(True, device)
    try:
        first, second = (trained(tiny, name, f"{SHORT})", device).last for _ in range(2))
    finally:
        set_deterministic(False, device)
    assert all(torch.equal(first[key].cpu(), second[key].cpu()) for key in first)


@ONLY_REAL
def test_exhausted_memory_is_recognised(tiny: Tiny, device: str) -> None:
    torch.cuda.set_per_process_memory_fraction(0.02)
    try:
        with pytest.raises(RuntimeError) as caught:
            torch.empty(torch.cuda.mem_get_info()[1], dtype=torch.uint8, device=device)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert memory_ran_out(caught.value)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["simcse", "micse"])
def test_time_of_a_step(bert_base: Path, device: str, name: str, precision: str, table: list[str]) -> None:
    """Write the time of a step and the peak memory of BERT-base at SimCSE's batch, and check that steps are made."""
    steps = 1 if SIMULATED else 30
    recipe = (
        f"recipe(steps={steps},warmup=0,batch_size={4 if SIMULATED else 64},eval_every={steps},precision={precision})"
    )
    built = build(parse_method(f"{name}+{recipe}").at(1.0), bert_base, 0)
    if not SIMULATED:
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = train(built, SENTENCES * 20, 0, device, None, lambda progress: None)
    seconds = (time.perf_counter() - start) / steps
    peak = 0 if SIMULATED else torch.cuda.max_memory_allocated() / 2**20
    table.append(f"| step of {name}, batch 64 | {precision} | {seconds:.4f} | {peak:,.0f} |")
    assert result.best_step == steps


@pytest.mark.parametrize("name", TRAINED)
def test_waits_of_a_step(
    tiny: Tiny, device: str, waits: Callable[[], int], name: str, table: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write how often the host waits for the GPU between two updates, on average over ten."""
    steps = 3 if SIMULATED else 10
    ends: list[int] = []
    update = Updates.step

    def counted(updates: Updates, loss: torch.Tensor) -> None:
        update(updates, loss)
        ends.append(waits())

    monkeypatch.setattr(Updates, "step", counted)
    trained(tiny, name, f"{SHORT})+recipe(steps={steps},eval_every={steps})", device)
    mean = (ends[-1] - ends[-steps]) / (steps - 1)  # a first stage has updates too, before these
    table.append(f"| {mean:.1f} waits in a step of {name} | fp32 | | |")
    assert 0 < mean <= MOST_WAITS


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_speed_of_encoding(bert_base: Path, device: str, precision: str, table: list[str]) -> None:
    """Write the time of 20,000 sentences, and that of sentence-transformers for the same encoder."""
    sentences = SENTENCES * (1 if SIMULATED else 20_000 // len(SENTENCES))
    encoder = build(parse_method("mean").at(1.0), bert_base, 0).encoder.to(device)
    encoder.eval_precision = precision
    start = time.perf_counter()
    vectors = encoder.embed(sentences)
    table.append(f"| encoding {len(sentences):,} sentences | {precision} | {time.perf_counter() - start:.3f} | |")
    assert np.isfinite(vectors).all()
    if SIMULATED:
        return
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(bert_base), device=device).to(torch.bfloat16 if precision == "bf16" else None)
    start = time.perf_counter()
    model.encode(sentences, batch_size=256, show_progress_bar=False)
    seconds = time.perf_counter() - start
    table.append(f"| the same by sentence-transformers, batches of 256 | {precision} | {seconds:.3f} | |")
