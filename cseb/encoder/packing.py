"""Encoders without arithmetic on padding: the real tokens of a batch end to end, sentences of one length side by side.

In a batch of real sentences padded to the longest, a third of all tokens is padding. Embeddings, linear layers, norms
and activations treat tokens one by one, so they are given the real ones alone, (N, D); attention looks at one block of
sentences of equal length after the other, without a mask. States, maps and gradients are those of the padded batch, up
to rounding and with other draws of dropout; what stands on padding is 0, unless a part reads it: then it is kept.

The walk through the layers is written out for each family, by the names that its checkpoints have too. Other families,
a GPU, where so many small blocks cost more than they save, and hooks, which expect (B, T, D), get the padded batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from cseb.encoder.dropout import dropped

LOWEST = torch.finfo(torch.bfloat16).min  # a score that is as good as none: exp gives 0, and no row is without a sum
OF_THE_LIBRARY = "transformers."  # its own hooks collect layers and maps of the padded batch, and change nothing


@dataclass(frozen=True, slots=True)
class Packed:
    """The N real tokens of B sentences padded to T.

    ids, positions: (N,). spots: (N,) their places in the batch, row by row. rows: (B,) rows of the batch, shortest
    first, as sentences stand here. blocks: (sentences, tokens of each) of each run of equal lengths. hidden: (B, 1, 1,
    T), added to scores where padding is among the tokens. maps: of each layer and block, (sentences, H, tokens,
    tokens), where they are `kept`.
    """

    ids: Tensor
    positions: Tensor
    spots: Tensor
    rows: Tensor
    blocks: Sequence[tuple[int, int]]
    shape: tuple[int, int]
    kept: bool
    hidden: Tensor | None = None
    maps: list[list[Tensor]] = field(default_factory=list)

    @classmethod
    def of(cls, ids: Tensor, mask: Tensor, behind: int | None, padding: bool = False, kept: bool = False) -> Packed:
        """Token ids (B, T), those of mask 0 left out or, as `padding`, attended by none. behind: see `_positions`."""
        if padding:
            every, shape = torch.arange(ids.numel()), (len(ids), ids.shape[1])
            hidden = torch.zeros(mask.shape).masked_fill(mask == 0, LOWEST)[:, None, None]
            positions = _positions(ids, behind).flatten()
            return cls(ids.flatten(), positions, every, torch.arange(len(ids)), [shape], shape, kept, hidden)
        lengths, rows = mask.bool().sum(dim=1).sort(stable=True)
        lengths, rows = lengths[lengths > 0], rows[lengths > 0]
        columns = torch.arange(ids.shape[1], device=ids.device)
        spots = (rows[:, None] * ids.shape[1] + columns)[mask[rows].bool()]
        tokens, sentences = torch.unique_consecutive(lengths, return_counts=True)
        blocks = list(zip(sentences.tolist(), tokens.tolist(), strict=True))
        positions = _positions(ids, behind).flatten()[spots]
        return cls(ids.flatten()[spots], positions, spots, rows, blocks, (len(ids), ids.shape[1]), kept)

    def padded(self, states: Tensor) -> Tensor:
        """(N, D) to (B, T, D)."""
        sentences, tokens = self.shape
        found = states.new_zeros(sentences * tokens, states.shape[1]).index_copy(0, self.spots, states)
        return found.view(sentences, tokens, -1)

    def squares(self) -> tuple[Tensor, ...]:
        """The maps that were kept: (B, H, T, T) for each layer."""
        sentences, tokens = self.shape
        found = []
        for blocks in self.maps:
            wide = torch.cat([F.pad(one, (0, tokens - one.shape[2]) * 2) for one in blocks])
            found.append(wide.new_zeros(sentences, *wide.shape[1:]).index_copy(0, self.rows, wide))
        return tuple(found)

    def attended(
        self, heads: int, query: Tensor, key: Tensor, value: Tensor, rate: float, bias: Tensor | None = None
    ) -> Tensor:
        """Tokens of a sentence attend to one another: (N, D) of each to (N, D).

        rate: of dropout on the maps. bias: (1, H or 1, T, T), added to the scores.
        """
        if self.hidden is not None:
            bias = self.hidden if bias is None else (bias + self.hidden).clamp(min=LOWEST)
        sizes = [sentences * tokens for sentences, tokens in self.blocks]
        mixed, maps = [], []
        pieces = (torch.split(one, sizes) for one in (query, key, value))
        for (sentences, tokens), *parts in zip(self.blocks, *pieces, strict=True):
            q, k, v = (part.view(sentences, tokens, heads, -1).transpose(1, 2) for part in parts)
            near = None if bias is None else bias[..., :tokens, :tokens].to(q.dtype)
            if rate or self.kept:
                scores = (q * q.shape[-1] ** -0.5) @ k.mT
                maps.append(dropped((scores if near is None else scores + near).softmax(dim=-1), rate))
                context = maps[-1] @ v
            else:
                context = F.scaled_dot_product_attention(q, k, v, near)
            mixed.append(context.transpose(1, 2).reshape(sentences * tokens, -1))
        if self.kept:
            self.maps.append(maps)
        return torch.cat(mixed)


def _positions(ids: Tensor, behind: int | None) -> Tensor:
    """Position ids (B, T). behind: the padding id where positions start behind it and pass over it, as in RoBERTa."""
    if behind is None:
        return torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    real = (ids != behind).long()
    return real.cumsum(dim=1) * real + behind


def outputs(
    backbone: Any, ids: Tensor, mask: Tensor, *, padding: bool = False, layers: bool = False, maps: bool = False
) -> Any:
    """What the backbone makes of token ids (B, T), packed if it can be: last_hidden_state (B, T, D) and its like.

    padding: whether states and maps on padding are read. layers, maps: whether those of every layer are.
    """
    if ids.device.type != "cpu" or _hooked(backbone) or not _walkable(backbone):
        return backbone(
            input_ids=ids,
            attention_mask=mask,
            output_hidden_states=layers,
            output_attentions=maps,
            return_dict=True,
        )
    packed = Packed.of(ids, mask, _behind(backbone), padding, maps)
    states = [packed.padded(state) for state in _walked(backbone, packed, layers)]
    pooler = getattr(backbone, "pooler", None)
    return BaseModelOutputWithPooling(
        last_hidden_state=states[-1],
        pooler_output=None if pooler is None else pooler(states[-1]),
        hidden_states=tuple(states) if layers else None,
        attentions=packed.squares() if maps else None,
    )


def _walked(backbone: Any, packed: Packed, layers: bool) -> Sequence[Tensor]:
    """States (N, D) of all layers, embeddings first, or of the last one alone."""
    states = WALKS[backbone.config.model_type](backbone, packed)
    if layers:
        return list(states)
    last = next(states)
    for last in states:  # noqa: B007  # the others need not be held
        pass
    return [last]


def _rate(dropout: nn.Module) -> float:
    return float(dropout.p) if isinstance(dropout, nn.Dropout) and dropout.training else 0.0


def _bert(backbone: Any, packed: Packed) -> Iterator[Tensor]:
    """BERT, RoBERTa, ELECTRA."""
    own = backbone.embeddings
    x = own.word_embeddings(packed.ids) + own.token_type_embeddings.weight[0]
    x = dropped(own.LayerNorm(x + own.position_embeddings(packed.positions)), _rate(own.dropout))
    if hasattr(backbone, "embeddings_project"):  # ELECTRA's embeddings may be narrower than its states
        x = backbone.embeddings_project(x)
    yield x
    for layer in backbone.encoder.layer:
        own, out = layer.attention.self, layer.attention.output
        heads, rate = own.num_attention_heads, _rate(own.dropout)
        mixed = packed.attended(heads, own.query(x), own.key(x), own.value(x), rate)
        x = out.LayerNorm(dropped(out.dense(mixed), _rate(out.dropout), onto=x))
        x = _fed_forward(layer, x)
        yield x


def _mpnet(backbone: Any, packed: Packed) -> Iterator[Tensor]:
    own = backbone.embeddings
    x = own.word_embeddings(packed.ids) + own.position_embeddings(packed.positions)
    x = dropped(own.LayerNorm(x), _rate(own.dropout))
    yield x
    bias = backbone.encoder.compute_position_bias(x.new_empty(1, packed.shape[1], 1))  # (1, H, T, T)
    for layer in backbone.encoder.layer:
        own, around = layer.attention.attn, layer.attention
        heads, rate = own.num_attention_heads, _rate(own.dropout)
        mixed = own.o(packed.attended(heads, own.q(x), own.k(x), own.v(x), rate, bias))
        x = around.LayerNorm(dropped(mixed, _rate(around.dropout), onto=x))
        x = _fed_forward(layer, x)
        yield x


def _fed_forward(layer: Any, x: Tensor) -> Tensor:
    out = layer.output
    return out.LayerNorm(dropped(out.dense(layer.intermediate(x)), _rate(out.dropout), onto=x))  # type: ignore[no-any-return]


def _modernbert(backbone: Any, packed: Packed) -> Iterator[Tensor]:
    config, own = backbone.config, backbone.embeddings
    x = dropped(own.norm(own.tok_embeddings(packed.ids)), _rate(own.drop))
    yield x
    kinds = sorted(set(config.layer_types))
    turns = {kind: backbone.rotary_emb(x[None], packed.positions[None], kind) for kind in kinds}  # (1, N, D / H) twice
    near = {"full_attention": None, "sliding_attention": _near(packed.shape[1], config.sliding_window, x)}
    for number, layer in enumerate(backbone.layers, 1):
        own, mlp = layer.attn, layer.mlp
        query, key, value = own.Wqkv(layer.attn_norm(x)).view(len(x), 3, -1, own.head_dim).unbind(dim=1)
        cos, sin = (turn[0, :, None] for turn in turns[layer.attention_type])
        query, key = (_rotated(one, cos, sin) for one in (query, key))
        rate = own.attention_dropout if own.training else 0.0
        mixed = packed.attended(query.shape[1], query, key, value, rate, near[layer.attention_type])
        x = dropped(own.Wo(mixed), _rate(own.out_drop), onto=x)
        wide, gate = mlp.Wi(layer.mlp_norm(x)).chunk(2, dim=-1)
        x = x + mlp.Wo(dropped(mlp.act(wide) * gate, _rate(mlp.drop)))
        yield backbone.final_norm(x) if number == len(backbone.layers) else x


def _near(tokens: int, reach: int, like: Tensor) -> Tensor | None:
    """(1, 1, T, T) of 0 for tokens at most `reach` apart and LOWEST for others; None if there are none."""
    if tokens <= reach + 1:
        return None
    places = torch.arange(tokens, device=like.device)
    far = (places[:, None] - places).abs() > reach
    return like.new_zeros(tokens, tokens).masked_fill(far, LOWEST)[None, None]


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions of queries or keys: (N, H, D / H) to (N, H, D / H)."""
    left, right = x.float().chunk(2, dim=-1)
    return (x.float() * cos + torch.cat([-right, left], dim=-1) * sin).to(x.dtype)


