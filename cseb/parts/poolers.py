"""Poolers: token states to one vector per sentence. Where public implementations differ, an option selects."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from cseb.encoder.interface import BOTH_SIDES, LAYERS, PADDING, POOLED, Shape, States
from cseb.errors import BadSpec
from cseb.methods.option_types import Count


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
        raise BadSpec(f"{what} is {template!r}; it must hold [X] and [MASK] once each")
    if not shape.mask_token:
        raise BadSpec(f"{what}: this encoder's tokenizer has no mask token; take cls or mean, without a prompt")
    return template


class CLS(nn.Module):
    """First token of the last layer.

    Source: Gao et al. 2021, section 6.3 ("[CLS]", before any pooler).
    """

    needs: ClassVar[frozenset[str]] = frozenset({BOTH_SIDES})
    template = ""

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return states.layers[-1][:, 0]


class CLSPooler(nn.Module):
    """First token through the dense layer and tanh of next-sentence pre-training.

    Source: Devlin et al. 2019. Raises: BadSpec if the encoder's files hold no such weights.
    """

    needs: ClassVar[frozenset[str]] = frozenset({POOLED})
    template = ""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        if not shape.pooled:
            raise BadSpec("cls_pooler: this encoder has no pre-trained pooler; take cls or mean")

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        assert states.pooled is not None
        return states.pooled


class Mean(nn.Module):
    """Mean of the last layer over real tokens, special ones included.

    Source: Reimers & Gurevych 2019, section 3.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    template = ""

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return masked_mean(states.layers[-1], states.mask)


class PaddedMean(nn.Module):
    """Mean of the last layer over a fixed number of positions, padding included; longer sentences count in full.

    training, test: the least number of positions averaged. Source: Liu et al. 2021 (Mirror-BERT), authors' code, whose
    sentences are padded to 50 in training and to 64 at test.
    """

    preset: ClassVar = {"training": 50, "test": 64}  # Mirror-BERT release: padding counts
    needs: ClassVar[frozenset[str]] = frozenset({PADDING})
    template = ""

    def __init__(self, training: Count, test: Count) -> None:
        super().__init__()
        self.in_training, self.at_test = training, test

    @property
    def pad_to(self) -> int:
        """Minimum number of positions of a batch."""
        return self.in_training if self.training else self.at_test

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        reach = states.mask.sum(dim=1, keepdim=True).clamp(min=self.pad_to)  # (B, 1)
        counted = torch.arange(states.mask.shape[1], device=reach.device) < reach  # (B, T)
        return masked_mean(states.layers[-1], counted)


class FirstLast(nn.Module):
    """Mean of an early layer and the last one, then mean over real tokens.

    `first=1` is the first Transformer layer, `first=0` the embedding layer. Public code calls both "first-last
    average"; the two are some four STS points apart. Source: Su et al. 2021; SimCSE issues 133 and 285.
    """

    preset: ClassVar = {"first": 1}  # SimCSE's evaluation since its fix of 2021; 0 is the embedding layer
    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    template = ""

    def __init__(self, first: Literal[0, 1]) -> None:
        super().__init__()
        self.first = first

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return masked_mean((states.layers[self.first] + states.layers[-1]) / 2, states.mask)


class Last2(nn.Module):
    """Mean of the last two layers, then mean over real tokens.

    Source: ConSERT's evaluation; `avg_top2` of SimCSE's.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    template = ""

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return masked_mean((states.layers[-2] + states.layers[-1]) / 2, states.mask)


class MeanLast(nn.Module):
    """Mean of the last few layers, then mean over real tokens; the number of layers differs between training and test.

    training, test: how many layers. Source: Yan et al. 2021 (ConSERT), authors' code: 1 and 2. Raises: BadSpec if the
    encoder has fewer.
    """

    preset: ClassVar = {"training": 1, "test": 2}  # ConSERT release
    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    template = ""

    def __init__(self, training: Count, test: Count, shape: Shape) -> None:
        super().__init__()
        self.in_training, self.at_test = training, test
        if max(training, test) > shape.layers:
            raise BadSpec(f"mean_last: {max(training, test)} layers of {shape.layers}; take no more than there are")

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        last = states.layers[-(self.in_training if self.training else self.at_test) :]
        return masked_mean(torch.stack(list(last)).mean(dim=0), states.mask)


class CNNMean(nn.Module):
    """Parallel convolutions over the last layer, then mean over real tokens; trained, and kept at test.

    widths: tokens each of them sees. Together they have the encoder's width; no activation. Padding is zero before and
    after. Source: Zhang et al. 2020 (IS-BERT); authors' code. Raises: BadSpec if they cannot share the width evenly.
    """

    preset: ClassVar = {"widths": (1, 3, 5)}  # IS-BERT release
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset()
    template = ""

    def __init__(self, widths: tuple[Literal[1, 3, 5, 7, 9], ...], shape: Shape) -> None:
        super().__init__()
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
        """Return (B, D)."""
        return masked_mean(self.local(states.layers[-1], states.mask), states.mask)


class MaskPrompt(nn.Module):
    """State of the mask token in a prompt around the sentence, in training and at test.

    template: text with [X] for the sentence and one [MASK]. Source: Jiang et al. 2022 (PromptBERT); MSSE, figure 7.
    Raises: BadSpec on a template without either, or an encoder without a mask token.
    """

    preset: ClassVar = {"template": '"[X]" means [MASK].'}  # MSSE release
    requires: ClassVar[str] = "mask token"
    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, template: str, shape: Shape) -> None:
        super().__init__()
        self.template = check_template(template, "mask_prompt: template", shape)

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        return state_at(states.layers[-1], states.anchor)
