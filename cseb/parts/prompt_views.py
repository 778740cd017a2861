"""View makers with a second prompt, a rule-based negation, or several renderings of the sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EncodedView, Shape
from cseb.encoder.random_streams import random_stream
from cseb.errors import BadSpec
from cseb.methods.option_types import Between
from cseb.parts import Rendering
from cseb.parts.base import BasePart
from cseb.parts.poolers import check_template
from cseb.parts.views import Plain, Twice, positions_at

AUXILIARY = re.compile(
    r"\b(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must)\b", re.I
)
NOT = re.compile(r"\bnot\s+|\s+not\b", re.I)
CONTRACTED = re.compile(r"\b(\w+)n['\u2019]t\b", re.I)
WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}  # what is left of can't, won't, shan't


def negate(sentence: str) -> str:
    """Negate a sentence by rule: remove its first "not", else add one after the first auxiliary or before all.

    Without a parser: a main verb have or do counts as an auxiliary, any other main verb gets "Not" before the sentence.
    Source: Wang et al. 2022 (SNCSE), soft negatives, whose rule asks a parser.
    """
    if CONTRACTED.search(sentence):
        return CONTRACTED.sub(lambda match: WHOLE.get(match[1].lower(), match[1]), sentence, count=1)
    if NOT.search(sentence):
        return NOT.sub("", sentence, count=1)
    if match := AUXILIARY.search(sentence):
        return f"{sentence[: match.end()]} not{sentence[match.end() :]}"
    return f"Not {sentence}"


class Denoised:
    """Rendering that subtracts the vector of the prompt alone, at the same token positions."""

    def __init__(self, first_position: int) -> None:
        self.first = first_position

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        view: EncodedView = encoder(ids, mask, content, anchor)
        h = view.h - self.prompts(encoder, ids, mask, content, anchor)
        return EncodedView(h, encoder.project(h), ids, mask, content, view.layers, view.attentions)

    def prompts(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> Tensor:
        """Return the vectors (B, D) of the prompts alone; sentences of one length share theirs, dropout included."""
        lengths, first, which = _unique(content.sum(dim=1))
        around = (mask.bool() & ~content.bool())[first]  # (U, T), as many in every row
        places = around.nonzero()[:, 1].view(len(lengths), -1)  # (U, P)
        alone = (places < anchor[first][:, None]).sum(dim=1)  # where the mask token is then
        with random_stream("views"), positions_at(encoder.backbone, self.first + places):
            vectors = encoder.pool(encoder.backbone, ids[first].gather(1, places), torch.ones_like(places), alone)
        return vectors[which]


def _unique(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct values (U,), the first index of each (U,), and the index of each row's value (B,)."""
    unique, which = torch.unique(values, return_inverse=True)
    first = (which[None] == torch.arange(len(unique), device=values.device)[:, None]).int().argmax(dim=1)
    return unique, first, which


class Prompts(Twice):
    """The sentence in the pooler's prompt, and in a second one.

    second: its template. denoise: the vector of the prompt alone is subtracted, in training. Source: Jiang et al. 2022
    (PromptBERT); authors' code. Raises: BadSpec if positions cannot be chosen, see poolers.MaskPrompt for the template.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "mask token"

    # PromptBERT release, BERT
    def __init__(
        self, second: str = 'This sentence : "[X]" means [MASK].', denoise: bool = True, *, shape: Shape
    ) -> None:
        self.templates = ("", check_template(second, "prompts: second", shape))
        self.renderings: tuple[Rendering, ...] = ()
        if denoise:
            if shape.first_position is None:
                raise BadSpec("prompts: this encoder finds positions itself; take +prompts(denoise=false)")
            self.renderings = (Denoised(shape.first_position),) * 2


class NegatedPrompts(BasePart):
    """The sentence in the pooler's prompt, in a second one, and, as an edit, its negation in the second one.

    For English only, whose rule of negation it has. second: its template. Source: Wang et al. 2022 (SNCSE); authors'
    code. Raises: BadSpec, see poolers.MaskPrompt.
    """

    requires: ClassVar[str] = "mask token"
    english: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    views = 2
    edits = 1

    # SNCSE release
    def __init__(self, second: str = 'This sentence of "[X]" means [MASK].', *, shape: Shape) -> None:
        template = check_template(second, "negated_prompts: second", shape)
        self.templates = ("", template, template)

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N sentences twice, and their negations."""
        return sentences, sentences, [negate(sentence) for sentence in sentences]


class Repeated(BasePart):
    """The sentence several times; the renderings differ by dropout masks and by random heads.

    Source: Zhuo et al. 2023 (WhitenedCSE). Raises: BadSpec below two views.
    """

    views: Annotated[int, Between(2, 16)] = 3  # WhitenedCSE release

    def __post_init__(self) -> None:
        self.renderings = (Plain(),) * self.views

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N sentences, repeated `views` times."""
        return (sentences,) * self.views
