"""DeCLUTR's two terms: the equation in loops, negatives of the same document, words hidden in anchors alone."""

import math
from dataclasses import replace

import pytest
import torch

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs
from cseb.parts.terms.contrast_in_batch import SpanNTXent
from cseb.parts.terms.masked_language_modelling import IGNORED, AnchorMLM
from cseb.training.batches import Feed
from cseb.training.build import build
from tests.parts.terms.two_views import step
from tests.training.small_runs import DOCUMENTS, Tiny, method


@pytest.mark.parametrize(("anchors", "positives"), [(2, 2), (1, 1), (1, 3), (3, 1)])
def test_each_anchor_meets_the_mean_of_its_own_positives_among_all_others(anchors: int, positives: int) -> None:
    documents = 4
    rng = torch.Generator().manual_seed(0)
    z = torch.randn(anchors * (1 + positives), documents, 5, generator=rng, dtype=torch.float64)
    spans, means = {}, {}
    for at in range(anchors):
        for document in range(documents):
            own = [z[anchors + at * positives + number, document] for number in range(positives)]
            spans[at, document], means[at, document] = z[at, document], sum(own) / positives
    everything = [("span", key, vector) for key, vector in spans.items()]
    everything += [("mean", key, vector) for key, vector in means.items()]
    costs = []
    for kind, key, vector in everything:
        alike = {
            (other, name): math.exp(torch.cosine_similarity(vector, each, dim=0).item() / 0.05)
            for other, name, each in everything
            if (other, name) != (kind, key)
        }
        partner = ("mean" if kind == "span" else "span", key)
        costs.append(-math.log(alike[partner] / sum(alike.values())))
    assert len(costs) == 2 * anchors * documents
    loss = SpanNTXent(temperature=0.05, anchors=anchors, positives=positives)(step(*z))
    assert loss.item() == pytest.approx(sum(costs) / len(costs), rel=1e-9)


def test_words_are_hidden_in_anchors_alone_and_every_term_reads_them_hidden(tiny: Tiny) -> None:
    built = build(method("declutr"), tiny("bert"), 0)
    (mlm,) = [weighted.term for weighted in built.terms if isinstance(weighted.term, AnchorMLM)]
    assert mlm.corrupt_contrast
    recipe = replace(built.recipe, steps=1)
    (batch,) = Feed(built.views, built.encoder, recipe, DOCUMENTS["declutr"], 0, torch.device("cpu"))
    ids, _, content, _ = batch.fields
    mlm.rate = 1.0
    hidden, targets = mlm.hide(ids, content, torch.Generator().manual_seed(0))
    anchors = 2 * len(batch.rows)
    assert torch.equal(hidden[anchors:], ids[anchors:]) and (targets[anchors:] == IGNORED).all()
    own = content[:anchors].bool()
    assert torch.equal(targets[:anchors][own], ids[:anchors][own]) and (targets[:anchors][~own] == IGNORED).all()
    changed = (hidden[:anchors] != ids[:anchors])[own].float().mean().item()
    assert 0.75 < changed < 0.97  # 80 % hidden, 10 % another word


def test_what_is_named_are_the_hidden_words_of_the_anchors() -> None:
    """Logits of a wrong word everywhere, of the right one at one place: the mean over what was hidden."""
    ids = torch.tensor([[5, 6, 7], [8, 9, 5]])
    views = [EncodedView(z := torch.ones(1, 2), z, row[None], torch.ones_like(row[None]), row[None]) for row in ids]
    views += [replace(views[0]) for _ in range(4)]
    targets = torch.full((6, 3), IGNORED)
    targets[0, 1], targets[1, 2], targets[4, 0] = 3, 4, 2  # the last one belongs to a positive
    sure = torch.nn.functional.one_hot(torch.tensor([[3, 3, 3], [3, 3, 3]]), 10) * 2.0

    def read(read_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        assert torch.equal(read_ids, ids)
        return sure

    inputs = LossInputs(views, torch.Generator(), read=read, language=lambda states: states, targets=targets)
    shape = type("Shape", (), {"mask_token": "[MASK]", "language": True, "mask_id": 1, "vocabulary": 10})
    right, wrong = math.log(math.exp(2) + 9) - 2, math.log(math.exp(2) + 9)
    read_ids = AnchorMLM(rate=0.15, anchors=2, positives=2, shape=shape)(inputs)
    assert read_ids.item() == pytest.approx((right + wrong) / 2, rel=1e-6)
