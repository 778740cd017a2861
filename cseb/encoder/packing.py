"""Packed batches: the forward pass of an encoder without padding.

In a batch of real sentences a third of all tokens is padding. Embeddings, linear layers, norms and activations act on
single tokens, so they get the real tokens only, (N, D); attention is computed for one block of sentences of equal
length after the other, without a mask. States, maps and gradients are those of the padded batch, up to rounding and
with other dropout masks. States of padding are 0, unless a part reads them: then padding is kept.

The forward pass is written out for each family. Padded batches are used for other families, on a GPU, where many small
blocks are slower, and with hooks, which expect (B, T, D).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from cseb.encoder.packed import LOWEST, Packed, dropped
from cseb.encoder.recomputing import through

Layer = Callable[..., tuple[Tensor, list[Tensor]]]  # of a layer, a packed batch and states: the next states, and maps
LIBRARY = "transformers."  # its hooks collect layers and maps, and change nothing


def outputs(
    backbone: Any, ids: Tensor, mask: Tensor, *, padding: bool = False, layers: bool = False, maps: bool = False
) -> Any:
    """Return the backbone's outputs for token ids (B, T), computed on a packed batch if possible.

    padding: whether states and maps of padding are read. layers, maps: whether those of all layers are.
    """
    if not packs(backbone):
        _choose_attention(backbone, maps)
        return backbone(
            input_ids=ids,
            attention_mask=mask,
            output_hidden_states=layers,
            output_attentions=maps,
            return_dict=True,
            **_without_cache(type(backbone).forward),
        )
    packed = Packed.of(ids, mask, _pad_offset(backbone), padding, maps)
    states = [packed.padded(state) for state in _forward(backbone, packed, layers)]
    pooler = getattr(backbone, "pooler", None)
    return BaseModelOutputWithPooling(
        last_hidden_state=states[-1],
        pooler_output=None if pooler is None else pooler(states[-1]),
        hidden_states=tuple(states) if layers else None,
        attentions=packed.padded_maps() if maps else None,
    )


@cache
def _without_cache(forward: Callable[..., Any]) -> dict[str, bool]:
    """Return the argument with which a decoder with this forward pass keeps no keys and values for a next token.

    They take memory, and their layout changes the last bits of a layer on some processors.
    """
    return {"use_cache": False} if "use_cache" in signature(forward).parameters else {}


def _choose_attention(backbone: Any, maps: bool) -> None:
    """Let a backbone that was loaded for its maps take the fused attention of a GPU while no map is read.

    Only where the library allows it, and not on a CPU, where it would change the last bits and saves nothing.
    """
    wanted, other = ("eager", "sdpa") if maps else ("sdpa", "eager")
    if next(backbone.parameters()).device.type == "cpu" or backbone.config._attn_implementation != other:
        return
    if backbone._supports_sdpa and backbone._can_set_attn_implementation():
        backbone.config._attn_implementation = wanted


def _forward(backbone: Any, packed: Packed, layers: bool) -> Sequence[Tensor]:
    """Return the states (N, D) of all layers, embeddings first, or of the last layer."""
    states = FORWARDS[backbone.config.model_type](backbone, packed)
    if layers:
        return list(states)
    last = next(states)
    for last in states:  # noqa: B007  # earlier states are freed
        pass
    return [last]


def _behind(layers: Iterable[Any], compute: Layer, packed: Packed, x: Tensor) -> Iterator[Tensor]:
    """Yield the states (N, D) behind each layer."""
    for layer in layers:
        x, maps = through(layer, partial(compute, layer, packed), x)
        packed.maps.append(maps)
        yield x


def _rate(dropout: nn.Module) -> float:
    return float(dropout.p) if isinstance(dropout, nn.Dropout) and dropout.training else 0.0


def _bert(backbone: Any, packed: Packed) -> Iterator[Tensor]:
    """Yield the states of BERT, RoBERTa and ELECTRA, embeddings first."""
    own = backbone.embeddings
    x = own.word_embeddings(packed.ids) + own.token_type_embeddings.weight[0]
    x = dropped(own.LayerNorm(x + own.position_embeddings(packed.positions)), _rate(own.dropout))
    if hasattr(backbone, "embeddings_project"):  # ELECTRA's embeddings may be narrower than its states
        x = backbone.embeddings_project(x)
    yield x
    yield from _behind(backbone.encoder.layer, _bert_layer, packed, x)


def _bert_layer(layer: Any, packed: Packed, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    own, out = layer.attention.self, layer.attention.output
    heads, rate = own.num_attention_heads, _rate(own.dropout)
    mixed, maps = packed.attended(heads, own.query(x), own.key(x), own.value(x), rate)
    x = out.LayerNorm(dropped(out.dense(mixed), _rate(out.dropout), onto=x))
    return _fed_forward(layer, x), maps


def _mpnet(backbone: Any, packed: Packed) -> Iterator[Tensor]:
    own = backbone.embeddings
    x = own.word_embeddings(packed.ids) + own.position_embeddings(packed.positions)
    x = dropped(own.LayerNorm(x), _rate(own.dropout))
    yield x
    bias = backbone.encoder.compute_position_bias(x.new_empty(1, packed.shape[1], 1))  # (1, H, T, T)
    yield from _behind(backbone.encoder.layer, partial(_mpnet_layer, bias), packed, x)


def _mpnet_layer(bias: Tensor, layer: Any, packed: Packed, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    own, around = layer.attention.attn, layer.attention
    heads, rate = own.num_attention_heads, _rate(own.dropout)
    mixed, maps = packed.attended(heads, own.q(x), own.k(x), own.v(x), rate, bias)
    x = around.LayerNorm(dropped(own.o(mixed), _rate(around.dropout), onto=x))
    return _fed_forward(layer, x), maps


def _fed_forward(layer: Any, x: Tensor) -> Tensor:
    out = layer.output
    return out.LayerNorm(dropped(out.dense(layer.intermediate(x)), _rate(out.dropout), onto=x))  # type: ignore[no-any-return]


def _modernbert(backbone: Any, packed: Packed) -> Iterator[Tensor]:
    config, own = backbone.config, backbone.embeddings
    x = dropped(own.norm(own.tok_embeddings(packed.ids)), _rate(own.drop))
    yield x
    kinds = sorted(set(config.layer_types))
    turns = {kind: backbone.rotary_emb(x[None], packed.positions[None], kind) for kind in kinds}  # (1, N, D / H) twice
    biases = {"full_attention": None, "sliding_attention": _window(packed.shape[1], config.sliding_window, x)}
    for number, state in enumerate(_behind(backbone.layers, partial(_modernbert_layer, turns, biases), packed, x), 1):
        yield backbone.final_norm(state) if number == len(backbone.layers) else state


def _modernbert_layer(
    turns: Mapping[str, Sequence[Tensor]], biases: Mapping[str, Tensor | None], layer: Any, packed: Packed, x: Tensor
) -> tuple[Tensor, list[Tensor]]:
    own, mlp, kind = layer.attn, layer.mlp, layer.attention_type
    query, key, value = own.Wqkv(layer.attn_norm(x)).view(len(x), 3, -1, own.head_dim).unbind(dim=1)
    cos, sin = (turn[0, :, None] for turn in turns[kind])
    query, key = _rotated(query, cos, sin), _rotated(key, cos, sin)
    rate = own.attention_dropout if own.training else 0.0
    mixed, maps = packed.attended(query.shape[1], query, key, value, rate, biases[kind])
    x = dropped(own.Wo(mixed), _rate(own.out_drop), onto=x)
    wide, gate = mlp.Wi(layer.mlp_norm(x)).chunk(2, dim=-1)
    return x + mlp.Wo(dropped(mlp.act(wide) * gate, _rate(mlp.drop))), maps


def _window(tokens: int, size: int, like: Tensor) -> Tensor | None:
    """Return (1, 1, T, T), 0 for tokens at a distance of at most `size`, LOWEST for others; None if all are near."""
    if tokens <= size + 1:
        return None
    places = torch.arange(tokens, device=like.device)
    far = (places[:, None] - places).abs() > size
    return like.new_zeros(tokens, tokens).masked_fill(far, LOWEST)[None, None]


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply rotary positions to queries or keys (N, H, D / H)."""
    left, right = x.float().chunk(2, dim=-1)
    return (x.float() * cos + torch.cat([-right, left], dim=-1) * sin).to(x.dtype)


