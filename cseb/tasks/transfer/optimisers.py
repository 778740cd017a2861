"""Adam and RMSprop on arrays, as PyTorch defines them, in place and without allocation at each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cseb.tasks.task import Vectors


class Optimiser(Protocol):
    """Updates weights by a gradient; both have the shape (L, ...) it was made with, or what `keep` left of it."""

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """Change the weights. `slope` is used up."""

    def keep(self, which: npt.NDArray[np.bool_]) -> None:
        """Forget all but these along the first axis."""


class Adam:
    """Source: Kingma & Ba 2015, algorithm 1, with beta 0.9 and 0.999 and epsilon 1e-8."""

    def __init__(self, rate: float, weights: Vectors) -> None:
        self.rate, self.steps = rate, 0
        self.first, self.second, self.scratch = (np.zeros_like(weights) for _ in range(3))

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """As in `Optimiser`."""
        self.steps += 1
        scratch = self.scratch
        self.first *= 0.9
        self.first += np.multiply(slope, 1 - 0.9, out=scratch)
        self.second *= 0.999
        slope *= slope
        slope *= 1 - 0.999
        self.second += slope
        np.sqrt(self.second, out=scratch)
        scratch /= (1 - 0.999**self.steps) ** 0.5
        scratch += 1e-8
        np.divide(self.first, scratch, out=scratch)
        scratch *= self.rate / (1 - 0.9**self.steps)
        weights -= scratch

    def keep(self, which: npt.NDArray[np.bool_]) -> None:
        """As in `Optimiser`."""
        self.first, self.second, self.scratch = self.first[which], self.second[which], self.scratch[which]


class RMSprop:
    """Source: Tieleman & Hinton 2012, lecture 6.5, with alpha 0.99 and epsilon 1e-8 added to the root."""

    def __init__(self, rate: float, weights: Vectors) -> None:
        self.rate = rate
        self.second, self.scratch = np.zeros_like(weights), np.zeros_like(weights)

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """As in `Optimiser`."""
        scratch = self.scratch
        self.second *= 0.99
        np.multiply(slope, slope, out=scratch)
        scratch *= 1 - 0.99
        self.second += scratch
        np.sqrt(self.second, out=scratch)
        scratch += 1e-8
        slope /= scratch
        slope *= self.rate
        weights -= slope

    def keep(self, which: npt.NDArray[np.bool_]) -> None:
        """As in `Optimiser`."""
        self.second, self.scratch = self.second[which], self.scratch[which]


OPTIMISERS: Mapping[str, Callable[[float, Vectors], Optimiser]] = {"adam": Adam, "rmsprop": RMSprop}
