"""Poolers: numbers worked out by hand, options, and the weighted mean of SIF."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.commands.train import train as train_encoder
from cseb.embedders.folders import find, saved_encoder
from cseb.embedders.interface import EncoderOptions
from cseb.encoder.interface import Shape, States
from cseb.errors import BadSpec
from cseb.parts.poolers import CLS, CNNMean, FirstLast, Last2, MaskPrompt, Mean, MeanLast, PaddedMean, masked_mean
from cseb.training.build import build
from tests.conftest import SENTENCES
from tests.training.small_runs import LINES, Tiny, built_of, method, run

LAYERS = [
    torch.tensor([[a, b, [9.0, 9.0]]])
    for a, b in (([1.0, 2.0], [3.0, 4.0]), ([2.0, 0.0], [0.0, 2.0]), ([1.0, 1.0], [5.0, 3.0]), ([4.0, 0.0], [2.0, 6.0]))
]
SHAPE = Shape(width=2, layers=3, heads=1, mask_token=True, pooled=False, dropout=0.1)
STATES = States(LAYERS, torch.tensor([[1, 1, 0]]), torch.tensor([1]))


@pytest.mark.parametrize(
    ("pooler", "expected"),
    [
        (CLS(), [4.0, 0.0]),
        (Mean(), [3.0, 3.0]),
        (Last2(), [3.0, 2.5]),
        (FirstLast(first=1), [2.0, 2.0]),
        (FirstLast(first=0), [2.5, 3.0]),
        (MaskPrompt(template="[X] means [MASK].", shape=SHAPE), [2.0, 6.0]),
        (MeanLast(training=1, test=2, shape=SHAPE).train(), [3.0, 3.0]),
        (MeanLast(training=1, test=2, shape=SHAPE).eval(), [3.0, 2.5]),
    ],
)
def test_pooler_gives_the_number_worked_out_by_hand(pooler: torch.nn.Module, expected: list[float]) -> None:
    assert pooler(STATES).tolist() == [expected]


def test_the_mean_of_no_token_is_0() -> None:
    assert masked_mean(LAYERS[-1], torch.zeros(1, 3)).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("template", ["[X] means", "means [MASK]", "[X] [X] [MASK]", 3])
def test_a_prompt_without_its_two_places_is_refused(template: str) -> None:
    with pytest.raises(BadSpec, match="template"):
        MaskPrompt(template=template, shape=SHAPE)


def test_padded_mean_counts_padding_up_to_its_length() -> None:
    pooler = PaddedMean(training=3, test=2)
    assert pooler(STATES).tolist() == [[5.0, 5.0]]  # (4 + 2 + 9) / 3, (0 + 6 + 9) / 3
    assert pooler.eval()(STATES).tolist() == [[3.0, 3.0]]
    assert pooler.pad_to == 2
    longer = States(LAYERS, torch.tensor([[1, 1, 1]]), torch.tensor([0]))
    assert pooler(longer).tolist() == [[5.0, 5.0]]  # real tokens beyond its length count as well


def test_convolutions_see_their_neighbours_and_no_padding() -> None:
    shape = Shape(width=4, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)
    pooler = CNNMean(widths=(1, 3), shape=shape).double()
    states = torch.randn(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    expected = torch.zeros(2, 4, dtype=torch.float64)
    for row, length in enumerate((3, 5)):
        for t in range(length):
            parts = []
            for convolution, width in zip(pooler.convolutions, (1, 3), strict=True):
                total = convolution.bias.clone()
                for k in range(width):
                    if 0 <= (at := t + k - width // 2) < length:
                        total = total + convolution.weight[:, :, k] @ states[row, at]
                parts.append(total)
            expected[row] += torch.cat(parts) / length
    result = pooler(States((states,), mask, torch.zeros(2)))
    assert torch.allclose(result, expected)
    alone = pooler(States((states[:1, :3],), mask[:1, :3], torch.zeros(1)))
    assert torch.allclose(alone, result[:1])


A = 1e-3


def test_the_method_is_counts_weights_and_the_first_direction_written_out(tiny: Tiny, tmp_path: Path) -> None:
    trained = train_encoder("sif", SENTENCES, encoder=str(tiny("bert")), linear="blas")
    encoder = trained._encoder.eval()
    texts = [*SENTENCES, "zzz guitar", "dog"]  # with tokens that no training sentence has
    read = {text: encoder.tokenizer(text)["input_ids"] for text in texts}
    counts = Counter(token for text in SENTENCES for token in read[text])
    total = sum(counts.values())

    def weighted(text: str) -> np.ndarray:
        with torch.no_grad():
            (states,) = encoder.backbone(torch.tensor([read[text]])).last_hidden_state.double().numpy()
        weights = [A / (A + counts[token] / total) for token in read[text]]
        return np.mean([weight * state for weight, state in zip(weights, states, strict=True)], axis=0)

    _, _, right = np.linalg.svd(np.stack([weighted(text) for text in SENTENCES]), full_matrices=False)
    wanted = np.stack([weighted(text) - weighted(text) @ right[0] * right[0] for text in texts])
    assert np.abs(trained.encode(texts) - wanted).max() < 1e-6 * np.abs(wanted).max() * 10
    assert np.abs(wanted).max() > 0
    again = saved_encoder(trained.save(tmp_path / "model"))
    assert np.array_equal(again.embed(texts), trained.encode(texts))


@pytest.mark.parametrize(
    ("name", "kept"), [("simcse-sup", 3), ("simcse-positives", 2), ("ct", 0), ("dclr", 0), ("vascl", 0)]
)
def test_texts_that_are_trained_on_are_counted_for_every_network(tiny: Tiny, name: str, kept: int) -> None:
    few = "recipe(steps=1,warmup=0,batch_size=4,eval_every=1)"
    built = build(method(f"{name}+sif", few), tiny("bert"), 0)
    lines = LINES[name] if kept else SENTENCES
    run(built, lines)
    texts = [text for line in lines for text in line.split("\t")[: kept or None]]
    counted = built_of(tiny, "sif").encoder
    counted.count(texts)
    wanted = counted.pooler.get_buffer("weights")
    assert wanted.min() < 0.5
    networks = [encoder for encoder in (built.encoder, built.second, built.peer) if encoder is not None]
    assert all(torch.equal(encoder.pooler.get_buffer("weights"), wanted) for encoder in networks)


@pytest.mark.parametrize("pooler", ["sif", "bert-whitening"])
def test_an_encoder_as_it_stands_has_no_counts(tiny: Tiny, pooler: str) -> None:
    with pytest.raises(BadSpec, match=f"pooler {pooler} is fitted on training sentences.*cseb run --methods {pooler}"):
        find(str(tiny("bert")), EncoderOptions(pooler=pooler))
