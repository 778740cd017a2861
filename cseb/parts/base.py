"""Bases of the built-in parts, whose annotated class attributes are options, and checks of the contract of parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from inspect import get_annotations
from typing import Any, ClassVar, Self, dataclass_transform

from torch import Tensor, nn

from cseb.encoder import interface
from cseb.encoder.interface import FROZEN, Shape
from cseb.errors import BadSpec
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


# What a part may need and a family of encoders may lack, in words.
NEEDS = {
    interface.POOLED: "a pre-trained pooler",
    interface.LANGUAGE: "a map from states to words",
    interface.BOTH_SIDES: "a first token that sees the whole sentence",
    interface.EMBEDDINGS: "an embedding layer that can be reached",
}


def check_needs(slot: str, name: str, part: Any, shape: interface.Shape | None) -> None:
    """Raise BadSpec if the family of this encoder lacks what a part, or its class, needs."""
    needs = getattr(part, "needs", None)
    if shape is None or not isinstance(needs, Collection):  # such as the property of a class
        return
    lacking = [text for need, text in NEEDS.items() if need in needs and need not in shape.family.gives]
    if lacking:
        cure = {"pooler": f"take +{shape.family.pooler}", "views": "take another view, such as +delete"}
        raise BadSpec(
            f"{name} needs {lacking[0]}, and the encoder is {shape.family.what}; {cure.get(slot, 'take it out')}"
        )


def check_mask_token(name: str, shape: interface.Shape) -> None:
    """Raise BadSpec if the tokenizer of the encoder has no mask token."""
    if not shape.mask_token:
        raise BadSpec(f"{name}: this encoder's tokenizer has no mask token; take a method without {name}")


def check_masked_lm(name: str, shape: interface.Shape) -> None:
    """Raise BadSpec if the encoder has no mask token, or its files contain no masked-LM head."""
    check_mask_token(name, shape)
    if not shape.language:
        raise BadSpec(
            f"{name}: this encoder's files have no masked-LM head; take a method without {name}, or its full files"
        )


def check_dropout(name: str, shape: interface.Shape) -> None:
    """Raise BadSpec if the encoder has no dropout, which has to make the views differ."""
    if shape.dropout == 0:
        raise BadSpec(
            f"{name}: this encoder's dropout rates are all 0, so both views are equal; add +recipe(dropout=0.1), or, "
            "if the network has no dropout, other views, such as +delete"
        )


def check_embedding_width(name: str, shape: interface.Shape) -> None:
    """Raise BadSpec if the embedding layer has another width than the layers behind it."""
    if shape.embedding_width not in (None, shape.width):
        raise BadSpec(
            f"{name}: this encoder's embeddings have {shape.embedding_width} features and its layers {shape.width}; "
            f"{name} needs one width; take another encoder"
        )


def check_attention(name: str, shape: interface.Shape) -> None:
    """Raise BadSpec if the self-attention modules of the encoder cannot be changed."""
    if not shape.open_attention:
        raise BadSpec(f"{name}: this encoder's self-attention cannot be reached; take BERT, RoBERTa or their like")


def check_scalar(name: str, value: Any) -> None:
    """Raise BadSpec if the value of a term is not a tensor of one number."""
    if not isinstance(value, Tensor):
        raise BadSpec(f"{name}: returned {type(value).__name__}; a term returns a tensor of one number, its loss")
    if value.dim():
        raise BadSpec(
            f"{name}: returned a tensor of shape {tuple(value.shape)}; a term returns one number, such as its mean"
        )
