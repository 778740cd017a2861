"""PCL's terms, groups of positives and what two networks tell each other: the equations in loops."""

import math
from dataclasses import replace

import pytest

from cseb.parts import LossInputs
from cseb.parts.terms.agreement import GroupSoftmaxBCE, KLPeers
from tests.parts.terms.two_views import cosine, random, step


def test_groups_equal_the_sums_written_out() -> None:
    views, edits = random(3), random(3, seed=5)
    main = step(*views, edits=edits)
    other = step(*random(3, seed=8), edits=random(3, seed=9))

    def row(left: LossInputs, right: LossInputs, i: int) -> list[float]:
        group = [right.views[1].z[i], *(edit.z[i] for edit in right.edits)]
        rest = [right.views[0].z[j] for j in range(3) if j != i]
        return [cosine(left.views[0].z[i], value) / 0.05 for value in (*group, *rest)]

    def chances(left: LossInputs, right: LossInputs, i: int) -> list[float]:
        exps = [math.exp(value) for value in row(left, right, i)]
        return [value / sum(exps) for value in exps]

    squashed = [[1 / (1 + math.exp(-p)) for p in chances(main, main, i)] for i in range(3)]
    bce = -sum(math.log(p if k < 3 else 1 - p) for line in squashed for k, p in enumerate(line)) / 15
    assert GroupSoftmaxBCE(temperature=0.05)(main).item() == pytest.approx(bce)
    pairs = [((main, other), (other, main)), ((main, main), (other, other))]
    total = sum(
        b * (math.log(b) - math.log(a))
        for first, second in pairs
        for i in range(3)
        for a, b in zip(chances(*first, i), chances(*second, i), strict=True)
    )
    values = replace(main, peer=other)
    assert KLPeers(temperature=0.05, reduction="element")(values).item() == pytest.approx(total / 15)
    assert KLPeers(temperature=0.05, reduction="batchmean")(values).item() == pytest.approx(total / 3)
    assert KLPeers(temperature=0.05, reduction="element")(replace(main, peer=main)).item() == pytest.approx(0)


def test_both_networks_get_a_gradient() -> None:
    main, other = random(3), random(3, seed=8)
    KLPeers(temperature=0.5, reduction="element")(replace(step(*main), peer=step(*other))).backward()
    assert all(z.grad is not None and z.grad.any() for z in (*main, *other))
