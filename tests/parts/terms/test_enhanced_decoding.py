"""RetroMAE's term: the decoder beside transformers' layers, who sees which words, and that the encoder learns."""

import pytest
import torch
import torch.nn.functional as F
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertCrossAttention, BertIntermediate, BertOutput, BertSelfOutput

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs
from cseb.parts.terms.decoders import EnhancedDecoder, hidden_words
from cseb.parts.terms.masked_language_modelling import corrupt, select
from tests.training.small_runs import Tiny, built_of

CONTENT = torch.tensor([[0, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_position_never_sees_itself_or_padding_and_always_the_special_tokens() -> None:
    for seed in range(20):
        hidden = hidden_words(CONTENT, MASK, 0.5, rng(seed))
        for sentence in range(2):
            for position in range(6):
                for word in range(6):
                    if not MASK[sentence, word] or (position == word and word > 0):
                        assert hidden[sentence, position, word]
                    elif not CONTENT[sentence, word]:
                        assert not hidden[sentence, position, word]


def test_each_position_sees_its_own_half_of_the_words() -> None:
    content = torch.ones(4, 200, dtype=torch.long)
    content[:, 0] = 0
    hidden = hidden_words(content, torch.ones_like(content), 0.3, rng())[:, :, 1:].float()
    assert hidden.mean().item() == pytest.approx(0.3, abs=0.01)
    assert not hidden[0, 1].equal(hidden[0, 2])
    everything = hidden_words(CONTENT, MASK, 1.0, rng())
    assert everything[:, :, 1:3].all()
    assert not everything[:, :, 0].any()


@torch.no_grad()
def test_the_decoder_is_a_bert_layer_with_positions_as_queries() -> None:
    """Attention, output and feed-forward network of transformers' BERT with the same weights."""
    torch.manual_seed(0)
    config = BertConfig(hidden_size=8, num_attention_heads=2, intermediate_size=16, layer_norm_eps=1e-12)
    config._attn_implementation = "eager"
    ours = EnhancedDecoder(8, 2, 16, 0.1, 12).double().eval()
    for weight in ours.parameters():  # biases and norms start as 0 and 1, which would hide their places
        weight.add_(torch.randn(weight.shape, dtype=torch.float64) / 2)
    attention, output = BertCrossAttention(config).double().eval(), BertSelfOutput(config).double().eval()
    inner, outer = BertIntermediate(config).double().eval(), BertOutput(config).double().eval()
    for linear, weight, bias in zip(
        (attention.query, attention.key, attention.value),
        ours.attention.in_proj_weight.chunk(3),
        ours.attention.in_proj_bias.chunk(3),
        strict=True,
    ):
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
    output.dense.load_state_dict(ours.attention.out_proj.state_dict())
    output.LayerNorm.load_state_dict(ours.norms[1].state_dict())
    inner.dense.load_state_dict(ours.feed_forward[0].state_dict())
    outer.dense.load_state_dict(ours.feed_forward[2].state_dict())
    outer.LayerNorm.load_state_dict(ours.norms[2].state_dict())
    words, h = torch.randn(2, 6, 8, dtype=torch.float64), torch.randn(2, 8, dtype=torch.float64)
    hidden = hidden_words(CONTENT, MASK, 0.5, rng())
    positions = ours.positions.weight[:6]
    keys = torch.nn.functional.layer_norm(words + positions, (8,), ours.norms[0].weight, ours.norms[0].bias, 1e-12)
    keys[:, 0] = h
    query = positions + h[:, None]
    mask = torch.zeros(2, 1, 6, 6, dtype=torch.float64).masked_fill(hidden[:, None], -torch.inf)
    attended = output(attention(query, encoder_hidden_states=keys, attention_mask=mask)[0], query)
    expected = outer(inner(attended), attended)
    assert (ours(words, h, hidden) - expected).abs().max() < 1e-12


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert", "distilbert"])
def test_the_loss_is_two_cross_entropies_and_trains_the_encoder(tiny: Tiny, family: str) -> None:
    built = built_of(tiny, "retromae", family)
    term, encoder = built.terms[0].term.eval(), built.encoder
    with torch.no_grad():  # as they start, the words that a position sees hardly count
        for weight in term.decoder.parameters():
            weight.add_(torch.randn(weight.shape, generator=rng(2)))
    ids = torch.tensor([[2, 8, 9, 10, 11, 3], [2, 8, 9, 3, 0, 0]])
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def read(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = torch.randn(2, 6, 16, generator=rng(1)).requires_grad_()
        seen.append((ids, states))
        return states

    zeros = torch.zeros(2, 16)
    step = LossInputs([EncodedView(zeros, zeros, ids, MASK, CONTENT)], rng(), language=encoder.language, read=read)
    loss = term(step)
    loss.backward()
    ((masked, states),) = seen
    assert masked[CONTENT == 0].equal(ids[CONTENT == 0])
    assert states.grad[:, 0].abs().sum() > 0  # the sentence vector
    assert loss.item() > 0
    drawn, words = rng(), CONTENT.bool()  # as the term draws
    selected = select(CONTENT, 0.3, drawn)
    assert 0 < selected.sum() < words.sum()
    corrupt(ids, selected, term.shape.mask_id, term.shape.vocabulary, drawn)
    decoded = term.decoder(term.embedded(ids), states[:, 0], hidden_words(CONTENT, MASK, 0.5, drawn))
    named = [(states[selected], ids[selected]), (decoded[words], ids[words])]
    expected = sum(F.cross_entropy(encoder.language(values), targets) for values, targets in named)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