WALKS: Mapping[str, Callable[[Any, Packed], Iterator[Tensor]]] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _bert),
    "mpnet": _mpnet,
    "modernbert": _modernbert,
}


def _behind(backbone: Any) -> int | None:
    found: int | None = getattr(backbone.embeddings, "padding_idx", None)
    return found


def _hooked(backbone: nn.Module) -> bool:
    """Whether anyone but the library listens to a module, or changes what it is given."""
    return any(
        not (getattr(hook, "__module__", "") or "").startswith(OF_THE_LIBRARY)
        for module in backbone.modules()
        for hooks in (module._forward_hooks, module._forward_pre_hooks)
        for hook in hooks.values()
    )


_seen: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


def _walkable(backbone: Any) -> bool:
    """Whether a walk is known and gives what the backbone's own code gives; looked at once, for libraries change."""
    if backbone not in _seen:
        _seen[backbone] = backbone.config.model_type in WALKS and _agrees(backbone)
    return _seen[backbone]


@torch.no_grad()
def _agrees(backbone: Any) -> bool:
    """Try two sentences of five and three tokens, without dropout."""
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    ids = torch.arange(10).view(2, 5) % backbone.config.vocab_size
    modes = [(module, module.training) for module in backbone.modules()]
    backbone.eval()
    try:
        with torch.autocast("cpu", enabled=False):
            theirs = backbone(input_ids=ids, attention_mask=mask, return_dict=True).last_hidden_state
            packed = Packed.of(ids, mask, _behind(backbone))
            (ours,) = _walked(backbone, packed, layers=False)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):  # the library has changed
        return False
    finally:
        for module, mode in modes:
            module.training = mode
    tolerance = torch.finfo(ours.dtype).eps ** 0.5  # of states around 1, after some hundred roundings
    return torch.allclose(ours, theirs.flatten(0, 1)[packed.spots], rtol=0, atol=tolerance)
