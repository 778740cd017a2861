"""Batches: each sentence once an epoch, views of a stream of their own, harmless padding; texts that are fitted on."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from cseb.encoder.encoder import Encoder
from cseb.encoder.tokenizer import Tokens
from cseb.parts.postprocessing import main_directions
from cseb.seeds import ORDER, stream_seed
from cseb.training import batches as feeding
from cseb.training.batches import Feed, batches, without_duplicates
from cseb.training.build import build
from tests.conftest import SENTENCES
from tests.training.small_runs import LINES, SMALL, Tiny, method, recipe, run, trained

CPU = torch.device("cpu")


@pytest.mark.parametrize(("name", "changes"), [("mirror", True), ("ct", True), ("simcse", False)])
def test_views_have_a_stream_of_their_own(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str, changes: bool
) -> None:
    once = trained(tiny, name)
    original = feeding.stream_seed
    monkeypatch.setattr(feeding, "stream_seed", lambda seed, stream: original(seed + (stream == "views"), stream))
    assert (trained(tiny, name).curve != once.curve) is changes


def test_only_drawn_sentences_are_tokenised_and_the_numbers_stay(tiny: Tiny) -> None:
    few = build(method("simcse", "recipe(steps=2,batch_size=4,warmup=0)"), tiny("bert"), 0)
    asked: list[int] = []
    tokenise = Encoder.tokenise

    def counted(self: Encoder, sentences: Sequence[str], longest: int, *rest: object) -> Tokens:
        asked.append(len(sentences))
        return tokenise(self, sentences, longest, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "tokenise", counted)
        feed = Feed(few.views, few.encoder, few.recipe, SENTENCES, 0, torch.device("cpu"))
    assert asked == [8]
    whole = few.encoder.tokenise(SENTENCES, few.recipe.max_length)
    order = np.random.Generator(np.random.PCG64(stream_seed(0, ORDER))).permutation(len(SENTENCES))
    for number, batch in enumerate(feed):
        expected = whole.batch(order[4 * number : 4 * number + 4])
        assert batch.fields[0].tolist() == expected.ids.tolist() * 2


def test_a_batch_has_the_ratings_of_its_own_pairs(tiny: Tiny) -> None:
    few = build(method("cosent", FEW), tiny("bert"), 0)
    feed = Feed(few.views, few.encoder, few.recipe, RATED, 0, CPU)
    (batch,) = feed
    assert batch.scores is not None
    lines = [line.split("\t") for line in RATED]
    ratings = {(left, right): float(rating) for left, right, rating in lines}
    expected = [ratings[str(feed.texts[0][row]), str(feed.texts[1][row])] for row in batch.rows]
    assert batch.scores.tolist() == expected
    assert len(set(expected)) > 1


def test_pairs_of_one_sentence_are_marked_in_a_batch_of_ct(tiny: Tiny) -> None:
    few = build(method("ct", "recipe(steps=3,batch_size=16,warmup=0)"), tiny("bert"), 0)
    for batch in Feed(few.views, few.encoder, few.recipe, SENTENCES, 0, CPU):
        first, second = batch.fields[0].chunk(2)
        assert batch.same is not None
        assert batch.same.tolist() == (first == second).all(dim=1).tolist()
        assert 0 < int(batch.same.sum()) < 16


@pytest.mark.parametrize("padding", ["longest", "fixed", "grouped"])
@pytest.mark.parametrize(("last_batch", "sizes"), [("keep", [8, 8, 4]), ("drop", [8, 8])])
def test_an_epoch_visits_each_sentence_once(padding: str, last_batch: str, sizes: list[int]) -> None:
    lengths = np.arange(20) % 7 + 1
    settled = recipe(steps=len(sizes) * 3, batch_size=8, padding=padding, last_batch=last_batch)
    drawn = list(batches(20, settled, np.random.default_rng(0), lengths if padding == "grouped" else None))
    assert len(drawn) == len(sizes) * 3
    for epoch in range(3):
        rows = drawn[epoch * len(sizes) : (epoch + 1) * len(sizes)]
        assert sorted(map(len, rows)) == sorted(sizes)
        visited = np.concatenate(rows)
        assert len(set(visited.tolist())) == len(visited)


def test_grouped_batches_pad_less() -> None:
    lengths = np.random.default_rng(1).integers(4, 32, 1000)

    def padded(padding: str) -> int:
        of_sentences = lengths if padding == "grouped" else None
        drawn = batches(1000, recipe(steps=15, batch_size=64, padding=padding), np.random.default_rng(0), of_sentences)
        return sum(int(lengths[rows].max()) * len(rows) for rows in drawn)

    assert padded("grouped") < 0.8 * padded("longest")


def test_grouped_batches_do_not_come_from_short_to_long() -> None:
    lengths = np.arange(400)
    drawn = batches(400, recipe(steps=50, batch_size=8, padding="grouped"), np.random.default_rng(0), lengths)
    means = [lengths[rows].mean() for rows in drawn]
    assert len(means) == 50
    assert abs(np.corrcoef(means, np.arange(50))[0, 1]) < 0.5


@pytest.mark.parametrize("padding", ["longest", "grouped"])
def test_an_incomplete_batch_that_is_dropped_has_sentences_of_any_length(padding: str) -> None:
    """Dropped after sorting by length, the longest were never trained on."""
    lengths = np.arange(100)
    drop = recipe(steps=90, batch_size=32, padding=padding, last_batch="drop")
    drawn = list(batches(100, drop, np.random.default_rng(0), lengths if padding == "grouped" else None))
    assert {len(rows) for rows in drawn} == {32}
    assert set(np.concatenate(drawn).tolist()) == set(range(100))


def test_a_subset_smaller_than_a_batch_is_one_batch() -> None:
    drawn = batches(5, recipe(steps=3, last_batch="drop"), np.random.default_rng(0))
    assert [sorted(rows.tolist()) for rows in drawn] == [[0, 1, 2, 3, 4]] * 3


@pytest.mark.parametrize("name", ["simcse", "compcse", "simcse-sup", "rcl", "mirror", "mirror-avg", "ct"])
def test_padding_does_not_change_the_loss(tiny: Tiny, name: str) -> None:
    quiet = "recipe(steps=1,warmup=0,batch_size=16,learning_rate=3e-3,eval_every=1,dropout=1e-9,padding={})"
    assert trained(tiny, name, quiet.format("longest")).curve[0][1] == pytest.approx(
        trained(tiny, name, quiet.format("fixed")).curve[0][1], rel=1e-5
    )


@pytest.mark.parametrize(("name", "prompted"), [("simcse", False), ("simcse+mask_prompt", True)])
def test_fixed_padding_is_the_longest_sentence_and_the_prompt(tiny: Tiny, name: str, prompted: bool) -> None:
    recipe = f"{SMALL}+recipe(steps=1,padding=fixed,max_length=12)"
    built = build(method(name, recipe), tiny("bert"), 0)
    seen: list[int] = []
    original = built.encoder.forward

    def forward(ids, *rest):
        seen.append(ids.shape[1])
        return original(ids, *rest)

    built.encoder.forward = forward
    run(built)
    assert seen[0] == 12 + built.encoder.prompt_tokens()
    assert (built.encoder.prompt_tokens() > 0) is prompted


REPEATED = {  # texts that fold to the same words, in sentences, pairs and triples
    "simcse": ["A man  eats.", *SENTENCES[:13], "a man eats.", "A MAN EATS.", *SENTENCES[:6]],
    "simcse-sup+pairs": [f"{SENTENCES[row % 7]}\t{SENTENCES[7 + row % 9]}" for row in range(26)],
    "simcse-sup": [f"{SENTENCES[row % 7]}\t{SENTENCES[7 + row % 9]}\t{SENTENCES[row % 5 + 20]}" for row in range(26)],
}


@pytest.mark.parametrize("name", REPEATED)
def test_no_text_occurs_twice_in_a_batch_without_duplicates(tiny: Tiny, name: str) -> None:
    lines = REPEATED[name]

    def rows(batch: str, seed: int = 0) -> list[list[int]]:
        built = build(method(name, f"recipe(steps=16,batch_size=4,warmup=0,batch={batch})"), tiny("bert"), 0)
        return [value.rows.tolist() for value in Feed(built.views, built.encoder, built.recipe, lines, seed, CPU)]

    def repeats(batches: list[list[int]]) -> int:
        texts = [
            [" ".join(text.lower().split()) for row in batch for text in lines[row].split("\t")] for batch in batches
        ]
        return sum(len(batch) - len(set(batch)) for batch in texts)

    drawn = rows("no_duplicates")
    assert repeats(rows("shuffled")) > 0
    assert repeats(drawn) == 0
    assert drawn == rows("no_duplicates") != rows("no_duplicates", seed=1)
    epoch = drawn[: 1 + next(at for at in range(16) if len(np.unique(np.concatenate(drawn[: at + 1]))) == len(lines))]
    assert sorted(np.concatenate(epoch)) == list(range(len(lines)))  # each line once in an epoch


def test_batches_without_duplicates_are_those_of_sentence_transformers() -> None:
    sampler = pytest.importorskip("sentence_transformers.base.sampler")
    datasets = pytest.importorskip("datasets")
    rng = np.random.default_rng(0)
    texts = [[f"text {number}" for number in rng.integers(0, 30, 40)] for _ in range(2)]
    data = datasets.Dataset.from_dict({"anchor": texts[0], "positive": texts[1]})
    theirs = sampler.NoDuplicatesBatchSampler(data, 6, False, generator=torch.Generator(), seed=3)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(3)).numpy()
    ours = without_duplicates(order, list(zip(*texts, strict=True)), 6)
    assert [batch.tolist() for batch in ours] == list(theirs)
    assert sorted({len(batch) for batch in ours}) == [1, 2, 3, 4, 6]


def test_a_subset_of_one_text_has_batches_of_one_and_does_not_hang(tiny: Tiny) -> None:
    for last_batch in ("keep", "drop"):
        settled = recipe(steps=5, batch_size=4, batch="no_duplicates", last_batch=last_batch)
        drawn = list(batches(3, settled, np.random.default_rng(0), texts=[("same",)] * 3))
        assert [len(batch) for batch in drawn] == [1] * 5


FEW = "recipe(steps=1,warmup=0,batch_size=4,learning_rate=3e-3,eval_every=1)"
TRIPLES, RATED = LINES["simcse-sup"], LINES["cosent"]


def columns(lines: list[str], kept: int) -> list[str]:
    rows = [line.split("\t") for line in lines]
    return [row[place] for place in range(kept) for row in rows]


@pytest.mark.parametrize(
    ("name", "steps", "lines", "texts"),
    [
        ("simcse-sup", 1, TRIPLES, columns(TRIPLES, 3)),
        ("simcse-sup", 0, TRIPLES, columns(TRIPLES, 3)),
        ("simcse-sup+mix", 1, TRIPLES, columns(TRIPLES, 3)),
        ("simcse-positives", 1, TRIPLES, columns(TRIPLES, 2)),  # which does not read the third
        ("cosent", 1, RATED, columns(RATED, 2)),
        ("simcse", 1, SENTENCES, SENTENCES),
    ],
)
def test_it_is_fitted_on_texts(tiny: Tiny, name: str, steps: int, lines: list[str], texts: list[str]) -> None:
    built = build(
        method(f"{name}+remove_components(count=2)", FEW.replace("steps=1", f"steps={steps}")), tiny("bert"), 0
    )
    run(built, lines)
    encoder, post = built.encoder, built.encoder.post
    encoder.post = None
    vectors = torch.from_numpy(encoder.embed(texts))
    _, wanted = main_directions(vectors, 2, centre=False)
    assert torch.equal(post.get_buffer("directions"), wanted.float())
