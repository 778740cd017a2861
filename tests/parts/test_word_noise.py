"""Noise on word vectors and the head it came with: what each kind is, where it falls, and what is refused."""

import math

import pytest
import torch

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Shape
from cseb.methods.grammar import parse_method
from cseb.parts.heads import Paraphraser
from cseb.parts.word_noise import NoisedWords, background, centred, gaussian, mix_copies
from cseb.training.build import build, check
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny

WORDS = torch.randn(40, 30, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1


def test_normal_noise_has_the_ratio_that_was_asked_for() -> None:
    torch.manual_seed(0)
    for decibels in (0.0, 10.0):
        noise = gaussian(WORDS, torch.full(WORDS.shape[:2], decibels)) - WORDS
        ratios = [
            sum(value * value for value in noise[i, j].tolist()) / sum(value * value for value in WORDS[i, j].tolist())
            for i in range(40)
            for j in range(30)
        ]
        assert sum(ratios) / len(ratios) == pytest.approx(10 ** (-decibels / 10), rel=0.05)
        assert (gaussian(3 * WORDS, torch.full(WORDS.shape[:2], decibels)) - 3 * WORDS).std() == pytest.approx(
            3 * noise.std().item(), rel=0.1
        )


def test_the_fourier_noise_takes_one_number_off() -> None:
    """fft and its inverse of x less a mean give x less that mean."""
    spectrum = torch.fft.ifft(torch.fft.fft(WORDS - WORDS.mean())).real
    assert torch.allclose(centred(WORDS), spectrum)
    assert centred(WORDS).mean().abs() < 1e-12


def test_background_noise_lies_between_its_ends() -> None:
    torch.manual_seed(0)
    loudest = []
    for _ in range(5):
        noise = background(WORDS) - WORDS
        loudest.append(float(noise.abs().max()))
        low, high = WORDS.amin(dim=-1, keepdim=True), 0.8 * WORDS.amax(dim=-1, keepdim=True)
        ends = torch.stack([torch.zeros_like(low), 0.01 * low, 0.01 * high])
        assert (noise >= ends.amin(dim=0) - 1e-12).all()
        assert (noise <= ends.amax(dim=0) + 1e-12).all()
    assert max(loudest) > 1.5 * min(loudest)  # each pass has its own strength


def test_positions_are_kept_noised_and_spared_by_their_chances() -> None:
    torch.manual_seed(0)
    words = torch.zeros(200, 100, 1)
    copies = [torch.full_like(words, float(number)) for number in (1, 2, 3, 4)]
    spared = torch.zeros(200, 100, dtype=torch.bool)
    spared[:, 0] = True
    result = mix_copies(words, copies, (0.3, 0.2, 0.2, 0.3), 0.6, spared)
    assert not result[:, 0].any()
    shares = [(result[:, 1:] == number).float().mean().item() for number in range(5)]
    assert shares == pytest.approx([0.6, 0.12, 0.08, 0.08, 0.12], abs=0.01)


def test_kinds_of_noise_are_in_the_order_of_their_chances() -> None:
    torch.manual_seed(0)
    spared = torch.zeros(WORDS.shape[:2], dtype=torch.bool)
    normal, less, weak, dropped = (
        NoisedWords(0.0, [float(other == kind) for other in range(4)], (0, 1), 0.3).noised(WORDS, spared)
        for kind in range(4)
    )
    ratios = (normal - WORDS).square().sum(dim=-1) / WORDS.square().sum(dim=-1)
    assert ratios.mean().item() == pytest.approx((1 + 10**-0.1) / 2, rel=0.05)  # 0 or 1 decibel
    assert less.equal(centred(WORDS))
    assert 0 < (weak - WORDS).abs().max() < 0.01 * WORDS.abs().max()
    assert (dropped == 0).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert torch.allclose(dropped[dropped != 0], WORDS[dropped != 0] / 0.7)


def encoded(encoder: Encoder, noised: NoisedWords, anchor: int = 0) -> torch.Tensor:
    ids = torch.tensor([[2, 8, 9, 3], [2, 10, 3, 0]])
    mask, content = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]), torch.tensor([[0, 1, 1, 0], [0, 1, 0, 0]])
    return noised(encoder, ids, mask, content, torch.full((2,), anchor)).layers[0]


@pytest.mark.parametrize("family", ["bert", "modernbert", "mpnet"])
def test_every_word_but_the_pooled_one_is_noised_and_the_encoder_is_left_as_it_was(tiny: Tiny, family: str) -> None:
    method = parse_method("clsep-unsup+cls+paraphraser(inner=8,neck=4)+reconstruct(layers=1,inner=8)").at(1.0)
    encoder = build(method, tiny(family), 0).encoder.train()
    rates = [module.p for module in encoder.modules() if isinstance(module, torch.nn.Dropout)]
    still, loud = NoisedWords(1.0, (1, 0, 0, 0), (0, 0), 0.1), NoisedWords(0.0, (1.0, 0.0, 0.0, 0.0), (0, 0), 0.1)
    plain = encoded(encoder, still)
    assert torch.equal(plain, encoded(encoder, still))  # no dropout right behind the words
    moved = (encoded(encoder, loud) - plain).abs().sum(dim=-1) > 1e-6
    assert moved[:, 1:3].all()
    assert not moved[:, 0].any()
    assert ((encoded(encoder, loud, 1) - plain).abs().sum(dim=-1) > 1e-6)[:, :3].all()  # a word that is pooled
    assert rates == [module.p for module in encoder.modules() if isinstance(module, torch.nn.Dropout)]
    words = encoder.backbone.get_input_embeddings()
    assert not words._forward_hooks


def test_views_differ_without_any_dropout(tiny: Tiny) -> None:
    method = parse_method("simcse+word_noise+recipe(dropout=0)").at(1.0)
    check(method, tiny("bert"))
    built = build(method, tiny("bert"), 0)
    tokens = built.encoder.tokenise(SENTENCES[:1], 8)
    fields = [torch.from_numpy(part) for part in (tokens.flat[None].astype("int64"), tokens.flat[None] * 0 + 1)]
    content, anchor = fields[1], torch.zeros(1, dtype=torch.long)
    views = [noised(built.encoder, *fields, content, anchor).h for noised in built.views.renderings * 2]
    assert any(not torch.equal(views[0], other) for other in views[1:])


def test_the_head_is_five_layers_with_a_bottleneck() -> None:
    shape = Shape(3, 1, 1, mask_token=True, pooled=False, dropout=0.1)
    head = Paraphraser(4, 2, shape=shape)
    h = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    layers = [value for value in head.layers if isinstance(value, torch.nn.Linear)]
    assert [tuple(value.weight.shape) for value in layers] == [(4, 3), (4, 4), (4, 4), (2, 4), (4, 2)]
    for row, result in zip(h.tolist(), head(h).tolist(), strict=True):
        x = row
        for number, layer in enumerate(layers):
            weights = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
            x = [sum(w * value for w, value in zip(line, x, strict=True)) + b for line, b in weights]
            x = [math.tanh(value) for value in x] if number in (0, 1, 3) else x
        assert result == pytest.approx(x, abs=1e-6)
