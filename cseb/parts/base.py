"""Bases of the built-in parts: an annotated class attribute is an option, as in a dataclass."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from inspect import get_annotations
from typing import Any, ClassVar, Self, dataclass_transform

from torch import Tensor, nn

from cseb.encoder.interface import FROZEN, Shape
from cseb.parts import LossInputs, Reads, reads


@dataclass_transform(eq_default=False)
class BasePart:
    """A part whose constructor stores its options under their names, in the order in which the class declares them.

    What the options imply is computed in `__post_init__`. A class may have a constructor of its own.
    """

    def __post_init__(self) -> None:
        """Compute what the options imply, and raise BadSpec if they do not go together or with the encoder."""

    def __init_subclass__(cls) -> None:
        """Generate the constructor of a class that declares options; others inherit it."""
        super().__init_subclass__()
        options = [kind for kind in get_annotations(cls).values() if "ClassVar" not in str(kind)]
        dataclass(eq=False, repr=False, init=bool(options))(cls)


class EncoderPart(BasePart):
    """A part that depends on the encoder, of which a constructor gets the `shape`."""

    _: KW_ONLY
    shape: Shape


class ModulePart(BasePart, nn.Module):
    """A part with weights, or that is a map of tensors."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Return a module to which weights can be assigned."""
        part = super().__new__(cls)
        nn.Module.__init__(part)
        return part


class PoolerPart(ModulePart):
    """A pooler without a prompt, of every encoder."""

    needs: ClassVar[frozenset[str]] = frozenset()
    template = ""


class LossTerm(ModulePart):
    """A loss term of two views, of every encoder. Its options may decide what it needs and compares."""

    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2


class TeacherTerm(LossTerm):
    """A loss term that compares with frozen teachers."""

    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})


class PairLoss(LossTerm):
    """A loss of anchors and positives after the head."""

    reads: ClassVar[Reads] = reads("z", views=2)

    def forward(self, step: LossInputs) -> Tensor:
        return self.loss(step.views[0].z, step.views[1].z)

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        """Return a scalar for the vectors of both views, (B, P) each."""
        raise NotImplementedError
