"""RTD: a discriminator that receives the sentence vector detects replaced tokens (DiffCSE)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig

from cseb.data import checkpoint
from cseb.data.weights import locate
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EMBEDDINGS
from cseb.errors import BadData, BadSpec, first_line
from cseb.methods.option_types import Rate
from cseb.parts import ALL, LossInputs, reads
from cseb.parts.base import EncoderPart, LossTerm, check_embedding_width, check_mask_token
from cseb.parts.terms.masked_language_modelling import corrupt, joined, load_masked_lm, select

ROWS = 32  # filled in at once; logits over a vocabulary are large


def find_generator(name: str, folder: Path | None, vocabulary: int) -> Path:
    """Return the folder of a generator. name: "self" for the encoder's own `folder`, else a folder or hub name.

    Raises: BadData if there is none, BadSpec if it has another vocabulary.
    """
    if name == "self" and folder is not None:
        return folder
    try:
        path = locate(name)
        checkpoint.check(path)
        size = AutoConfig.from_pretrained(path, trust_remote_code=False).vocab_size
    except Exception as error:  # transformers raises whatever its parsers do
        raise BadData(f"generator {name}: {first_line(error)}; `generator=self` needs no other") from None
    if size != vocabulary:
        raise BadSpec(
            f"generator {name}: has {size} word pieces, the encoder {vocabulary}; take one of the same vocabulary, "
            "or generator=self"
        )
    return path


class Generator(nn.Module):
    """Predict a token at every position: the most probable one, or one sampled from the distribution.

    In training mode its dropout is on. Raises: BadData if the files at `path` are no masked-language model.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.model = load_masked_lm(path, "generator", "name a model with a masked-LM head").requires_grad_(False)

    @torch.no_grad()
    def forward(self, ids: Tensor, mask: Tensor, sample: bool, rng: torch.Generator) -> Tensor:
        """Return predicted ids (N, T) for ids (N, T) and mask (N, T)."""
        predicted = []
        for chunk, chunk_mask in zip(torch.split(ids, ROWS), torch.split(mask, ROWS), strict=True):
            logits = self.model(input_ids=chunk, attention_mask=chunk_mask).logits  # (n, T, V)
            if sample:
                sampled = torch.multinomial(logits.float().softmax(dim=-1).flatten(0, 1), 1, generator=rng)
                predicted.append(sampled.view(chunk.shape))
            else:
                predicted.append(logits.argmax(dim=-1))
        return torch.cat(predicted)


def detection(logits: Tensor, replaced: Tensor, counted: Tensor) -> Tensor:
    """Return the cross-entropy of detecting replaced tokens, over counted tokens. (N, T, 2), (N, T), (N, T)."""
    return F.cross_entropy(logits[counted], replaced[counted].long())


class RTD(EncoderPart, LossTerm):
    """A copy of the backbone, with the sentence vector as its first token, detects replaced tokens.

    rate: fraction of the sentence's own tokens that a frozen generator has to guess, anew at every step. generator:
    "self", the encoder's own files with their masked-LM head, or a folder or hub name. fill: "argmax_all" puts its best
    guess everywhere, "argmax_masked" at the selected tokens alone, "sample" draws there. on: the vector it is given,
    "z" after the head or "h" before it. count: "all" positions, padding included, or the "real" ones. Source: Chuang et
    al. 2022 (DiffCSE); authors' code. Raises: BadSpec on an encoder without a mask token, with narrower embeddings, or,
    for "self", without that head, and on a generator of another vocabulary; BadData if there is no such generator.
    """

    preset: ClassVar = {"weight": 0.005}  # DiffCSE release
    version: ClassVar[int] = 2
    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"generator": "encoder"}
    own: ClassVar[Mapping[str, str]] = {"generator": "self"}
    requires: ClassVar[str] = "generator, second encoder"
    needs: ClassVar[frozenset[str]] = frozenset({EMBEDDINGS})
    views: ClassVar[int] = 1
    rate: Rate = 0.3
    generator: str = "distilbert-base-uncased"
    fill: Literal["argmax_all", "argmax_masked", "sample"] = "argmax_all"
    on: Literal["z", "h"] = "z"
    count: Literal["all", "real"] = "all"

    def __post_init__(self) -> None:
        shape = self.shape
        self.reads = reads(self.on, views=ALL, tokens=ALL)
        if not self.generator:
            raise BadSpec(f"rtd: generator is {self.generator!r}; it must be self, or name a masked-language model")
        check_mask_token("rtd", shape)
        check_embedding_width("rtd", shape)
        if self.generator == "self" and not shape.language:
            raise BadSpec("rtd: this encoder's files have no masked-LM head; name another model as generator")
        self.place = find_generator(self.generator, shape.folder, shape.vocabulary)
        self.classifier = nn.Linear(shape.width, 2)

    def setup(self, encoder: Encoder) -> None:
        """Copy the backbone and load the generator."""
        self.guesser = Generator(self.place)
        self.discriminator = copy.deepcopy(encoder.backbone)

    def forward(self, step: LossInputs) -> Tensor:
        ids, mask, content, vectors = joined(step.views, "ids", "mask", "content", self.on)
        if vectors.shape[1] != self.shape.width:
            raise BadSpec(f"rtd: the head gives {vectors.shape[1]} numbers, a token has {self.shape.width}; take on=h")
        guessed = self.guess(ids, mask, content, step.rng)
        logits = self.classifier(self.read(guessed, mask, vectors))
        counted = torch.ones_like(mask).bool() if self.count == "all" else mask.bool()
        return detection(logits, guessed != ids, counted)

    def guess(self, ids: Tensor, mask: Tensor, content: Tensor, rng: torch.Generator) -> Tensor:
        """Return ids (N, T) with tokens replaced; the first token and padding stay."""
        selected = select(content, self.rate, rng)
        masked = corrupt(ids, selected, self.shape.mask_id, self.shape.vocabulary, rng)
        predicted: Tensor = self.guesser(masked, mask, self.fill == "sample", rng)
        replaceable = mask.bool() if self.fill == "argmax_all" else selected
        replaceable = replaceable & (torch.arange(ids.shape[1], device=ids.device) > 0)
        return torch.where(replaceable, predicted, ids)

    def read(self, ids: Tensor, mask: Tensor, vectors: Tensor) -> Tensor:
        """Return the discriminator's states (N, T, D), with vectors (N, D) as the first embeddings."""
        embeddings: Any = self.discriminator.embeddings
        with embeddings.register_forward_hook(
            lambda module, inputs, states: torch.cat([vectors[:, None].to(states.dtype), states[:, 1:]], dim=1)
        ):
            outputs: Any = self.discriminator(input_ids=ids, attention_mask=mask, return_dict=True)
        states: Tensor = outputs.last_hidden_state
        return states
