"""Models that are frozen while the method trains: trained first on the same subset, or a teacher from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.data.finished_models import is_finished
from cseb.encoder.interface import FROZEN, Shape, Text
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Positive, Size
from cseb.methods.recipe import Recipe
from cseb.methods.spec import Method, Part, part
from cseb.parts import EarlyStopping, Embed
from cseb.parts.base import BasePart
from cseb.parts.postprocessing import main_directions
from cseb.registry import SLOTS


def shortened(method: Method, steps: int) -> Part:
    """Return the recipe of a method with other steps, and the same fraction of warm-up."""
    recipe = Recipe(**dict(method.recipe.options))  # type: ignore[arg-type]  # checked by Recipe itself
    warmup = recipe.warmup * steps // max(1, recipe.steps)
    return method.recipe.updated(part("recipe", steps=steps, warmup=warmup))


class EntropyModels(BasePart):
    """One short training per phi: the method's loss without regulators, plus phi times the entropy.

    steps: of every model at most, with the method's own batches, rates and fraction of warm-up. every, patience,
    held_out: see parts.EarlyStopping; every=1 and held_out=0 take the paper at its word. Seeds are the method's, so
    that the models differ by phi alone. Source: Tan et al. 2022, section 3.2, algorithm 1 and appendix A.
    """

    requires: ClassVar[str] = "models trained first"
    with_head = True
    # RCL, appendix A; at most an epoch of its triples, an evaluation every hundredth
    phis: tuple[float, ...] = (0.01, 0.02, 0.03, 0.04)
    steps: Count = 4_307
    every: Count = 43
    patience: Count = 3
    held_out: Size = 2_048
    temperature: Positive = 0.05
    all_columns: bool = False

    def __post_init__(self) -> None:
        if not self.phis or len(set(self.phis)) < len(self.phis):
            raise BadSpec(f"entropy_models: phis is {self.phis!r}; write different numbers, such as (0.01, 0.02)")
        self.until = EarlyStopping(self.every, self.patience, self.held_out)

    def methods(self, method: Method) -> tuple[Method, ...]:
        own = tuple(term for term in method.terms if FROZEN not in SLOTS["terms"][term.name].needs)
        options = {"temperature": self.temperature, "all_columns": self.all_columns}
        return tuple(
            replace(
                method,
                stages=None,
                terms=(*own, part("entropy", weight=phi, **options)),
                recipe=shortened(method, self.steps),
            )
            for phi in self.phis
        )


class Teacher(BasePart):
    """One training by contrast only: the method's views, batches and rates without its other terms.

    The dev set chooses its checkpoint, where there is one. steps: with the method's fraction of warm-up. temperature:
    of the contrast. with_head: its vectors are those behind the head. Source: the SimCSE checkpoints from which
    RankEncoder, DistillCSE and DCLR start, here of the same subset.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "teacher trained first"
    until = None
    steps: Count = 15_625  # a SimCSE of the same subset in the place of a released checkpoint
    temperature: Positive = 0.05
    with_head: bool = False

    def methods(self, method: Method) -> tuple[Method, ...]:
        contrast = part("infonce", temperature=self.temperature, negatives="batch", form="released", hard_weight=1.0)
        recipe = shortened(method, self.steps)
        return (replace(method, stages=None, post=None, terms=(contrast,), recipe=recipe),)


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
            raise BadSpec(
                'outside_teacher: encoder is missing; write outside_teacher(encoder="./my-teacher"), or own_teacher '
                "for the encoder itself"
            )
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
                    raise BadSpec("teacher: these views are cut into tokens, which it cannot read; take others")
                vectors[id(view)] = torch.from_numpy(np.asarray(embed(texts), dtype=np.float32))
        if not all(torch.isfinite(array).all() for array in vectors.values()):
            raise BadSpec(f"teacher: vectors of {self.encoder} are not finite; take another teacher")
        targets = [vectors[id(view)] for view in views]
        targets = targets if len(targets) > 1 else targets * 2
        return targets if self.own_width else to_width(targets, self.width)


class OwnTeacher(OutsideTeacher):
    """The frozen teacher is the encoder before training, so that the student stays close to it.

    pooler: by default with the modules of the encoder's own files, or the mean where they name none. width: as of
    outside_teacher; its vectors are computed and cached in the same way. Source: ours, in no paper; Limkonchotiwat et
    al. 2022 take a larger teacher.
    """

    data_seen: ClassVar[str] = ""
    external: ClassVar[Mapping[str, str]] = {}
    requires: ClassVar[str] = "frozen copy"

    def __init__(self, pooler: str = "", width: Literal["student", "own"] = "student", *, shape: Shape) -> None:
        folder = shape.folder or Path()
        super().__init__(str(folder), pooler or ("" if is_finished(folder) else "mean"), width, shape=shape)
