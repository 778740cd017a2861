"""The contrast with a guide: its equation in loops over published-form cases, the trap of equal texts, edges."""

import math

import pytest
import torch

from cseb.parts.terms.false_negatives import GuidedNCE, guided_nce, left_out
from tests.parts.terms import two_views
from tests.parts.terms.two_views import cosine, step

ANCHORS = [[1.0, 0.2], [0.9, 0.5], [-0.3, 1.0]]
POSITIVES = [[0.8, 0.3], [0.7, 0.8], [0.1, 1.0]]
HARD = [[0.2, -1.0], [1.0, 0.1], [-1.0, 0.4]]
GUIDE_ANCHORS = [[1.0, 0.0, 0.2], [0.95, 0.1, 0.1], [0.0, 1.0, 0.3]]
GUIDE_POSITIVES = [[0.9, 0.2, 0.4], [0.6, 0.1, 0.8], [0.1, 0.9, 0.1]]
GUIDE_HARD = [[-0.5, 0.3, 1.0], [0.99, 0.05, 0.15], [0.0, 0.6, 0.9]]
SAME = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]  # what a guide says of two renderings of one text

PLAIN = [[0, 0, 0, 1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1, 0, 0, 1]]
CASES = [  # hard negatives, temperature, margin, strategy, further blocks, loss, what is left out
    (False, 0.01, 0.0, "absolute", True, 1.4701781e-05, PLAIN),
    (False, 0.5, 0.0, "absolute", True, 1.076904208141, PLAIN),
    (False, 0.5, 0.1, "absolute", True, 0.979401125464, [[0, 0, 0, 1, 1, 0, 1, 1, 0], *PLAIN[1:]]),
    (False, 0.5, 0.05, "relative", True, 1.076904208141, PLAIN),
    (False, 0.5, 0.0, "absolute", False, 0.512761203773, [[0, 0, 0], [1, 0, 0], [0, 0, 0]]),
    (True, 0.5, 0.0, "absolute", True, 1.174183049186,
     [[*PLAIN[0], 0, 1, 0], [*PLAIN[1], 0, 1, 0], [*PLAIN[2], 0, 0, 0]]),
]  # fmt: skip


def doubles(*sides: list[list[float]]) -> tuple[torch.Tensor, ...]:
    return tuple(map(two_views.doubles, sides))


def by_hand(sides: list, guides: list, tau: float, margin: float, relative: bool, more: bool) -> float:
    """The objective column by column; a text beside itself is no candidate."""
    total = 0.0
    for i in range(3):
        own = cosine(guides[0][i], guides[1][i])
        bar = own - (margin * abs(own) if relative else margin)
        blocks = [(0, 1), *([(0, 0), (1, 1)] if more else []), *([(0, 2)] if len(sides) > 2 else [])]
        logits = []
        for left, right in blocks:
            for j in range(3):
                positive = (left, right) == (0, 1) and i == j
                itself = left == right and i == j
                if positive or not (itself or cosine(guides[left][i], guides[right][j]) > bar):
                    logits.append(cosine(sides[left][i], sides[right][j]) / tau)
        wanted = cosine(sides[0][i], sides[1][i]) / tau
        total += math.log(sum(math.exp(value - wanted) for value in logits))
    return total / 3


@pytest.mark.parametrize(("hard", "tau", "margin", "strategy", "more", "loss", "masked"), CASES)
def test_loss_and_masks_worked_out_by_hand(
    hard: bool, tau: float, margin: float, strategy: str, more: bool, loss: float, masked: list
) -> None:
    sides = [ANCHORS, POSITIVES, *([HARD] if hard else [])]
    guides = [GUIDE_ANCHORS, GUIDE_POSITIVES, *([GUIDE_HARD] if hard else [])]
    out = left_out(doubles(*guides), margin, strategy, more, more)
    assert out.int().tolist() == masked
    value = guided_nce(doubles(*sides), out, tau, more, more).item()
    assert value == pytest.approx(loss, abs=1e-8)
    assert value == pytest.approx(by_hand(sides, guides, tau, margin, strategy == "relative", more), abs=1e-10)


