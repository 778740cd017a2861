"""Further networks that are trained along with the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from cseb.encoder import Encoder


class SecondEncoder:
    """A copy of the encoder with weights of its own reads every view but the first.

    Both start from the same weights and both are trained; gradients never cross. The dev set chooses between the two
    as well; without one the copy is the result. Source: Carlsson et al. 2021 (CT).
    """

    peer: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, encoder: Encoder) -> Encoder:
        """Return the copy."""
        return encoder.sibling()
