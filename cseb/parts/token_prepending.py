"""Token prepending: an extra token in front of a sentence carries what its last token has seen into further layers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import BOTH_SIDES, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Size
from cseb.parts.tuning import layers_of

MARK = "<PST>"
TEMPLATE = f'This sentence : {MARK} "[X]" means in one word:"'


def prepended(states: Tensor, places: Tensor, last: Tensor) -> Tensor:
    """States (B, T, D) with each row's at `places` (B,) replaced by its own at `last` (B,). Source: Fu et al. 2025."""
    rows = torch.arange(len(states), device=states.device)
    found = states.clone()
    found[rows, places] = states[rows, last]
    return found


class Seen:
    """The batch that a backbone reads. marked: (B, T), where the extra token stands; last: (B,) the last real token."""

    def __init__(self, mark: int) -> None:
        self.mark = mark
        self.marked: Tensor | None = None
        self.last: Tensor | None = None

    def begin(self, backbone: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Look at the ids, and put one that the table of words has in the place of the extra token's."""
        ids, mask = kwargs["input_ids"], kwargs["attention_mask"]
        self.marked = ids == self.mark
        self.last = (torch.arange(ids.shape[1], device=ids.device) * mask).argmax(dim=1)
        return args, kwargs | {"input_ids": ids.masked_fill(self.marked, 0)}

    def embed(self, words: Any, args: Any, found: Tensor) -> Tensor:
        """Embeddings (B, T, D) of the words; the extra token has the mean of the table."""
        if self.marked is None or found.shape[:-1] != self.marked.shape:
            return found
        return torch.where(self.marked[..., None], words.weight.mean(dim=0).to(found.dtype), found)

    def enter(self, layer: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Overwrite the extra token's state in what enters a layer."""
        assert self.marked is not None
        assert self.last is not None
        places = self.marked.int().argmax(dim=1)  # the prompt's stands before any that a text may hold
        if args:
            return (prepended(args[0], places, self.last), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": prepended(kwargs["hidden_states"], places, self.last)}


class TokenPrepending:
    """Before each of the layers start + 1 to exit the state of an extra token is overwritten by the last token's.

    So the sentence's own tokens see, through a token in front of them, what stands behind them. The extra token is
    <PST> in the template of `end_prompt`, in front of [X]; its embedding is the mean of the table of words. Nothing is
    trained for it; what else is trained is trained with it. It is needed at test, so such an encoder cannot be saved.
    start, exit: numbers of layers; the authors have 1 and 7 for Llama-2-7B's 32. Source: Fu et al. 2025 (Token
    Prepending); authors' code, which draws the embedding anew at every run, 50 times as long as a word's, reads the
    vector some layers before the last, and changes end marks and quotes as `end_prompt` describes. Raises: BadSpec on
    an encoder that is no decoder, with fewer layers, or with another template.
    """

    preset: ClassVar = {"start": 1, "exit": 7}  # authors' code, Llama-2-7B
    adds_weights = False
    stays = True
    works_untrained = True

    def __init__(self, start: Size, exit: Count, shape: Shape) -> None:
        self.start, self.exit, self.layers = start, exit, shape.layers
        if BOTH_SIDES in shape.family.gives:
            raise BadSpec("token_prepending: this encoder reads both sides already; take a decoder, or leave it out")
        if not start < exit <= shape.layers:
            raise BadSpec(
                f"token_prepending: start is {start} and exit {exit}; start below exit is needed, and exit at most "
                f"{shape.layers}, the layers of this encoder"
            )

    def pools(self, pooler: Any) -> None:
        """Raises: BadSpec if the pooler's template has no extra token in front of the sentence."""
        before, _, after = pooler.template.partition("[X]")
        if before.count(MARK) != 1 or MARK in after:
            raise BadSpec(
                f"token_prepending: the pooler's template is {pooler.template!r}; it must hold {MARK} once, before "
                f"[X]: +end_prompt(template={TEMPLATE!r})"
            )

    def attach(self, encoder: Encoder) -> None:
        """Teach a copy of the tokenizer the extra token, and follow every pass of the backbone."""
        self.pools(encoder.pooler)
        backbone: Any = encoder.backbone
        if (layers := layers_of(backbone, self.layers)) is None:
            raise BadSpec("token_prepending: the layers of this encoder cannot be told apart; take another encoder")
        encoder.tokenizer = copy.deepcopy(encoder.tokenizer)  # the other jobs' own stays as it is
        encoder.tokenizer.add_tokens([MARK], special_tokens=True)
        seen = Seen(encoder.tokenizer.convert_tokens_to_ids(MARK))
        backbone.register_forward_pre_hook(seen.begin, with_kwargs=True)
        words: nn.Module = backbone.get_input_embeddings()
        words.register_forward_hook(seen.embed)
        for layer in layers[self.start : self.exit]:
            layer.register_forward_pre_hook(seen.enter, with_kwargs=True)

    def plain(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The checkpoint as it is."""
        return dict(state)

    def detach(self, encoder: Encoder) -> None:
        """It stays: the encoder is tested with it."""
