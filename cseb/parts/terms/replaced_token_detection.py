"""RTD: a discriminator that receives the sentence vector detects replaced tokens (DiffCSE)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Rate
from cseb.parts import ALL, LossInputs, reads
from cseb.parts.mlm_generator import Generator, find_generator
from cseb.parts.terms.masked_language_modelling import corrupt

Fill = Literal["argmax_all", "argmax_masked", "sample"]


def detection(logits: Tensor, replaced: Tensor, counted: Tensor) -> Tensor:
    """Return the cross-entropy of detecting replaced tokens, over counted tokens. (N, T, 2), (N, T), (N, T).

    Source: Chuang et al. 2022 (DiffCSE), replaced token detection; Clark et al. 2020 (ELECTRA).
    """
    return F.cross_entropy(logits[counted], replaced[counted].long())


class RTD(nn.Module):
    """A copy of the backbone, with the sentence vector as its first token, detects replaced tokens.

    rate: share of the sentence's own tokens that a frozen generator has to guess, anew at every step. generator:
    "self", the encoder's own files with their masked-LM head, or a folder or hub name. fill: "argmax_all" puts its best
    guess everywhere, "argmax_masked" at the selected tokens alone, "sample" draws there. on: the vector it is given,
    "z" after the head or "h" before it. count: "all" positions, padding included, or the "real" ones. Source: Chuang et
    al. 2022 (DiffCSE); authors' code. Raises: BadSpec on an encoder without a mask token, or, for "self", without that
    head, and on a generator of another vocabulary; BadData if there is no generator of this name.
    """

    preset: ClassVar = {  # DiffCSE release
        "weight": 0.005,
        "rate": 0.3,
        "generator": "distilbert-base-uncased",
        "fill": "argmax_all",
        "on": "z",
        "count": "all",
    }
    version: ClassVar[int] = 2
    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"generator": "encoder"}
    own: ClassVar[Mapping[str, str]] = {"generator": "self"}
    requires: ClassVar[str] = "generator, second encoder"
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 1

    def __init__(
        self,
        rate: Rate,
        generator: str,
        fill: Fill,
        on: Literal["z", "h"],
        count: Literal["all", "real"],
        shape: Shape,
    ) -> None:
        super().__init__()
        self.rate, self.fill, self.on, self.count = rate, fill, on, count
        self.reads = reads(on, views=ALL, tokens=ALL)
        if not generator:
            raise BadSpec(f"rtd: generator is {generator!r}; it must be self, or name a masked-language model")
        if not shape.mask_token:
            raise BadSpec("rtd: this encoder's tokenizer has no mask token; take a method without rtd")
        if generator == "self" and not shape.language:
            raise BadSpec("rtd: this encoder's files hold no masked-LM head; name another model as generator")
        self.place, self.shape = find_generator(generator, shape.folder, shape.vocabulary), shape
        self.classifier = nn.Linear(shape.width, 2)

    def setup(self, encoder: Encoder) -> None:
        """Copy the backbone and load the generator."""
        self.generator = Generator(self.place)
        self.discriminator = copy.deepcopy(encoder.backbone)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        ids, mask, content, vectors = (
            torch.cat([getattr(view, name) for view in step.views]) for name in ("ids", "mask", "content", self.on)
        )
        if vectors.shape[1] != self.shape.width:
            raise BadSpec(f"rtd: the head gives {vectors.shape[1]} numbers, a token has {self.shape.width}; take on=h")
        guessed = self.guess(ids, mask, content, step.rng)
        logits = self.classifier(self.read(guessed, mask, vectors))
        counted = torch.ones_like(mask).bool() if self.count == "all" else mask.bool()
        return detection(logits, guessed != ids, counted)

    def guess(self, ids: Tensor, mask: Tensor, content: Tensor, rng: torch.Generator) -> Tensor:
        """Return ids (N, T) with tokens replaced; the first token and padding stay."""
        selected = (torch.rand(ids.shape, generator=rng, device=ids.device) < self.rate) & content.bool()
        masked = corrupt(ids, selected, self.shape.mask_id, self.shape.vocabulary, rng)
        predicted: Tensor = self.generator(masked, mask, self.fill == "sample", rng)
        replaceable = mask.bool() if self.fill == "argmax_all" else selected
        replaceable = replaceable & (torch.arange(ids.shape[1], device=ids.device) > 0)
        return torch.where(replaceable, predicted, ids)

    def read(self, ids: Tensor, mask: Tensor, vectors: Tensor) -> Tensor:
        """Return the discriminator's states (N, T, D), with vectors (N, D) as the first embeddings."""
        embeddings: Any = self.discriminator.embeddings
        hook = embeddings.register_forward_hook(
            lambda module, inputs, states: torch.cat([vectors[:, None].to(states.dtype), states[:, 1:]], dim=1)
        )
        try:
            outputs: Any = self.discriminator(input_ids=ids, attention_mask=mask, return_dict=True)
        finally:
            hook.remove()
        states: Tensor = outputs.last_hidden_state
        return states