FORWARDS: Mapping[str, Callable[[Any, Packed], Iterator[Tensor]]] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _bert),
    "mpnet": _mpnet,
    "modernbert": _modernbert,
}


def _pad_offset(backbone: Any) -> int | None:
    padding_id: int | None = getattr(backbone.embeddings, "padding_idx", None)
    return padding_id


def packs(backbone: Any) -> bool:
    """Return whether batches of this backbone are packed on its current device."""
    on_cpu = next(backbone.parameters()).device.type == "cpu"
    return on_cpu and not _hooked(backbone) and _supported(backbone)


def _hooked(backbone: nn.Module) -> bool:
    """Return whether a module has hooks other than the library's own."""
    return any(
        not (getattr(hook, "__module__", "") or "").startswith(LIBRARY)
        for module in backbone.modules()
        for hooks in (module._forward_hooks, module._forward_pre_hooks)
        for hook in hooks.values()
    )


_checked: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


def _supported(backbone: Any) -> bool:
    """Return whether a packed forward pass exists and agrees with the library's; checked once per backbone."""
    if backbone not in _checked:
        _checked[backbone] = backbone.config.model_type in FORWARDS and _agrees(backbone)
    return _checked[backbone]


@torch.no_grad()
def _agrees(backbone: Any) -> bool:
    """Compare the two passes on sentences of five and three tokens, without dropout."""
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    ids = torch.arange(10).view(2, 5) % backbone.config.vocab_size
    modes = [(module, module.training) for module in backbone.modules()]
    backbone.eval()
    try:
        with torch.autocast("cpu", enabled=False):
            expected = backbone(input_ids=ids, attention_mask=mask, return_dict=True).last_hidden_state
            packed = Packed.of(ids, mask, _pad_offset(backbone))
            (states,) = _forward(backbone, packed, layers=False)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):  # the library has changed
        return False
    finally:
        for module, mode in modes:
            module.training = mode
    tolerance = torch.finfo(states.dtype).eps ** 0.5  # of states around 1, after some hundred roundings
    return torch.allclose(states, expected.flatten(0, 1)[packed.spots], rtol=0, atol=tolerance)
