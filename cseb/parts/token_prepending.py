"""Token prepending: an extra token in front of a sentence receives the last token's state in further layers."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import BOTH_SIDES, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Size
from cseb.parts.tuning import NoConversion, layers_of

MARK = "<PST>"
TEMPLATE = f'This sentence : {MARK} "[X]" means in one word:"'


def prepended(states: Tensor, places: Tensor, last: Tensor) -> Tensor:
    """Replace each row of states (B, T, D) at `places` (B,) by its own state at `last` (B,). Source: Fu et al. 2025."""
    rows = torch.arange(len(states), device=states.device)
    replaced = states.clone()
    replaced[rows, places] = states[rows, last]
    return replaced


class PrependingHooks:
    """Hooks on a backbone. marked: (B, T), the extra token's positions; last: (B,) the last real tokens."""

    def __init__(self, mark: int) -> None:
        self.mark = mark
        self.marked: Tensor | None = None
        self.last: Tensor | None = None

    def begin(self, backbone: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Store positions of this batch, and replace the extra token's id by one in the vocabulary."""
        ids, mask = kwargs["input_ids"], kwargs["attention_mask"]
        self.marked = ids == self.mark
        self.last = (torch.arange(ids.shape[1], device=ids.device) * mask).argmax(dim=1)
        return args, kwargs | {"input_ids": ids.masked_fill(self.marked, 0)}

    def embed(self, words: Any, args: Any, embeddings: Tensor) -> Tensor:
        """Return embeddings (B, T, D) in which the extra token has the mean of the embedding table."""
        if self.marked is None or embeddings.shape[:-1] != self.marked.shape:
            return embeddings
        return torch.where(self.marked[..., None], words.weight.mean(dim=0).to(embeddings.dtype), embeddings)

    def enter(self, layer: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Overwrite the extra token's state in the input of a layer."""
        assert self.marked is not None
        assert self.last is not None
        places = self.marked.int().argmax(dim=1)  # the prompt's is before any in the text
        if args:
            return (prepended(args[0], places, self.last), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": prepended(kwargs["hidden_states"], places, self.last)}


class TokenPrepending(NoConversion):
    """Overwrite the state of an extra token by the last token's before each of the layers start + 1 to exit.

    So the sentence's own tokens attend, through a token in front of them, to those behind them. The extra token is
    <PST> in the template of `end_prompt`, in front of [X]; its embedding is the mean of the table of words. Nothing is
    trained for it; what else is trained is trained with it. It is needed at test, so such an encoder cannot be saved.
    start, exit: numbers of layers; the authors have 1 and 7 for Llama-2-7B's 32. Source: Fu et al. 2025 (Token
    Prepending); authors' code, which draws the embedding anew at every run, 50 times as long as a word's, reads the
    vector some layers before the last, and changes end marks and quotes as `end_prompt` describes. Raises: BadSpec on
    an encoder that is no decoder, with fewer layers, or with another template.
    """

    adds_weights = False
    stays = True
    works_untrained = True
    changes_layers = True

    # authors' code, Llama-2-7B
    def __init__(self, start: Size = 1, exit: Count = 7, *, shape: Shape) -> None:
        self.start, self.exit, self.layers = start, exit, shape.layers
        if BOTH_SIDES in shape.family.gives:
            raise BadSpec("token_prepending: this encoder reads both sides already; take a decoder, or leave it out")
        if not start < exit <= shape.layers:
            raise BadSpec(
                f"token_prepending: start is {start} and exit {exit}; start below exit is needed, and exit at most "
                f"{shape.layers}, the layers of this encoder"
            )

    def pools(self, pooler: Any) -> None:
        """Raise BadSpec if the pooler's template has no extra token before the sentence."""
        before, _, after = pooler.template.partition("[X]")
        if before.count(MARK) != 1 or MARK in after:
            raise BadSpec(
                f"token_prepending: the pooler's template is {pooler.template!r}; it must contain {MARK} once, before "
                f"[X]: +end_prompt(template={TEMPLATE!r})"
            )

    def attach(self, encoder: Encoder) -> None:
        """Add the extra token to a copy of the tokenizer, and register hooks on the backbone."""
        self.pools(encoder.pooler)
        backbone: Any = encoder.backbone
        layers = layers_of(backbone, self.layers, "token_prepending")
        encoder.tokenizer = copy.deepcopy(encoder.tokenizer)  # the other jobs' own stays as it is
        encoder.tokenizer.add_tokens([MARK], special_tokens=True)
        hooks = PrependingHooks(encoder.tokenizer.convert_tokens_to_ids(MARK))
        backbone.register_forward_pre_hook(hooks.begin, with_kwargs=True)
        words: nn.Module = backbone.get_input_embeddings()
        words.register_forward_hook(hooks.embed)
        for layer in layers[self.start : self.exit]:
            layer.register_forward_pre_hook(hooks.enter, with_kwargs=True)
