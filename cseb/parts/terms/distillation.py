"""Distillation from frozen teachers: by ranks, lists, coordinates, cosines, or similarities to a bank of sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.device_batches import in_full, products
from cseb.errors import BadSpec, between
from cseb.methods.option_types import AtLeast, Between, Positive, Rate
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import TeacherTerm
from cseb.parts.terms.infonce import cosines, off_diagonal, row_cosines

CorpusSize = Annotated[int, AtLeast(2)]


def spearman(profiles: Tensor) -> Tensor:
    """Return Spearman's correlation of all pairs of rows: (B, N) to (B, B). Ties are ranked in order."""
    ranks = profiles.argsort(dim=1, stable=True).argsort(dim=1).float()
    ranks = F.normalize(ranks - ranks.mean(dim=1, keepdim=True), dim=1)
    return products(ranks, ranks)


def masked_mse(cosine: Tensor, targets: Tensor, low: float, high: float) -> Tensor:
    """Return the mean squared difference over pairs with target in [low, high]; 0 if there are none. (B, B) both."""
    counted = (targets >= low) & (targets <= high)
    return (counted * (cosine - targets).square()).sum() / (counted.sum() + 1e-8)


def evenly_spaced(vectors: Tensor, most: int) -> Tensor:
    """Return evenly spaced rows of these vectors (N, D), `most` of them or all, of length 1."""
    rows = torch.linspace(0, len(vectors) - 1, min(most, len(vectors))).long()
    return F.normalize(vectors[rows], dim=-1)


class BankTerm(TeacherTerm):
    """Base of terms that read similarities to the teacher's vectors of `corpus` sentences that training draws, or all.

    The sentences are evenly spaced. sides: how many views of them are kept.
    """

    sides: ClassVar[int] = 1

    def precompute_targets(self, frozen: Sequence[Sequence[Tensor]]) -> None:
        most: Any = self.corpus  # an option of each
        self._banks = [evenly_spaced(view, most) for view in frozen[0][: self.sides]]

    def banks(self, like: Tensor) -> list[Tensor]:
        """Return the vectors (K, D) of each view, of length 1, on the device and in the type of another tensor."""
        self._banks = [bank.to(like.device, like.dtype) for bank in self._banks]
        return self._banks


class RankMSE(BankTerm):
    """Cosines of first and second views match the rank correlation of their similarities to a corpus.

    corpus: how many of the sentences that training draws at most are ranked, by the frozen teacher. low, high: bounds
    of the rank correlation between which a pair counts. Source: Seonwoo et al. 2023 (RankEncoder); authors' code.
    """

    preset: ClassVar = {"weight": 0.05}  # RankEncoder release, SimCSE variant
    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)
    corpus: CorpusSize = 10_000
    low: Annotated[float, Between(-1, 1)] = 0.5
    high: float = 0.9999

    def __post_init__(self) -> None:
        between(self.low, 1, self.high, "rank_mse: high")

    def forward(self, step: LossInputs) -> Tensor:
        vectors = F.normalize(step.frozen[0][0], dim=-1)
        targets = spearman(products(vectors, *self.banks(vectors)))
        return masked_mse(cosines(step.views[0].z, step.views[1].z), targets, self.low, self.high)


def shuffled_groups(ordered: Tensor, mass: float, rng: torch.Generator) -> Tensor:
    """Return positions (B, N), shuffled within groups of probability `mass`.

    ordered: (B, N) scores, falling; their softmax is the probability. Source: group-P shuffling of DistillCSE.
    """
    places = torch.arange(ordered.shape[1], device=ordered.device).expand_as(ordered)
    if not mass:
        return places
    last = math.ceil(1 / mass) - 1  # takes what is left, the place at which all probability is used up among it
    masses = ordered.softmax(dim=1)
    if torch.are_deterministic_algorithms_enabled():  # PyTorch has no deterministic sum of this kind on a GPU
        cumulated = masses.cpu().cumsum(dim=1).to(masses.device)
    else:
        cumulated = masses.cumsum(dim=1)
    groups = (cumulated / mass).floor().clamp(max=last)
    return (groups + torch.rand(ordered.shape, generator=rng, device=ordered.device)).argsort(dim=1)


def listwise_ce(scores: Tensor, targets: Tensor, cold: float, colder: float) -> Tensor:
    """Return the cross-entropy of both rows' distributions, in nats. scores, targets: (B, N); their temperatures."""
    return -((targets / colder).softmax(dim=1) * (scores / cold).log_softmax(dim=1)).sum(dim=1).mean()


