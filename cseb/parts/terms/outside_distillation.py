"""Distillation from the vectors of a frozen teacher: by coordinates, cosines, or similarities to a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import FROZEN
from cseb.methods.option_types import AtLeast, Positive, Rate
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.distillation import evenly_spaced
from cseb.parts.terms.infonce import cosines

CorpusSize = Annotated[int, AtLeast(2)]
STUDENTS = {"first": 1, "both": 2, "each_other": 2}  # views a choice of students reads


def regression(student: Tensor, target: Tensor, form: str) -> Tensor:
    """Return the distance of student and target vectors (B, D), a scalar.

    mse: mean squared difference of all numbers, as they are. l2: squared distance of unit vectors, mean over rows,
    2 (1 - cosine). cosine: 1 - cosine. Source: Reimers & Gurevych 2020 (mse, as in sentence-transformers' MSELoss);
    Limkonchotiwat et al. 2022, section 4.2 (l2).
    """
    if form == "mse":
        return (student - target).square().mean()
    distance = 1 - F.cosine_similarity(student, target, dim=-1).mean()
    return 2 * distance if form == "l2" else distance


class Regress(nn.Module):
    """A sentence's vector matches the teacher's.

    form: see `regression`. students: "first" view alone; "both", of which each is compared with the teacher's vector
    of the first; "each_other": besides, both with one another. Source: Reimers & Gurevych 2020; Limkonchotiwat et al.
    2022, section 4.2 (L2, Dual-L2 and SKD).
    """

    preset: ClassVar = {"form": "l2", "students": "first"}
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 1
    same_width: ClassVar[bool] = True

    def __init__(self, form: Literal["mse", "l2", "cosine"], students: Literal["first", "both", "each_other"]) -> None:
        super().__init__()
        self.form, self.students = form, students
        self.views = STUDENTS[students]  # type: ignore[misc]  # as many as this one compares
        self.reads = reads("z", "frozen", views=STUDENTS[students], models=1)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0."""
        target = step.frozen[0][0]
        views = [view.z for view in step.views[: STUDENTS[self.students]]]
        losses = [regression(view, target, self.form) for view in views]
        if self.students == "each_other":
            losses.append(regression(views[0], views[1], self.form))
        return torch.stack(losses).sum()


def relation_gap(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean squared difference of cosines of all pairs of different rows. (B, D) and (B, E); B >= 2."""
    gaps = (cosines(student, student) - cosines(teacher, teacher)).square()
    others = ~torch.eye(len(gaps), dtype=torch.bool, device=gaps.device)
    return gaps[others].mean()


class Relational(nn.Module):
    """Cosines within the batch match the teacher's, which may have any width.

    Source: ours, in no paper: the pairs of Park et al. 2019 (relational distillation) by their cosines.
    """

    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", "frozen", views=1, models=1)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0; 0 for a sentence alone."""
        z = step.views[0].z
        return relation_gap(z, step.frozen[0][0]) if len(z) > 1 else z.sum() * 0


def bank_ce(student: Tensor, teacher: Tensor, bank: Tensor, cold: float, colder: float) -> Tensor:
    """Return the cross-entropy of the teacher's and student's distributions over a bank, in nats, mean over rows.

    student, teacher: (B, D); bank: (K, D), unit vectors of the teacher. cold, colder: temperatures of student and
    teacher. Source: Limkonchotiwat et al. 2022 (ConGen), eq. 1 and 2.
    """
    targets = (cosines(teacher, bank) / colder).softmax(dim=1)
    return -(targets * (cosines(student, bank) / cold).log_softmax(dim=1)).sum(dim=1).mean()


class BankCE(nn.Module):
    """Both views' similarities to a bank of sentences match the teacher's.

    teacher, student: temperatures. control: weight of the first view, the second has what is left of 1. corpus: how
    many of the sentences that training draws are the bank at most, all or evenly spaced ones. Source: Limkonchotiwat et
    al. 2022 (ConGen), eq. 1 to 3; the authors' code has a queue of 16,384 or more in their place.
    """

    preset: ClassVar = {"teacher": 0.05, "student": 0.07, "control": 0.5, "corpus": 10_000}  # ConGen, BERT-base
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)
    same_width: ClassVar[bool] = True

    def __init__(self, teacher: Positive, student: Positive, control: Rate, corpus: CorpusSize) -> None:
        super().__init__()
        self.teacher, self.student, self.control, self.size = teacher, student, control, corpus
        self.bank = torch.zeros(0, 0)

    def precompute_targets(self, frozen: Sequence[Sequence[Tensor]]) -> None:
        """Store the teacher's vectors (N, D) of all sentences drawn, or an evenly spaced sample."""
        self.bank = evenly_spaced(frozen[0][0], self.size)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        target = step.frozen[0][0]
        self.bank = self.bank.to(target.device, target.dtype)
        control, other = (bank_ce(view.z, target, self.bank, self.student, self.teacher) for view in step.views[:2])
        return self.control * control + (1 - self.control) * other


def bank_kl(student: Tensor, teacher: Tensor, bank: Tensor, cold: float, colder: float) -> Tensor:
    """Return the divergence of the student's distribution over a bank from the teacher's, in nats, mean over rows.

    See `bank_ce`, from which the teacher's own entropy is taken off. Source: Limkonchotiwat et al. 2023 (SCT), eq. 2.
    """
    return bank_ce(student, teacher, bank, cold, colder) - bank_ce(teacher, teacher, bank, colder, colder)


class CrossViewKL(nn.Module):
    """Each view's similarities to a bank of sentences match the teacher's similarities of the other view.

    teacher, student: temperatures. corpus: how many of the sentences that training draws are the bank of each view at
    most. Source: Limkonchotiwat et al. 2023 (SCT), eq. 4, without the factors 1/2, as in the authors' code, which has
    queues of 65,536 in their place.
    """

    preset: ClassVar = {"teacher": 0.04, "student": 0.05, "corpus": 10_000}  # SCT release, distillation, BERT-base
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)
    same_width: ClassVar[bool] = True

    def __init__(self, teacher: Positive, student: Positive, corpus: CorpusSize) -> None:
        super().__init__()
        self.teacher, self.student, self.size = teacher, student, corpus
        self.banks = [torch.zeros(0, 0)] * 2

    def precompute_targets(self, frozen: Sequence[Sequence[Tensor]]) -> None:
        """Store the teacher's vectors (N, D) of both views of all sentences drawn, or an evenly spaced sample."""
        self.banks = [evenly_spaced(view, self.size) for view in frozen[0][:2]]

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0."""
        targets = step.frozen[0]
        self.banks = [bank.to(targets[0].device, targets[0].dtype) for bank in self.banks]
        return torch.stack(
            [
                bank_kl(step.views[1 - side].z, targets[side], self.banks[side], self.student, self.teacher)
                for side in (0, 1)
            ]
        ).sum()
