"""Poolers: token states to one vector per sentence. Where public implementations differ, an option selects."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from cseb.encoder.interface import BOTH_SIDES, LAYERS, PADDING, POOLED, Rows, Shape, States
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Positive
from cseb.parts.base import PoolerPart


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, D) of states (B, T, D) over the tokens with mask (B, T) = 1."""
    weight = mask.unsqueeze(-1).to(states.dtype)  # (B, T, 1)
    return (states * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1)


def state_at(states: Tensor, places: Tensor) -> Tensor:
    """Return the state (B, D), of states (B, T, D), at one position (B,) of each row."""
    return states.gather(1, places[:, None, None].expand(-1, 1, states.shape[-1]))[:, 0]


def check_template(template: str, what: str, shape: Shape) -> str:
    """Return a prompt template. Raises: BadSpec if it lacks [X] or [MASK], or the encoder has no mask token."""
    if not isinstance(template, str) or template.count("[X]") != 1 or template.count("[MASK]") != 1:
        raise BadSpec(f"{what} is {template!r}; it must contain [X] and [MASK] once each")
    if not shape.mask_token:
        raise BadSpec(f"{what}: this encoder's tokenizer has no mask token; take cls or mean, without a prompt")
    return template


class CLS(PoolerPart):
    """First token of the last layer.

    Source: Gao et al. 2021, section 6.3 ("[CLS]", before any pooler).
    """

    needs: ClassVar[frozenset[str]] = frozenset({BOTH_SIDES})

    def forward(self, states: States) -> Tensor:
        return states.layers[-1][:, 0]


class CLSPooler(PoolerPart):
    """First token through the dense layer and tanh of next-sentence pre-training.

    Source: Devlin et al. 2019. Raises: BadSpec if the encoder's files have no such weights.
    """

    needs: ClassVar[frozenset[str]] = frozenset({POOLED})

    def __init__(self, shape: Shape) -> None:
        if not shape.pooled:
            raise BadSpec("cls_pooler: this encoder has no pre-trained pooler; take cls or mean")

    def forward(self, states: States) -> Tensor:
        assert states.pooled is not None
        return states.pooled


class Mean(PoolerPart):
    """Mean of the last layer over real tokens, special ones included.

    Source: Reimers & Gurevych 2019, section 3.
    """

    def forward(self, states: States) -> Tensor:
        return masked_mean(states.layers[-1], states.mask)


class PaddedMean(PoolerPart):
    """Mean of the last layer over a fixed number of positions, padding included; longer sentences count in full.

    training, test: the least number of positions averaged. Source: Liu et al. 2021 (Mirror-BERT), authors' code, whose
    sentences are padded to 50 in training and to 64 at test.
    """

    needs: ClassVar[frozenset[str]] = frozenset({PADDING})

    # Mirror-BERT release: padding counts
    def __init__(self, training: Count = 50, test: Count = 64) -> None:
        self.in_training, self.at_test = training, test

    @property
    def pad_to(self) -> int:
        """Minimum number of positions of a batch."""
        return self.in_training if self.training else self.at_test

    def forward(self, states: States) -> Tensor:
        reach = states.mask.sum(dim=1, keepdim=True).clamp(min=self.pad_to)  # (B, 1)
        counted = torch.arange(states.mask.shape[1], device=reach.device) < reach  # (B, T)
        return masked_mean(states.layers[-1], counted)


class FirstLast(PoolerPart):
    """Mean of an early layer and the last one, then mean over real tokens.

    `first=1` is the first Transformer layer, `first=0` the embedding layer. Public code calls both "first-last
    average"; the two differ by about four STS scores. Source: Su et al. 2021; SimCSE issues 133 and 285.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    first: Literal[0, 1] = 1  # SimCSE's evaluation since its fix of 2021; 0 is the embedding layer

    def forward(self, states: States) -> Tensor:
        return masked_mean((states.layers[self.first] + states.layers[-1]) / 2, states.mask)


class Last2(PoolerPart):
    """Mean of the last two layers, then mean over real tokens.

    Source: ConSERT's evaluation; `avg_top2` of SimCSE's.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})

    def forward(self, states: States) -> Tensor:
        return masked_mean((states.layers[-2] + states.layers[-1]) / 2, states.mask)


