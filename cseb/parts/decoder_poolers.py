"""Poolers for decoders, in which only the last token attends to the whole sentence."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from cseb.encoder.interface import CONTEXT, States
from cseb.errors import BadSpec
from cseb.parts.poolers import masked_mean, state_at


class Last(nn.Module):
    """State of the last real token in the last layer.

    A text without any token has the zero vector. Source: BehnamGhader et al. 2024 (LLM2Vec), authors' code,
    "eos_token", which also appends an end token where the tokenizer has none; here nothing is appended.
    """

    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})
    template = ""

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        mask = states.mask
        places = (torch.arange(mask.shape[1], device=mask.device) * mask).argmax(dim=1)  # (B,)
        return state_at(states.layers[-1], places).masked_fill(mask.sum(dim=1, keepdim=True) == 0, 0.0)


class WeightedMean(nn.Module):
    """Mean of the last layer over real tokens with weights 1, 2, ..., n.

    Source: Muennighoff 2022 (SGPT), equation 2.
    """

    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})
    template = ""

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return masked_mean(states.layers[-1], states.mask * states.mask.cumsum(dim=1))


class EndPrompt(nn.Module):
    """State of the last token of a prompt around the sentence.

    template: text with [X] for the sentence and something behind it. Sentence and prompt are tokenised separately, so
    that a sentence is cut and the prompt is not. Sentences are left as they are; the authors' code appends a full stop
    to a sentence without an end mark, replaces a final question mark by a full stop, and double quotes by single ones.
    Source: Jiang et al. 2023 (PromptEOL). Raises: BadSpec on a template without [X] or text behind it.
    """

    preset: ClassVar = {"template": 'This sentence : "[X]" means in one word:"'}  # PromptEOL, section 3.1
    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})

    def __init__(self, template: str) -> None:
        super().__init__()
        if template.count("[X]") != 1 or "[MASK]" in template or not template.partition("[X]")[2].strip():
            raise BadSpec(
                f"end_prompt: template is {template!r}; it must hold [X] once, text behind it, and no [MASK], which "
                "is for +mask_prompt"
            )
        self.template = template

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return state_at(states.layers[-1], states.anchor)
