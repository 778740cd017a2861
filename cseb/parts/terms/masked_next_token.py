"""MNTP: a bidirectional decoder predicts a hidden token from the state before it (LLM2Vec)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from cseb.data.made_encoders import BIDIRECTIONAL, SWITCH
from cseb.encoder import tokenizer as tokenizers
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import BOTH_SIDES, CONTEXT, Shape
from cseb.encoder.loading import configuration
from cseb.errors import BadSpec
from cseb.methods.option_types import Rate
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import LossTerm
from cseb.parts.terms.masked_language_modelling import joined, masked_language, select


def states_before(states: Tensor, selected: Tensor) -> Tensor:
    """Return the states (M, D), of (N, T, D), before the M selected tokens (N, T), none of them a row's first."""
    return states[:, :-1][selected[:, 1:]]


class MNTP(LossTerm):
    """One more pass over copies of all views with tokens hidden; the state before a hidden token predicts it.

    rate: fraction of the sentence's own tokens that are hidden, anew at every step and for every view, never a text's
    first. blank: the word in their place, since decoders have no mask token; one token of the tokenizer.
    Logits come from the decoder's own output layer: its word embeddings where the two are tied, else a copy that is not
    trained. Source: BehnamGhader et al. 2024 (LLM2Vec), masked next token prediction; authors' code. Raises: BadSpec on
    an encoder that is no decoder or still has its causal mask, and on a blank that is not one token.
    """

    requires: ClassVar[str] = "a decoder"
    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads(views=ALL, tokens=ALL)

    # LLM2Vec release
    def __init__(self, rate: Rate = 0.2, blank: str = "_", *, shape: Shape) -> None:
        self.rate, self.folder = rate, shape.folder
        if BOTH_SIDES in shape.family.gives or shape.folder is None:
            raise BadSpec("mntp: this encoder is no decoder; take +mlm")
        if getattr(configuration(shape.folder), SWITCH, True):
            raise BadSpec(f"mntp: its tokens attend to those before them alone; take `encoder` {BIDIRECTIONAL}ENCODER")
        tokenizer = tokenizers.read(shape.folder, trust_remote_code=False)
        ids = tokenizer(blank, add_special_tokens=False)["input_ids"]
        if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
            raise BadSpec(
                f"mntp: blank is {blank!r}, {len(ids)} known tokens of this tokenizer; take a word that is one"
            )
        self.blank = int(ids[0])

    def setup(self, encoder: Encoder) -> None:
        """Find the output layer."""
        backbone: Any = encoder.backbone
        self.words: list[Any] = [backbone.get_input_embeddings()]  # in a list: the backbone owns them
        self.output: nn.Module | None = None if encoder.config.tie_word_embeddings else output_layer(self.folder)

    def hide(self, ids: Tensor, content: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return ids (N, T) with blanks, and a mask of these (N, T). content: see EncodedView."""
        selected = select(content, self.rate, rng)
        selected[:, 0] = False
        return torch.where(selected, torch.full_like(ids, self.blank), ids), selected

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats: the mean over hidden tokens."""
        assert step.read is not None
        ids, mask, content = joined(step.views, "ids", "mask", "content")
        hidden, selected = self.hide(ids, content, step.rng)
        states = states_before(step.read(hidden, mask), selected)
        logits = self.output(states) if self.output is not None else F.linear(states, self.words[0].weight)
        return masked_language(logits, ids[selected])


def output_layer(folder: Path | None) -> nn.Module:
    """Return the frozen output layer of a decoder's files."""
    assert folder is not None
    model: Any = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, dtype=torch.float32)
    layer: nn.Module = model.get_output_embeddings()
    return layer.requires_grad_(False)
