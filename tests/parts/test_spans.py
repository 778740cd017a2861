"""Spans of documents: where they lie, how long they are, and lines that are no documents."""

import numpy as np
import pytest

from cseb.errors import BadData
from cseb.parts.spans import Spans
from tests.training.small_runs import DOCUMENTS, Tiny, built_of

WIDE = {"anchors": 2, "positives": 3, "shortest": 10, "longest": 50, "place": "any"}


def drawn(tokens: int = 200, room: int = 500, seeds: int = 300, **options: object) -> list[tuple[list, list[list]]]:
    """For every seed anchors, and of each of them its positives."""
    made = Spans(**{**WIDE, **options})
    anchors, positives = made.spans
    samples = [list(made.draw(tokens, room, np.random.default_rng(seed))) for seed in range(seeds)]
    assert all(len(spans) == made.views for spans in samples)
    edges = range(positives, positives * anchors, positives)
    return [(spans[:anchors], np.split(np.array(spans[anchors:]), edges)) for spans in samples]


@pytest.mark.parametrize("tokens", [200, 201, 1_000])
@pytest.mark.parametrize("place", ["any", "adjacent", "subsuming"])
def test_anchors_are_separate_and_positives_where_asked(place: str, tokens: int) -> None:
    for anchors, positives in drawn(tokens, place=place):
        assert all(first >= 0 and end <= tokens and 10 <= end - first <= 50 for first, end in anchors)
        (_, end), (first, _) = sorted(anchors)
        assert end <= first
        for (first, end), around in zip(anchors, positives, strict=True):
            assert all(a >= 0 and b <= tokens and 10 <= b - a <= 50 for a, b in around)
            beside = {
                "any": [a <= end and b >= first for a, b in around],
                "adjacent": [a == end or b == first for a, b in around],
                "subsuming": [first <= a and b <= end for a, b in around],
            }
            assert all(beside[place])


def test_anchors_are_long_and_positives_short_as_the_beta_distributions_say() -> None:
    samples = drawn(2_000, seeds=2_000)
    long = [end - first for anchors, _ in samples for first, end in anchors]
    short = [end - first for _, positives in samples for around in positives for first, end in around]
    assert np.mean(long) == pytest.approx(10 + 40 * 4 / 6 - 0.5, abs=0.4)  # whole tokens: half of one less
    assert np.mean(short) == pytest.approx(10 + 40 * 2 / 6 - 0.5, abs=0.3)


def test_a_positive_touches_the_anchor_on_either_side_or_is_a_short_part_of_it() -> None:
    behind = [a == end for anchors, positives in drawn(2_000, place="adjacent") for (_, end), around in
              zip(anchors, positives, strict=True) for a, _ in around]  # fmt: skip
    assert np.mean(behind) == pytest.approx(0.5, abs=0.05)
    fractions = [(b - a - 9.5) / (end - first - 10) for anchors, positives in drawn(2_000, place="subsuming") for
                 (first, end), around in zip(anchors, positives, strict=True) for a, b in around
                 if end - first > 20]  # fmt: skip
    assert np.mean(fractions) == pytest.approx(2 / 6, abs=0.03)


def test_every_part_of_a_document_is_drawn() -> None:
    counts = np.zeros(400)
    for anchors, _ in drawn(400, seeds=1_000):
        for first, end in anchors:
            counts[first:end] += 1
    stretches = counts.reshape(8, 50).sum(axis=1)
    assert counts.min() > 0 and stretches.min() > 0.7 * stretches.mean()


def test_no_two_anchors_lie_in_neighbouring_stretches_where_there_is_room() -> None:
    for anchors, _ in drawn(400):
        stretch, other = (first // 50 for first, _ in anchors)
        assert abs(stretch - other) > 1


@pytest.mark.parametrize("anchors", [1, 2, 3, 5])
def test_so_many_anchors_fit_into_the_shortest_document_for_them(anchors: int) -> None:
    for spans_of_anchors, _ in drawn(2 * anchors * 50, anchors=anchors):
        edges = [edge for span in sorted(spans_of_anchors) for edge in span]
        assert edges == sorted(edges)  # none overlaps another


def test_spans_are_shorter_in_a_shorter_document_and_for_an_encoder_that_takes_fewer_tokens() -> None:
    for at_most, samples in ((25, drawn(100)), (12, drawn(10_000, room=12)), (4, drawn(16))):
        spans = [span for anchors, positives in samples for span in (*anchors, *np.concatenate(positives))]
        assert max(end - first for first, end in spans) <= at_most


def test_what_is_drawn_are_runs_of_the_documents_tokens_view_after_view(tiny: Tiny) -> None:
    built = built_of(tiny, "declutr+spans(shortest=2,longest=12)")
    encoder, maker, documents = built.encoder, built.views, DOCUMENTS["declutr"][:3]
    tokens = maker.redraw(encoder, documents, 10, np.random.default_rng(0))
    assert len(tokens) == maker.views * 3
    whole = [encoder.tokenise([document], 10_000).own(0).tolist() for document in documents]
    for row in range(len(tokens)):
        result = tokens.own(row).tolist()
        ids = whole[row % 3]
        assert 1 <= len(result) <= 8 and any(ids[at : at + len(result)] == result for at in range(len(ids)))
    again = maker.redraw(encoder, documents, 10, np.random.default_rng(0))
    assert again.flat.tolist() == tokens.flat.tolist()
    with pytest.raises(BadData, match="makes 2 tokens of a document"):
        maker.redraw(encoder, [*documents, "a man"], 10, np.random.default_rng(0))


def test_a_prompt_takes_no_room(tiny: Tiny) -> None:
    built = built_of(tiny, "declutr+mask_prompt+spans(shortest=12,longest=12)")
    tokens = built.views.redraw(built.encoder, DOCUMENTS["declutr"][:3], 10, np.random.default_rng(0))
    assert {len(tokens.own(row)) for row in range(len(tokens))} == {8}
