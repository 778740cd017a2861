"""Adam and RMSprop on arrays, as PyTorch defines them, in place and without allocation at each step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cseb.tasks.task import Vectors


class Adam:
    """Source: Kingma & Ba 2015, algorithm 1, with beta 0.9 and 0.999 and epsilon 1e-8."""

    def __init__(self, rate: float, weights: Vectors) -> None:
        self.rate, self.steps = rate, 0
        self.first, self.second, self.scratch = (np.zeros_like(weights) for _ in range(3))

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """Change the weights by a gradient of the same shape, which is overwritten."""
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
        """Forget all but these along the first axis."""
        self.first, self.second, self.scratch = self.first[which], self.second[which], self.scratch[which]


class RMSprop(Adam):
    """Source: Tieleman & Hinton 2012, lecture 6.5, with alpha 0.99 and epsilon 1e-8 added to the root."""

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """Change the weights by a gradient of the same shape, which is overwritten."""
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


OPTIMISERS: Mapping[str, type[Adam]] = {"adam": Adam, "rmsprop": RMSprop}