class MeanLast(PoolerPart):
    """Mean of the last few layers, then mean over real tokens; the number of layers differs between training and test.

    training, test: how many layers. Source: Yan et al. 2021 (ConSERT), authors' code: 1 and 2. Raises: BadSpec if the
    encoder has fewer.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})

    # ConSERT release
    def __init__(self, training: Count = 1, test: Count = 2, *, shape: Shape) -> None:
        self.in_training, self.at_test = training, test
        if max(training, test) > shape.layers:
            raise BadSpec(f"mean_last: {max(training, test)} layers of {shape.layers}; take no more than there are")

    def forward(self, states: States) -> Tensor:
        last = states.layers[-(self.in_training if self.training else self.at_test) :]
        return masked_mean(torch.stack(list(last)).mean(dim=0), states.mask)


class CNNMean(PoolerPart):
    """Parallel convolutions over the last layer, then mean over real tokens; trained, and kept at test.

    widths: tokens each of them sees. Together they have the encoder's width; no activation. Padding is zero before and
    after. Source: Zhang et al. 2020 (IS-BERT); authors' code. Raises: BadSpec if they cannot share the width evenly.
    """

    version: ClassVar[int] = 2

    # IS-BERT release
    def __init__(self, widths: tuple[Literal[1, 3, 5, 7, 9], ...] = (1, 3, 5), *, shape: Shape) -> None:
        if not widths or shape.width % len(widths):
            raise BadSpec(f"cnn_mean: {len(widths)} convolutions cannot divide a width of {shape.width}; take others")
        channels = shape.width // len(widths)
        self.convolutions = nn.ModuleList(
            [nn.Conv1d(shape.width, channels, width, padding=width // 2) for width in widths]
        )

    def local(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the convolved states (B, T, D) of states (B, T, D), 0 at padding."""
        real = mask[:, :, None].to(states.dtype)
        convolved = [convolution((states * real).mT) for convolution in self.convolutions]
        return torch.cat(convolved, dim=1).mT * real

    def forward(self, states: States) -> Tensor:
        return masked_mean(self.local(states.layers[-1], states.mask), states.mask)


class MaskPrompt(PoolerPart):
    """State of the mask token in a prompt around the sentence, in training and at test.

    template: text with [X] for the sentence and one [MASK]. Source: Jiang et al. 2022 (PromptBERT); MSSE, figure 7.
    Raises: BadSpec on a template without either, or an encoder without a mask token.
    """

    requires: ClassVar[str] = "mask token"

    # MSSE release
    def __init__(self, template: str = '"[X]" means [MASK].', *, shape: Shape) -> None:
        self.template = check_template(template, "mask_prompt: template", shape)

    def forward(self, states: States) -> Tensor:
        return state_at(states.layers[-1], states.anchor)


class Last(PoolerPart):
    """State of the last real token in the last layer.

    A text without any token has the zero vector. Source: BehnamGhader et al. 2024 (LLM2Vec), authors' code,
    "eos_token", which also appends an end token where the tokenizer has none; here nothing is appended.
    """

    def forward(self, states: States) -> Tensor:
        mask = states.mask
        places = (torch.arange(mask.shape[1], device=mask.device) * mask).argmax(dim=1)  # (B,)
        return state_at(states.layers[-1], places).masked_fill(mask.sum(dim=1, keepdim=True) == 0, 0.0)


class WeightedMean(PoolerPart):
    """Mean of the last layer over real tokens with weights 1, 2, ..., n.

    Source: Muennighoff 2022 (SGPT), equation 2.
    """

    def forward(self, states: States) -> Tensor:
        return masked_mean(states.layers[-1], states.mask * states.mask.cumsum(dim=1))


class EndPrompt(PoolerPart):
    """State of the last token of a prompt around the sentence.

    template: text with [X] for the sentence and something behind it. Sentence and prompt are tokenised separately, so
    that a sentence is cut and the prompt is not. Sentences are left as they are; the authors' code appends a full stop
    to a sentence without an end mark, replaces a final question mark by a full stop, and double quotes by single ones.
    Source: Jiang et al. 2023 (PromptEOL). Raises: BadSpec on a template without [X] or text behind it.
    """

    # PromptEOL, section 3.1
    def __init__(self, template: str = 'This sentence : "[X]" means in one word:"') -> None:
        if template.count("[X]") != 1 or "[MASK]" in template or not template.partition("[X]")[2].strip():
            raise BadSpec(
                f"end_prompt: template is {template!r}; it must contain [X] once, text behind it, and no [MASK], which "
                "is for +mask_prompt"
            )
        self.template = template

    def forward(self, states: States) -> Tensor:
        return state_at(states.layers[-1], states.anchor)


class SIF(PoolerPart):
    """Mean of the last layer over real tokens, each weighted by a / (a + p).

    a: the weight of a token is a half where its frequency p is a. p is its fraction of all tokens of the training
    sentences, special ones included; a token that they lack has weight 1. Source: Arora, Liang & Ma 2017 (SIF),
    algorithm 1, authors' code; p is of a corpus of its own there, and the common direction is taken out of the vectors,
    as `remove_components` does.
    """

    data_seen: ClassVar[str] = "subset"
    requires: ClassVar[str] = "token counts of the subset"

    # SIF, section 4.1: 1e-3 to 1e-4; its authors' code
    def __init__(self, a: Positive = 1e-3, *, shape: Shape) -> None:
        self.a = a
        self.weights: Tensor
        self.register_buffer("weights", torch.ones(shape.vocabulary))  # (V,), 1 until tokens are counted

    def count(self, counts: Rows) -> None:
        """Set the weights from the tokens' counts (V,) in the training sentences."""
        frequency = torch.from_numpy(counts).double() / max(int(counts.sum()), 1)
        self.weights.copy_(self.a / (self.a + frequency))

    def forward(self, states: States) -> Tensor:
        assert states.ids is not None
        last = states.layers[-1]
        return masked_mean(last * self.weights[states.ids].unsqueeze(-1).to(last.dtype), states.mask)
