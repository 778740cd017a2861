"""Spans of documents: where they lie, how long they are, and lines that are no documents."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts.spans import Spans
from cseb.training.build import build, check
from tests.command_line import call
from tests.stderr_lines import without_progress
from tests.training.small_runs import DOCUMENTS

Tiny = Callable[[str], Path]
WIDE = {"anchors": 2, "positives": 3, "shortest": 10, "longest": 50, "place": "any"}


def drawn(tokens: int = 200, room: int = 500, seeds: int = 300, **options: object) -> list[tuple[list, list[list]]]:
    """For every seed anchors, and of each of them its positives."""
    made = Spans(**{**WIDE, **options})
    anchors, positives = made.spans
    found = [list(made.draw(tokens, room, np.random.default_rng(seed))) for seed in range(seeds)]
    assert all(len(spans) == made.views for spans in found)
    return [
        (spans[:anchors], np.split(np.array(spans[anchors:]), range(positives, positives * anchors, positives)))
        for spans in found
    ]


@pytest.mark.parametrize("tokens", [200, 201, 1_000])
@pytest.mark.parametrize("place", ["any", "adjacent", "subsuming"])
def test_spans_lie_in_the_document_anchors_apart_and_positives_where_they_are_asked_for(
    place: str, tokens: int
) -> None:
    for anchors, positives in drawn(tokens, place=place):
        assert all(first >= 0 and end <= tokens and 10 <= end - first <= 50 for first, end in anchors)
        (_, end), (first, _) = sorted(anchors)
        assert end <= first
        for (first, end), around in zip(anchors, positives, strict=True):
            assert all(a >= 0 and b <= tokens and 10 <= b - a <= 50 for a, b in around)
            near = {
                "any": [a <= end and b >= first for a, b in around],
                "adjacent": [a == end or b == first for a, b in around],
                "subsuming": [first <= a and b <= end for a, b in around],
            }
            assert all(near[place])


def test_anchors_are_long_and_positives_short_as_the_beta_distributions_say() -> None:
    found = drawn(2_000, seeds=2_000)
    long = [end - first for anchors, _ in found for first, end in anchors]
    short = [end - first for _, positives in found for around in positives for first, end in around]
    assert np.mean(long) == pytest.approx(10 + 40 * 4 / 6 - 0.5, abs=0.4)  # whole tokens: half of one less
    assert np.mean(short) == pytest.approx(10 + 40 * 2 / 6 - 0.5, abs=0.3)


def test_every_part_of_a_document_is_drawn() -> None:
    held = np.zeros(400)
    for anchors, _ in drawn(400, seeds=1_000):
        for first, end in anchors:
            held[first:end] += 1
    stretches = held.reshape(8, 50).sum(axis=1)
    assert held.min() > 0 and stretches.min() > 0.7 * stretches.mean()


def test_no_two_anchors_lie_in_neighbouring_stretches_where_there_is_room() -> None:
    for anchors, _ in drawn(400):
        one, other = (first // 50 for first, _ in anchors)
        assert abs(one - other) > 1


@pytest.mark.parametrize("anchors", [1, 2, 3, 5])
def test_so_many_anchors_fit_into_the_shortest_document_for_them(anchors: int) -> None:
    for found, _ in drawn(2 * anchors * 50, anchors=anchors):
        edges = [edge for span in sorted(found) for edge in span]
        assert edges == sorted(edges)  # none overlaps another


def test_spans_are_shorter_in_a_shorter_document_and_for_an_encoder_that_takes_fewer_tokens() -> None:
    for at_most, found in ((25, drawn(100)), (12, drawn(10_000, room=12)), (4, drawn(16))):
        spans = [span for anchors, positives in found for span in (*anchors, *np.concatenate(positives))]
        assert max(end - first for first, end in spans) <= at_most


def test_what_is_drawn_are_runs_of_the_documents_tokens_view_after_view(tiny: Tiny) -> None:
    built = build(parse_method("declutr+spans(shortest=2,longest=12)").at(1.0), tiny("bert"), 0)
    encoder, maker, documents = built.encoder, built.views, DOCUMENTS["declutr"][:3]
    tokens = maker.redraw(encoder, documents, 10, np.random.default_rng(0))
    assert len(tokens) == maker.views * 3
    whole = [encoder.tokenise([document], 10_000).own(0).tolist() for document in documents]
    for row in range(len(tokens)):
        found = tokens.own(row).tolist()
        ids = whole[row % 3]
        assert 1 <= len(found) <= 8 and any(ids[at : at + len(found)] == found for at in range(len(ids)))
    again = maker.redraw(encoder, documents, 10, np.random.default_rng(0))
    assert again.flat.tolist() == tokens.flat.tolist()
    with pytest.raises(BadData, match="makes 2 tokens of a document"):
        maker.redraw(encoder, [*documents, "a man"], 10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("declutr+spans(shortest=600)", "shortest is 600 and longest 512; take a shortest of at most 512"),
        ("declutr+spans(anchors=3)", "span_nt_xent reads anchors=2 with positives=2, spans gives anchors=3 with"),
        ("declutr+span_nt_xent(anchors=3,positives=1)", "reads anchors=3 with positives=1, spans gives anchors=2"),
        ("declutr+anchor_mlm(positives=1)", "anchor_mlm reads anchors=2 with positives=1, spans gives"),
        ("tsdae+spans+anchor_mlm(anchors=1,positives=5)", "anchor_mlm reads anchors=1 with positives=5, spans gives"),
        ("simcse+word_noise+anchor_mlm", "anchor_mlm reads anchors=2 with positives=2, word_noise gives no spans; add"),
        ("simcse+span_nt_xent-infonce", "span_nt_xent compares 6 views of a sentence; dropout gives 2"),
        ("declutr+infonce-span_nt_xent-anchor_mlm", "spans: no term reads more than 3 of its 6 views"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(tiny: Tiny, text: str, said: str) -> None:
    with pytest.raises(BadSpec, match=said):
        check(parse_method(text).at(1.0), tiny("bert"))


def test_sentences_are_refused_before_anything_trains(tmp_path: Path) -> None:
    documents = tmp_path / "documents.txt"
    long = [f"{number} {'a man is eating pizza ' * 30}" for number in range(20)]
    documents.write_text("\n".join([*long, "two men are eating", "a man " * 64]) + "\n")
    command = ["run", "--methods", "declutr", "--corpus", str(documents), "--sizes", "16", "--steps", "1"]
    command += ["--results", str(tmp_path), "--dry-run"]
    refused = call(*command)
    (said,) = without_progress(refused.stderr)
    assert refused.exit_code == 2
    assert "1 of 22 lines have fewer than 128 words (2 x 2 anchors x 32 tokens)" in said
    documents.write_text("\n".join([*long, "a man " * 64]) + "\n")
    assert call(*command).exit_code == 0
