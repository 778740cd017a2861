"""Hard negatives from the own corpus: the choice in loops and as sentence-transformers makes it, and where they go."""

import numpy as np
import pytest
import torch

from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.parts.labelled_views import MinedNegatives, mined_rows
from cseb.training.batches import Feed, texts_of
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, run

CPU = torch.device("cpu")
SHAPE = Shape(width=5, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)
RECIPE = "+recipe(steps=6,warmup=0,batch_size=8,learning_rate=3e-3,eval_every=3,batch=no_duplicates)"


def vectors(rows: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    anchors = rng.standard_normal((rows, 5)).astype(np.float32)
    return anchors, anchors + rng.standard_normal((rows, 5)).astype(np.float32)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("skip", [0, 3])
def test_it_is_the_nearest_below_the_positive_minus_the_margin(
    monkeypatch: pytest.MonkeyPatch, margin: float, skip: int
) -> None:
    monkeypatch.setattr("cseb.parts.labelled_views.AT_ONCE", 7)  # anchors compared at a time
    anchors, positives = vectors()
    positives[20] = -anchors[20]  # no other one is farther away
    rows = MinedNegatives(margin=margin, skip=skip, shape=SHAPE).mine(anchors, positives)
    for row in range(30):
        own = cosine(anchors[row], positives[row])
        others = sorted({*range(30)} - {row}, key=lambda other, row=row: -cosine(anchors[row], positives[other]))
        allowed = [at for at in others if cosine(anchors[row], positives[at]) < own - margin * abs(own)]
        assert rows[row] == (allowed[min(skip, len(allowed) - 1)] if allowed else others[-1])


def test_copies_are_no_negatives_and_a_sentence_alone_has_none() -> None:
    anchors, _ = vectors(6)
    copies = np.concatenate([anchors, anchors])
    rows = mined_rows(copies, copies, 0.01, 0)
    assert all(rows[row] % 6 != row % 6 for row in range(12))
    with pytest.raises(BadSpec, match="one sentence has no other"):
        mined_rows(anchors[:1], anchors[:1], 0.05, 0)


def test_they_are_those_of_sentence_transformers() -> None:
    util = pytest.importorskip("sentence_transformers.util")
    datasets = pytest.importorskip("datasets")
    anchors, positives = vectors(20, seed=2)
    table = {f"{kind} {row}": side[row] for kind, side in (("a", anchors), ("p", positives)) for row in range(20)}

    class Model:
        similarity_pairwise = staticmethod(util.pairwise_cos_sim)
        similarity = staticmethod(util.cos_sim)
        device, prompts = "cpu", None

        def encode(self, texts: list[str], **_: object) -> np.ndarray:
            return np.stack([table[text] for text in texts])

        encode_query = encode_document = encode

    data = datasets.Dataset.from_dict({"anchor": [f"a {row}" for row in range(20)],
                                       "positive": [f"p {row}" for row in range(20)]})  # fmt: skip
    mined = util.mine_hard_negatives(data, Model(), relative_margin=0.05, num_negatives=1, sampling_strategy="top",
                                     range_max=19, verbose=False)  # fmt: skip
    ours = mined_rows(anchors, positives, 0.05, 0)
    theirs = {row["anchor"]: row["negative"] for row in mined}
    assert len(theirs) > 10
    assert all(negative == f"p {ours[int(anchor[2:])]}" for anchor, negative in theirs.items())


@pytest.mark.parametrize("pairs", [False, True])
def test_the_third_view_of_a_batch_is_the_mined_sentence(tiny: Tiny, pairs: bool) -> None:
    lines = [f"{text}\t{SENTENCES[-1 - at]}" for at, text in enumerate(SENTENCES)] if pairs else SENTENCES
    part, method = ("mined_pairs", "simcse-sup") if pairs else ("mined_negatives", "simcse")
    built = built_of(tiny, f"{method}+{part}(margin=0.1){RECIPE}")
    anchors, positives = (line.split("\t")[0] for line in lines), [line.split("\t")[-1] for line in lines]
    negatives = mined_rows(built.encoder.embed(list(anchors)), built.encoder.embed(positives), 0.1, 0)
    feed = Feed(built.views, built.encoder, built.recipe, lines, 0, CPU)
    for batch in feed:
        assert batch.same is None
        assert batch.views == 3
        size = len(batch.rows)
        texts = [positives.index(feed.texts[1][row]) for row in batch.rows]
        expected = built.encoder.tokenise([positives[negatives[row]] for row in texts], 32)
        own = [expected.flat[a:b].tolist() for a, b in zip(expected.starts, expected.starts[1:], strict=False)]
        assert [row[row > 0].tolist() for row in batch.fields[0][2 * size :]] == own
    losses = run(built, lines).curve
    assert losses[-1][1] < losses[0][1]
    assert len(texts_of(built.views, lines)) == len(lines) * (1 + pairs)