class ListwiseCE(TeacherTerm):
    """The distribution of the first view's cosines within the batch matches that of the frozen model.

    student, teacher: temperatures. group: probability of the groups within which the teacher's targets are exchanged
    at random, 0 for none. Source: Xu et al. 2023 (DistillCSE); authors' code.
    """

    version: ClassVar[int] = 3
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", "frozen", views=1, models=ALL)
    student: Positive = 0.025  # DistillCSE release
    teacher: Positive = 0.0125
    group: Rate = 0.1

    def __post_init__(self) -> None:
        if self.group and self.group < 1e-4:
            raise BadSpec(f"listwise_ce: group is {self.group!r}; 0 shuffles nothing, else at least 0.0001")

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, 0 for a sentence alone."""
        z = step.views[0].z
        if len(z) == 1:
            return z.sum() * 0
        targets = torch.stack([cosines(views[0], views[0]) for views in step.frozen]).mean(dim=0)
        ordered, order = targets.fill_diagonal_(float("-inf")).sort(dim=1, descending=True)
        ordered, order = ordered[:, :-1], order[:, :-1]  # a sentence itself comes last
        order = order.gather(1, shuffled_groups(ordered, self.group, step.rng))
        return listwise_ce(cosines(z, z).gather(1, order), ordered, self.student, self.teacher)


@in_full
def regression(student: Tensor, target: Tensor, form: str) -> Tensor:
    """Return the distance of student and target vectors (B, D), a scalar.

    mse: mean squared difference of all numbers, as they are. l2: squared distance of unit vectors, mean over rows,
    2 (1 - cosine). cosine: 1 - cosine.
    """
    if form == "mse":
        return (student - target).square().mean()
    distance = 1 - row_cosines(student, target).mean()
    return 2 * distance if form == "l2" else distance


class Regress(TeacherTerm):
    """A sentence's vector matches the teacher's.

    form: see `regression`. students: "first" view alone; "both", of which each is compared with the teacher's vector
    of the first; "each_other": besides, both with one another. Source: Reimers & Gurevych 2020 (mse, as
    sentence-transformers' MSELoss); Limkonchotiwat et al. 2022, section 4.2 (L2, Dual-L2 and SKD).
    """

    views: ClassVar[int] = 1
    same_width: ClassVar[bool] = True
    form: Literal["mse", "l2", "cosine"] = "l2"
    students: Literal["first", "both", "each_other"] = "first"

    def __post_init__(self) -> None:
        self.views = 1 if self.students == "first" else 2  # type: ignore[misc]  # as many as this one compares
        self.reads = reads("z", "frozen", views=self.views, models=1)

    def forward(self, step: LossInputs) -> Tensor:
        target = step.frozen[0][0]
        views = [view.z for view in step.views[: self.views]]
        losses = [regression(view, target, self.form) for view in views]
        if self.students == "each_other":
            losses.append(regression(views[0], views[1], self.form))
        return torch.stack(losses).sum()


def relation_gap(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean squared difference of cosines of all pairs of different rows. (B, D) and (B, E); B >= 2."""
    gaps = (cosines(student, student) - cosines(teacher, teacher)).square()
    return off_diagonal(gaps).mean()


class Relational(TeacherTerm):
    """Cosines within the batch match the teacher's, which may have any width.

    Source: ours, in no paper: the pairs of Park et al. 2019 (relational distillation) by their cosines.
    """

    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", "frozen", views=1, models=1)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0; 0 for a sentence alone."""
        z = step.views[0].z
        return relation_gap(z, step.frozen[0][0]) if len(z) > 1 else z.sum() * 0


def bank_ce(student: Tensor, teacher: Tensor, bank: Tensor, cold: float, colder: float) -> Tensor:
    """Return the cross-entropy of the teacher's and student's distributions over a bank, in nats, mean over rows.

    student, teacher: (B, D); bank: (K, D), unit vectors of the teacher. cold, colder: temperatures of student and
    teacher.
    """
    targets = (cosines(teacher, bank) / colder).softmax(dim=1)
    return -(targets * (cosines(student, bank) / cold).log_softmax(dim=1)).sum(dim=1).mean()


class BankCE(BankTerm):
    """Both views' similarities to a bank of sentences match the teacher's.

    teacher, student: temperatures. control: weight of the first view, the second has what is left of 1. corpus: how
    many of the sentences that training draws are the bank at most, all or evenly spaced ones. Source: Limkonchotiwat et
    al. 2022 (ConGen), eq. 1 to 3; the authors' code has a queue of 16,384 or more in their place.
    """

    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)
    same_width: ClassVar[bool] = True
    teacher: Positive = 0.05  # ConGen, BERT-base
    student: Positive = 0.07
    control: Rate = 0.5
    corpus: CorpusSize = 10_000

    def forward(self, step: LossInputs) -> Tensor:
        target = step.frozen[0][0]
        (bank,) = self.banks(target)
        control, other = (bank_ce(view.z, target, bank, self.student, self.teacher) for view in step.views[:2])
        return self.control * control + (1 - self.control) * other


def bank_kl(student: Tensor, teacher: Tensor, bank: Tensor, cold: float, colder: float) -> Tensor:
    """Return the divergence of the student's distribution over a bank from the teacher's, in nats, mean over rows."""
    return bank_ce(student, teacher, bank, cold, colder) - bank_ce(teacher, teacher, bank, colder, colder)


class CrossViewKL(BankTerm):
    """Each view's similarities to a bank of sentences match the teacher's similarities of the other view.

    teacher, student: temperatures. corpus: how many of the sentences that training draws are the bank of each view at
    most. Source: Limkonchotiwat et al. 2023 (SCT), eq. 2 and 4, without the factors 1/2, as in the authors' code, which
    has queues of 65,536 in their place.
    """

    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)
    same_width: ClassVar[bool] = True
    sides: ClassVar[int] = 2
    teacher: Positive = 0.04  # SCT release, distillation, BERT-base
    student: Positive = 0.05
    corpus: CorpusSize = 10_000

    def forward(self, step: LossInputs) -> Tensor:
        targets = step.frozen[0]
        students = (step.views[1].z, step.views[0].z)
        sides = zip(students, targets, self.banks(targets[0]), strict=False)
        return torch.stack([bank_kl(*side, self.student, self.teacher) for side in sides]).sum()
