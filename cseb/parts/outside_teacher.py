"""An external teacher whose vectors of the subset are the distillation targets."""

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
from cseb.parts.base import BasePart
from cseb.parts.postprocessing import main_directions


def signed_directions(vectors: Tensor, width: int) -> Tensor:
    """Return the main directions (E, width) of vectors (N, E), uncentred; their largest number is above 0."""
    _, directions = main_directions(vectors, width, centre=False)
    largest = directions.gather(0, directions.abs().argmax(dim=0, keepdim=True))
    return directions * largest.sign()


def to_width(views: Sequence[Tensor], width: int) -> list[Tensor]:
    """Map vectors (N, E) of each view to (N, width), preserving inner products as far as possible.

    Too narrow ones get zeros, too wide ones keep the main directions of the first view.
    """
    if (own := views[0].shape[1]) <= width:
        return [F.pad(view, (0, width - own)) for view in views]
    directions = signed_directions(views[0], width)
    return [(view.double() @ directions).to(view.dtype) for view in views]


class OutsideTeacher(BasePart):
    """The frozen teacher is an external encoder; nothing is trained first.

    encoder: a folder, a hub name, `st:FOLDER`, `glove:FILE`, or a file of sentence vectors (.npz). pooler: of a folder
    that names none. width: "student" brings its vectors to the width of the encoder that is trained, by their main
    directions within the subset or by zeros, "own" leaves them as they are. They are computed once for each subset and
    kept in the user's cache. The teacher reads sentences as the corpus has them, whatever is drawn from them at a step.
    Source: Reimers & Gurevych 2020; the fit on the subset's own vectors is ours; the authors take 40,000 other texts.
    Raises: BadSpec without a name.
    """

    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"encoder": "embedder"}
    requires: ClassVar[str] = "teacher from elsewhere"
    until: EarlyStopping | None = None
    with_head = False

    def __init__(
        self, encoder: str = "", pooler: str = "", width: Literal["student", "own"] = "student", *, shape: Shape
    ) -> None:
        if not encoder:
            raise BadSpec('outside_teacher: encoder is missing; write outside_teacher(encoder="./my-teacher")')
        self.encoder, self.pooler, self.own_width, self.width = encoder, pooler, width == "own", shape.width

    def methods(self, method: Method) -> tuple[Method, ...]:
        return ()

    def targets(self, embed: Embed, views: Sequence[Sequence[Text]]) -> list[Tensor]:
        """Return the teacher's vectors (N, E) of every view; a redrawn view counts as the sentence itself."""
        vectors: dict[int, Tensor] = {}
        for view in views:
            if id(view) not in vectors:
                texts = [text for text in view if isinstance(text, str)]
                if len(texts) < len(view):
                    raise BadSpec("outside_teacher: these views are cut into tokens, which it cannot read; take others")
                vectors[id(view)] = torch.from_numpy(np.asarray(embed(texts), dtype=np.float32))
        if not all(torch.isfinite(array).all() for array in vectors.values()):
            raise BadSpec(f"outside_teacher: vectors of {self.encoder} are not finite; take another teacher")
        targets = [vectors[id(view)] for view in views]
        targets = targets if len(targets) > 1 else targets * 2
        return targets if self.own_width else to_width(targets, self.width)
