"""What becomes of the weights after training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from cseb.methods.option_types import Rate

NOT_MIXED = ("head", "post")  # new in every run, or fitted afterwards: there is no start to go back to


def mixed(start: Mapping[str, Tensor], trained: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """(1 - share) start + share trained, for every floating entry; whole numbers are those of `trained`.

    Entries of the same name have the same shape. Source: Wortsman et al. 2022 (WiSE-FT), its authors' code.
    """
    return {
        name: (1 - share) * start[name] + share * value if value.is_floating_point() else value
        for name, value in trained.items()
    }


class Mix:
    """The weights of encoder and pooler are mixed with those before training, after the dev set has chosen.

    share: of the trained weights; 1 leaves them as they are, 0 takes training back. The head, new in every run, stays
    as trained; the step after the encoder is fitted anew. Looks at the dev set during training see unmixed weights.
    Source: Wortsman et al. 2022 (WiSE-FT); Xiao et al. 2023 (LM-Cocktail), two models of equal weight.
    """

    preset: ClassVar = {"share": 0.5}  # WiSE-FT's recommendation where nothing is tuned

    def __init__(self, share: Rate) -> None:
        self.share = share

    def __call__(self, start: Mapping[str, Tensor], trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Entries of an encoder by name: those that are tested."""
        own = {name: value for name, value in trained.items() if name.split(".")[0] not in NOT_MIXED}
        return {**trained, **mixed(start, own, self.share)}
