"""The denoising term: its loss in loops, its decoder beside that of transformers, and every family."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import BertConfig, BertModel

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs
from cseb.parts.terms.decoders import Decoder, next_tokens
from tests.training.small_runs import Tiny, built_of

IDS = torch.tensor([[1, 2, 3, 1], [2, 3, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
LOGITS = torch.tensor(
    [[[0.1, 0.4, -0.3, 0.2], [0.0, 0.5, 0.5, -1.0], [1.0, -0.5, 0.3, 0.2]],
     [[-0.2, 0.1, 0.9, 0.4], [0.3, 0.3, 0.3, 0.3], [0.6, 0.0, -0.6, 0.1]]], dtype=torch.float64,
)  # fmt: skip


def test_the_next_words_are_named_and_padding_is_not() -> None:
    targets, real = next_tokens(IDS, MASK)
    costs = []
    for row in range(2):
        for place in range(3):
            if MASK[row, place + 1]:
                logits = LOGITS[row, place].tolist()
                costs.append(math.log(sum(map(math.exp, logits))) - logits[IDS[row, place + 1]])
    assert costs == pytest.approx([1.817150809328, 2.540156852833, 2.274286714833, 1.370762140152], abs=1e-8)
    loss = F.cross_entropy(LOGITS[real], targets[real]).item()
    assert loss == pytest.approx(sum(costs) / 4)
    assert loss == pytest.approx(2.000589129287, abs=1e-8)


def decoder() -> Decoder:
    torch.manual_seed(0)
    return Decoder(8, 2, 2, 16, 0.1, 12).double().eval()


def copied(ours: Decoder, theirs: BertModel) -> None:
    """Give the decoder every weight of a BERT decoder."""
    embeddings = theirs.embeddings
    places = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
    ours.positions.weight.copy_(places[: len(ours.positions.weight)])
    ours.norm.load_state_dict(embeddings.LayerNorm.state_dict())
    for mine, layer in zip(ours.layers, theirs.encoder.layer, strict=True):
        own, cross = layer.attention, layer.crossattention
        maps = [own.self.query, own.self.key, own.self.value]
        mine.attention.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
        mine.attention.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
        mine.attention.out_proj.load_state_dict(own.output.dense.state_dict())
        value, out = cross.self.value, cross.output.dense
        mine.sentence_map.weight.copy_(out.weight @ value.weight)
        mine.sentence_map.bias.copy_(out.weight @ value.bias + out.bias)
        mine.feed_forward[0].load_state_dict(layer.intermediate.dense.state_dict())
        mine.feed_forward[2].load_state_dict(layer.output.dense.state_dict())
        for norm, module in zip(mine.norms, (own.output, cross.output, layer.output), strict=True):
            norm.load_state_dict(module.LayerNorm.state_dict())


@torch.no_grad()
def test_with_the_same_weights_it_is_the_decoder_of_transformers() -> None:
    """An encoder's BERT as `is_decoder` with cross-attention onto one vector, as the authors' code has it."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=20, max_position_embeddings=12, is_decoder=True, add_cross_attention=True, **sizes)
    config._attn_implementation = "eager"
    theirs = BertModel(config, add_pooling_layer=False).double().eval()
    for weight in theirs.parameters():  # biases and norms start as 0 and 1, which would hide their places
        weight.add_(torch.randn(weight.shape, dtype=torch.float64) / 2)
    ours = decoder()
    copied(ours, theirs)
    ids, z = torch.randint(1, 20, (3, 7)), torch.randn(3, 8, dtype=torch.float64)
    expected = theirs(input_ids=ids, encoder_hidden_states=z[:, None], use_cache=False).last_hidden_state
    result = ours(theirs.embeddings.word_embeddings(ids), z)
    assert (result - expected).abs().max() < 1e-12


def test_dropout_is_where_bert_has_it() -> None:
    """Behind the embeddings, attention, sentence vector and feed-forward network, none behind the activation."""
    layer = decoder().layers[0]
    assert [type(module) for module in layer.feed_forward] == [nn.Linear, nn.GELU, nn.Linear]
    assert layer.dropout.p == layer.attention.dropout == 0.1


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert", "distilbert"])
def test_every_family_decodes_and_only_the_noised_view_teaches(tiny: Tiny, family: str) -> None:
    built = built_of(tiny, "tsdae", family)
    term = built.terms[0].term.eval()
    ids = torch.tensor([[2, 8, 9, 10, 3], [2, 8, 3, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])

    def cost(ids: torch.Tensor, mask: torch.Tensor, z: torch.Tensor, deleted: int = 0) -> torch.Tensor:
        clean, noised = (EncodedView(vectors, vectors, ids, mask, mask) for vectors in (torch.zeros_like(z), z))
        noised = replace(noised, ids=ids.roll(-deleted, dims=1))
        return term(LossInputs([clean, noised], torch.Generator(), language=built.encoder.language))

    z = torch.randn(2, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = cost(ids, mask, z)
    loss.backward()
    assert z.grad.abs().sum() > 0
    assert 0 < loss.item() < 3 * math.log(built.encoder.config.vocab_size)
    assert cost(ids, mask, z, deleted=2).equal(loss)  # the words are those of the clean view
    wider = F.pad(ids, (0, 2)), F.pad(mask, (0, 2))
    assert cost(*wider, z).item() == pytest.approx(loss.item(), rel=1e-5)