@pytest.mark.parametrize(
    ("margin", "loss"), [(0.0, 1.426915486208), (0.1, 1.426915486208), (0.25, 1.11029825797), (0.45, 0.87285848842)]
)
def test_equal_texts_are_left_out_of_their_own_denominator(margin: float, loss: float) -> None:
    out = left_out(doubles(SAME, SAME), margin, "absolute", True, True)
    assert guided_nce(doubles(ANCHORS, POSITIVES), out, 0.5, True, True).item() == pytest.approx(loss, abs=1e-8)


@pytest.mark.parametrize(("anchors", "positives"), [(True, False), (False, True)])
def test_anchors_or_positives_alone_are_negatives_of_one_another(anchors: bool, positives: bool) -> None:
    first, second = doubles(ANCHORS, POSITIVES)
    alike = first if anchors else second
    total = 0.0
    for i in range(3):
        own = cosine(first[i], second[i])
        candidates = [cosine(first[i], second[j]) for j in range(3) if j != i]
        candidates += [cosine(alike[i], alike[j]) for j in range(3) if j != i]
        total += math.log1p(sum(math.exp((value - own) / 0.5) for value in candidates if value <= own))
    loss = GuidedNCE(temperature=0.5, anchors=anchors, positives=positives)(step(first, second))
    assert loss.item() == pytest.approx(total / 3)


def test_hard_negatives_that_the_teacher_has_not_seen_do_not_count() -> None:
    sides, frozen = doubles(ANCHORS, POSITIVES, HARD), [doubles(GUIDE_ANCHORS, GUIDE_POSITIVES)]
    losses = [GuidedNCE(temperature=0.5, guide="teacher")(step(*some, frozen=frozen)) for some in (sides, sides[:2])]
    assert losses[0] == losses[1]
    expected = by_hand([ANCHORS, POSITIVES], [GUIDE_ANCHORS, GUIDE_POSITIVES], 0.5, 0.0, False, True)
    assert losses[1].item() == pytest.approx(expected)


def test_without_negatives_there_is_no_loss() -> None:
    sides, guides = doubles(ANCHORS, POSITIVES), doubles(GUIDE_ANCHORS, GUIDE_POSITIVES)
    nothing = left_out(guides, 1.0, "absolute", False, False)
    assert nothing.int().sum() == 6
    assert guided_nce(sides, nothing, 0.05, False, False).item() == 0.0


def test_copies_of_the_own_positive_stay_whatever_is_rounded() -> None:
    rng = torch.Generator().manual_seed(0)
    for _ in range(200):
        anchors, positives = torch.randn(2, 8, 48, generator=rng)
        positives[5] = positives[2]
        excluded = left_out((anchors, positives), 0.0, "absolute", False, False)
        assert not excluded[2, 5]
        assert not excluded[5, 2]


@pytest.mark.parametrize("strategy", ["absolute", "relative"])
@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("sides", [2, 3])
def test_it_is_sentence_transformers(monkeypatch: pytest.MonkeyPatch, strategy: str, margin: float, sides: int) -> None:
    library = pytest.importorskip("sentence_transformers.sentence_transformer.losses.gist_embed")
    monkeypatch.setattr(library, "embed_columns", lambda model, features: [column[model] for column in features])
    rng = torch.Generator().manual_seed(7)
    student = torch.randn(sides, 12, 6, generator=rng, dtype=torch.float64)
    guide = torch.randn(sides, 12, 5, generator=rng, dtype=torch.float64)
    guide[1, 4] = guide[1, 9]

    reference = library.GISTEmbedLoss.__new__(library.GISTEmbedLoss)
    torch.nn.Module.__init__(reference)
    settings = {"margin": margin, "margin_strategy": strategy, "temperature": 0.05, "must_retokenize": False}
    settings |= {"contrast_anchors": True, "contrast_positives": True, "gather_across_devices": False}
    for name, value in settings.items():
        setattr(reference, name, value)
    reference.model, reference.guide = "student", "guide"
    reference.similarity_fct = torch.nn.CosineSimilarity(dim=-1)
    reference.cross_entropy_loss = torch.nn.CrossEntropyLoss()

    theirs, ours = student.clone().requires_grad_(), student.clone().requires_grad_()
    features = [{"student": s, "guide": g} for s, g in zip(theirs, guide, strict=True)]
    expected = reference(features, torch.empty(0))
    excluded = left_out(tuple(guide), margin, strategy, True, True)
    loss = guided_nce(tuple(ours), excluded, 0.05, True, True)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-12)
    expected.backward(), loss.backward()
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-12)
