"""Activation checkpointing: the layers of a backbone are computed again in the backward pass, to save memory.

Source: Chen et al. 2016, arXiv:1604.06174. Layers are those that transformers marks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from cseb.encoder import linear
from cseb.encoder.random_streams import replayed
from cseb.errors import BadSpec

Result = TypeVar("Result")


def check_layers(backbone: nn.Module) -> None:
    """Raise BadSpec if transformers does not mark the layers of this backbone."""
    if not getattr(backbone, "supports_gradient_checkpointing", False):
        raise BadSpec(
            f"recipe: activation_checkpointing=true is not possible with {type(backbone).__name__}, of which "
            "transformers cannot compute single layers again; take chunk"
        )


def recompute_layers(backbone: Any) -> None:
    """Let the backbone store only the input of each layer in training. Raises: BadSpec."""
    check_layers(backbone)
    repeated = partial(checkpoint, use_reentrant=False, context_fn=partial(_contexts, backbone.config))
    backbone._set_gradient_checkpointing(enable=True, gradient_checkpointing_func=repeated)


def through(layer: Any, compute: Callable[[Tensor], Result], x: Tensor) -> Result:
    """Return `compute(x)`, the output of a layer, of which the activations are stored only if the layer says so."""
    if getattr(layer, "gradient_checkpointing", False) and layer.training:
        return layer._gradient_checkpointing_func(compute, x)  # type: ignore[no-any-return]
    return compute(x)


def _contexts(config: Any) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return the contexts of a layer's forward pass and of its repetition; config: of the backbone.

    The repetition takes the random numbers, the attention kernel and the library of linear layers of the forward pass.
    """
    forward, streams = replayed()
    kernel, library = config._attn_implementation, linear.current()

    @contextmanager
    def again() -> Iterator[None]:
        outer, config._attn_implementation = config._attn_implementation, kernel
        try:
            with streams, library:
                yield
        finally:
            config._attn_implementation = outer

    return forward, again()
