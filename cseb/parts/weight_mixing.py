"""Interpolation of weights after training."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from cseb.methods.option_types import Rate
from cseb.parts.base import BasePart

NOT_MIXED = ("head", "post")  # new in every run, or fitted afterwards: there is no start to go back to


def interpolated(start: Mapping[str, Tensor], trained: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Return (1 - share) start + share trained for every floating entry; integers are those of `trained`.

    Entries of the same name have the same shape. Source: Wortsman et al. 2022 (WiSE-FT), its authors' code.
    """
    return {
        name: (1 - share) * start[name] + share * value if value.is_floating_point() else value
        for name, value in trained.items()
    }


class Mix(BasePart):
    """Interpolate the weights of encoder and pooler with those before training, after checkpoint selection on dev.

    share: of the trained weights; 1 keeps them, 0 undoes training. The head, new in every run, stays
    as trained; the step after the encoder is fitted anew. Evaluation steps during training use unmixed weights.
    Source: Wortsman et al. 2022 (WiSE-FT); Xiao et al. 2023 (LM-Cocktail), two models of equal weight.
    """

    share: Rate = 0.5  # WiSE-FT's recommendation where nothing is tuned

    def __call__(self, start: Mapping[str, Tensor], trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the entries of an encoder that are tested, by name."""
        own = {name: value for name, value in trained.items() if name.split(".")[0] not in NOT_MIXED}
        return {**trained, **interpolated(start, own, self.share)}
