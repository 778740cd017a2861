"""A teacher that somebody else has trained: its vectors of the subset are what students learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.interface import Shape, Text
from cseb.errors import BadSpec
from cseb.methods.spec import Method
from cseb.parts import EarlyStopping, Embed


def main_directions(vectors: Tensor, kept: int) -> Tensor:
    """(E, kept): the directions along which vectors (N, E) are longest, the longest first; the mean is not taken off.

    So inner products of the vectors change least. Directions are free in sign: their largest number is above 0.
    """
    vectors = vectors.double()
    _, found = torch.linalg.eigh(vectors.T @ vectors)
    found = found.flip(1)[:, :kept]
    largest = found.gather(0, found.abs().argmax(dim=0, keepdim=True))
    signed: Tensor = found * largest.sign()
    return signed


def of_width(views: Sequence[Tensor], width: int) -> list[Tensor]:
    """Vectors (N, E) of each view as vectors (N, width) with the same inner products, as far as that can be.

    Too narrow ones get zeros, too wide ones keep the main directions of the first view.
    """
    if (own := views[0].shape[1]) <= width:
        return [F.pad(view, (0, width - own)) for view in views]
    kept = main_directions(views[0], width)
    return [(view.double() @ kept).to(view.dtype) for view in views]


class OutsideTeacher:
    """The frozen teacher is an encoder from elsewhere; nothing is trained first.

    encoder: a folder, a hub name, `st:FOLDER`, `glove:FILE`, or a file of sentence vectors (.npz). pooler: of a folder
    that names none.
    width: "student" brings its vectors to the width of the encoder that is trained, by their main directions within
    the subset or by zeros, "own" leaves them as they are. They are computed once for each subset and kept in the
    user's cache. The teacher reads sentences as the corpus has them, whatever is drawn from them at a step. Source:
    Reimers & Gurevych 2020; the fit on the subset's own vectors is ours; the authors take 40,000 other texts.
    Raises: BadSpec without a name.
    """

    preset: ClassVar = {"encoder": "", "pooler": "", "width": "student"}
    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"encoder": "embedder"}
    requires: ClassVar[str] = "teacher from elsewhere"
    until: EarlyStopping | None = None
    with_head = False

    def __init__(self, encoder: str, pooler: str, width: Literal["student", "own"], shape: Shape) -> None:
        if not encoder:
            raise BadSpec('outside_teacher: encoder is missing; write outside_teacher(encoder="./my-teacher")')
        self.encoder, self.pooler, self.own_width, self.width = encoder, pooler, width == "own", shape.width

    def methods(self, method: Method) -> tuple[Method, ...]:
        """None: nothing is trained."""
        return ()

    def targets(self, embed: Embed, views: Sequence[Sequence[Text]]) -> list[Tensor]:
        """The teacher's vectors (N, E) of every view; a view that is drawn anew counts as the sentence itself."""
        found: dict[int, Tensor] = {}
        for view in views:
            if id(view) not in found:
                texts = [text for text in view if isinstance(text, str)]
                if len(texts) < len(view):
                    raise BadSpec("outside_teacher: these views are cut into tokens, which it cannot read; take others")
                found[id(view)] = torch.from_numpy(np.asarray(embed(texts), dtype=np.float32))
        if not all(torch.isfinite(one).all() for one in found.values()):
            raise BadSpec(f"outside_teacher: vectors of {self.encoder} are not finite; take another teacher")
        made = [found[id(view)] for view in views]
        made = made if len(made) > 1 else made * 2
        return made if self.own_width else of_width(made, self.width)
