"""The loop: same bits twice, lower loss, honest batches and rates, best and last, and a loss that is no number."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.data.tokens import Tokens
from cseb.encoder import packing
from cseb.encoder.encoder import Encoder
from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method
from cseb.methods.recipe import Recipe
from cseb.methods.spec import OPTIONAL
from cseb.parts.views import Dropout
from cseb.registry import METHODS
from cseb.seeds import ORDER, stream_seed
from cseb.training import batches as feeding
from cseb.training.batches import Feed, batches
from cseb.training.build import build, check
from cseb.training.checkpoints import Trained, restore
from cseb.training.loop import Diverged, train
from cseb.training.objective import Objective
from cseb.training.schedule import optimizer_of, rate
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
SMALL = "recipe(steps=20,warmup=0,batch_size=16,learning_rate=3e-3,eval_every=5)"
FIT = {
    **dict.fromkeys(("promcse", "promcse-sup"), "+prefix(length=4)"),
    "micse": "+ami(layers=(0,1))+queue(size=16)",
    "msse": "+reconstruct(layers=1,inner=16)",
    "compcse": "+compose(first=5)",
    **dict.fromkeys(("rcl", "rcl-literal", "rcl-unsup"), "+entropy_models(phis=(0.01,0.02),steps=5)"),
    "msse-released": "+reconstruct(layers=1,inner=16)",
    "msse-literal": "+reconstruct(layers=1,inner=16)",
    "scd": "+barlow_projector(width=32)",
    "iscse": "+smooth(size=40,neighbours=4)",
    "esimcse": "+queue(size=16)",
    "diffcse": "+rtd(generator=self)+recipe(dropout=0.01)",
    "sg-opt": "+gelu_mlp(width=32)",
    "mocose": "+momentum_nce(size=16,start=4)",
    "whitenedcse": "+group_whiten(groups=4)",
    "isbert": "+cnn_mean(widths=(1,3))",
    "dclr": "+teacher(steps=5)+debiased_nce(threshold=0.99)",
    "vascl": "+virtual_nt_xent(neighbours=4)+relu_mlp(width=8,rate=1.0)",
    "rankencoder": "+teacher(steps=5)+rank_mse(weight=1.0)",
    "distillcse": "+teacher(steps=5)",
    **dict.fromkeys(
        ("gist", "gcse", "multicsr", "distil-l2", "distil-mse", "distil-relational", "skd", "congen", "sct"),
        "+outside_teacher(encoder=any)",
    ),
}
TRAINED = [name for name, method in METHODS.items() if method.terms]


LINES = {  # what a method trains on, where that is not sentences
    name: [f"{anchor}\t{positive}\t{SENTENCES[-1 - at]}" for at, (anchor, positive) in
           enumerate(zip(SENTENCES, SENTENCES[1:] + SENTENCES[:1], strict=True))]
    for name, method in METHODS.items() if method.views.name in ("triples", "pairs", "generated_triples")
}  # fmt: skip
LINES |= {
    name: [f"{anchor}\t{other}\t{at % 6}" for at, (anchor, other) in enumerate(pairwise(SENTENCES))]
    for name, method in METHODS.items() if method.views.name == "rated_pairs"
}  # fmt: skip


def letters(texts: Sequence[str]) -> np.ndarray:
    """A teacher from outside: sums of random vectors of letters, (N, 24)."""
    table = np.random.default_rng(0).standard_normal((128, 24)).astype(np.float32) / 8
    return np.stack([table[[ord(one) for one in text]].sum(axis=0) for text in texts])


def method(name: str, recipe: str = SMALL):
    ami, queue = ("+ami(layers=(0,1))" if "+ami" in name else ""), ("+queue(size=16)" if "+moco" in name else "")
    return parse_method(f"{name}{FIT.get(name.split('+', 1)[0], '')}{ami}{queue}+{recipe}").at(1.0)


def trained(tiny: Tiny, name: str, recipe: str = SMALL, seed: int = 0, select=None) -> Trained:
    built = replace(build(method(name, recipe), tiny("bert"), seed), teacher=letters)
    return train(built, LINES.get(name, SENTENCES), seed, "cpu", select, lambda look: None)


COMBINED = [
    "simcse+ami",
    "simcse+moco",
    "ct+ami",
    "mirror+ami",
    "mirror-avg+ami",
    "simcse+shuffle",
    "simcse+delete",
    "simcse+repeat",
    "simcse+alignment-infonce",
    "informin-cl+mlm(corrupt_contrast=true)",
    "msse+moco",
    "scd+ami",
    "iscse+ami",
    "rankcse+ami",
    "mixcse+ami",
    "esimcse+ami",
    "consert+ami",
    "diffcse+ami",
    "pcl+ami",
    "arccse+ami",
    "sncse+ami",
    "promptbert+ami",
    "whitenedcse+ami",
    "dclr+ami",
    "vascl+ami",
    "rankencoder+ami",
    "distillcse+ami",
]


@pytest.mark.parametrize("name", [*TRAINED, *COMBINED])
def test_every_method_lowers_its_loss_and_gives_the_same_bits_twice(tiny: Tiny, name: str) -> None:
    once, twice = trained(tiny, name), trained(tiny, name)
    assert once.curve == twice.curve
    assert all(torch.equal(once.last[key], twice.last[key]) for key in once.last)
    other = trained(tiny, name, seed=1)
    assert other.curve != once.curve
    first, last = (sum(one.curve[place][1] for one in (once, other)) for place in (0, -1))
    assert last < first  # of both seeds together: masks may favour the first batches of one


AT_TEST_TOO = ("promcse", "promcse-sup")  # what they add to the encoder is needed at test
OWN_DROPOUT = ("scd", "mocose")  # views and networks with rates of their own, whose draws follow the encoder's


@pytest.mark.parametrize(
    "name", [*sorted({*TRAINED} - {*OWN_DROPOUT, *AT_TEST_TOO}), "simcse+ami", "simcse+ami(valid='square')"]
)
def test_every_method_learns_from_packed_batches_what_it_does_from_padded_ones(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    still = SMALL.replace("steps=20", "steps=2").replace("eval_every=5", "eval_every=1,dropout=1e-9")  # none is dropped
    packed = trained(tiny, name, still).curve
    monkeypatch.setattr(packing, "_walkable", lambda backbone: False)
    padded = trained(tiny, name, still).curve
    assert packed[0][1] == pytest.approx(padded[0][1], rel=1e-4)
    assert packed[1][1] == pytest.approx(padded[1][1], rel=1e-2)  # AdamW's first step makes much of rounding


@pytest.mark.parametrize("name", LINES)
def test_labelled_methods_refuse_plain_sentences(tiny: Tiny, name: str) -> None:
    with pytest.raises(BadData, match=r"lines that are not .*: 64 of 64"):
        train(
            replace(build(method(name), tiny("bert"), 0), teacher=letters), SENTENCES, 0, "cpu", None, lambda look: None
        )


def test_other_jobs_before_it_change_no_bit(tiny: Tiny) -> None:
    alone = trained(tiny, "simcse")
    torch.manual_seed(99)
    trained(tiny, "msse", seed=5)
    assert trained(tiny, "simcse").curve == alone.curve


@pytest.mark.parametrize(("name", "changes"), [("mirror", True), ("ct", True), ("simcse", False)])
def test_views_are_drawn_from_a_stream_of_their_own(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str, changes: bool
) -> None:
    once = trained(tiny, name)
    original = feeding.stream_seed
    monkeypatch.setattr(feeding, "stream_seed", lambda seed, stream: original(seed + (stream == "views"), stream))
    assert (trained(tiny, name).curve != once.curve) is changes


def test_best_is_the_checkpoint_the_dev_set_chose(tiny: Tiny) -> None:
    scores = iter([10.0, 30.0, 20.0, 30.0])
    seen: list[torch.Tensor] = []

    def select(encoder) -> float:
        seen.append(next(iter(encoder.backbone.parameters())).detach().clone())
        return next(scores)

    result = trained(tiny, "simcse", select=select)
    assert [dev for _, _, dev in result.curve] == [10.0, 30.0, 20.0, 30.0]
    assert result.best_step == 10  # the first of equals
    name = next(iter(result.best))
    assert torch.equal(result.best[name], seen[1])
    assert torch.equal(result.last[name], seen[3])


def test_both_encoders_of_ct_train_and_the_dev_set_chooses_among_them(tiny: Tiny) -> None:
    built = build(method("ct"), tiny("bert"), 0)
    start = {name: weight.clone() for name, weight in built.encoder.state_dict().items()}
    points = {id(built.encoder): iter([1.0, 9.0, 2.0, 3.0]), id(built.second): iter([5.0, 4.0, 6.0, 7.0])}
    result = train(built, SENTENCES, 0, "cpu", lambda encoder: next(points[id(encoder)]), lambda look: None)
    assert [dev for _, _, dev in result.curve] == [5.0, 9.0, 6.0, 7.0]
    assert result.best_step == 10
    name = "backbone.encoder.layer.1.output.dense.weight"
    states = [one.state_dict()[name] for one in (built.encoder, built.second)]
    assert not states[0].equal(states[1])
    assert not any(state.equal(start[name]) for state in states)
    assert result.last[name].equal(states[1])
    assert not result.best[name].equal(states[0])  # an earlier checkpoint
    fresh = build(method("ct"), tiny("bert"), 0).encoder
    restore(fresh, result.last)
    assert np.array_equal(fresh.embed(SENTENCES[:3]), built.second.embed(SENTENCES[:3]))


def test_ct_reads_equal_sentences_alike_before_the_first_step(tiny: Tiny) -> None:
    quiet = "recipe(steps=1,warmup=0,batch_size=1,learning_rate=1e-9,eval_every=1)"
    assert trained(tiny, "ct", quiet).curve[0][1] < np.log(2)  # a positive pair alone: its score is a squared length


def test_weights_of_training_alone_do_not_touch_test_vectors(tiny: Tiny) -> None:
    """The head, decoder, language head, queue and second encoder are there or not: the same vectors before training."""
    plain = build(parse_method("cls").at(1.0), tiny("bert"), 0).encoder.embed(SENTENCES)
    for name in ("simcse", "simcse+ami", "simcse+moco", "informin-cl-mlm", "mirror", "simcse+reconstruct(layers=1)",
                 "ct+cls"):  # fmt: skip
        one = build(method(name), tiny("bert"), 3)
        assert np.abs(one.encoder.embed(SENTENCES) - plain).max() < 2e-6, name
        kept = {key.split(".")[0] for key in train(one, SENTENCES, 0, "cpu", None, lambda look: None).last}
        assert kept <= {"backbone", "head", "pooler"}


def test_a_term_that_compares_more_views_than_there_are_is_refused_before_training(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dropout, "views", 1)
    with pytest.raises(BadSpec, match="infonce compares 2 views of a sentence; dropout gives 1"):
        check(method("simcse+ami"), tiny("bert"))


def test_only_drawn_sentences_are_tokenised_and_the_numbers_stay(tiny: Tiny) -> None:
    few = build(method("simcse", "recipe(steps=2,batch_size=4,warmup=0)"), tiny("bert"), 0)
    asked: list[int] = []
    tokenise = Encoder.tokenise

    def counted(self: Encoder, sentences: Sequence[str], longest: int, *rest: object) -> Tokens:
        asked.append(len(sentences))
        return tokenise(self, sentences, longest, *rest)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "tokenise", counted)
        feed = Feed(few.views, few.encoder, few.recipe, SENTENCES, 0, torch.device("cpu"))
    assert asked == [8]
    whole = few.encoder.tokenise(SENTENCES, few.recipe.max_length)
    order = np.random.Generator(np.random.PCG64(stream_seed(0, ORDER))).permutation(len(SENTENCES))
    for number, batch in enumerate(feed):
        expected = whole.batch(order[4 * number : 4 * number + 4])
        assert batch.fields[0].tolist() == expected.ids.tolist() * 2


def test_padding_does_not_change_the_loss_of_an_edited_view(tiny: Tiny) -> None:
    quiet = "recipe(steps=2,warmup=0,batch_size=16,learning_rate=1e-3,eval_every=1,dropout=1e-9,padding={})"
    for name in ("mirror", "mirror-avg", "ct"):
        longest, fixed = (trained(tiny, name, quiet.format(padding)).curve for padding in ("longest", "fixed"))
        assert [loss for _, loss, _ in longest] == pytest.approx([loss for _, loss, _ in fixed], rel=1e-4), name


def test_without_a_dev_set_best_is_last(tiny: Tiny) -> None:
    result = trained(tiny, "simcse")
    assert result.best is result.last
    assert result.best_step == 20


def test_restore_puts_a_checkpoint_back(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)
    before = built.encoder.embed(SENTENCES[:3])
    result = train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    after = built.encoder.embed(SENTENCES[:3])
    assert np.abs(before - after).max() > 1e-3
    fresh = build(method("simcse"), tiny("bert"), 0).encoder
    restore(fresh, result.last)
    assert np.array_equal(fresh.embed(SENTENCES[:3]), after)


@pytest.mark.parametrize("name", TRAINED)
def test_embeddings_do_not_depend_on_parts_of_training_alone(tiny: Tiny, name: str) -> None:
    trained_by = method(name)
    built = replace(build(trained_by, tiny("bert"), 0), teacher=letters)
    result = train(built, LINES.get(name, SENTENCES), 0, "cpu", None, lambda look: None)
    simcse, none = method("simcse"), dict.fromkeys(OPTIONAL)
    alone = replace(trained_by, views=simcse.views, terms=simcse.terms, recipe=simcse.recipe, **none)
    plain = build(alone, tiny("bert"), 1).encoder
    for encoder in (plain, built.encoder):
        restore(encoder, result.last)
    assert np.allclose(plain.embed(SENTENCES), built.encoder.embed(SENTENCES), atol=1e-5)  # kernels may differ
    assert np.allclose(plain.embed(SENTENCES[:3]), plain.embed(SENTENCES)[:3], atol=1e-5)


def test_no_steps_train_nothing(tiny: Tiny) -> None:
    built = build(parse_method("mean").at(1.0), tiny("bert"), 0)
    before = built.encoder.embed(SENTENCES)
    train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    assert np.array_equal(before, built.encoder.embed(SENTENCES))


def test_a_loss_that_is_no_number_names_its_step(tiny: Tiny) -> None:
    built = build(method("simcse"), tiny("bert"), 0)

    class Breaks(torch.nn.Module):
        needs: frozenset[str] = frozenset()
        calls = 0

        def forward(self, step):
            self.calls += 1
            z = step.views[0].z
            return z.sum() * (float("nan") if self.calls == 7 else 1e-3)

    broken = replace(built, terms=(replace(built.terms[0], term=Breaks()),))
    with pytest.raises(Diverged, match="the loss is nan") as caught:
        train(broken, SENTENCES, 0, "cpu", None, lambda look: None)
    assert caught.value.step == 7


def recipe(**options: object) -> Recipe:
    return Recipe(**{**dict(parse_method("simcse").recipe.options), **options})  # type: ignore[arg-type]


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
        known = lengths if padding == "grouped" else None
        drawn = batches(1000, recipe(steps=15, batch_size=64, padding=padding), np.random.default_rng(0), known)
        return sum(int(lengths[rows].max()) * len(rows) for rows in drawn)

    assert padded("grouped") < 0.8 * padded("longest")


def test_rate_ramps_then_falls_or_stays() -> None:
    linear = [rate(recipe(steps=10, warmup=4), step) for step in range(10)]
    assert linear == pytest.approx([0, 0.25, 0.5, 0.75, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert rate(recipe(steps=10, warmup=4, schedule="constant"), 9) == 1
    steps = recipe(steps=10, schedule="piecewise", pieces=((0, 1.0), (3, 0.5), (5, 0.2)))
    assert [rate(steps, step) for step in range(8)] == [1, 1, 1, 0.5, 0.5, 0.2, 0.2, 0.2]


def test_a_head_may_learn_faster_than_the_encoder(tiny: Tiny) -> None:
    built = build(parse_method("vascl").at(1.0), tiny("bert"), 0)
    rest, head = optimizer_of(Objective(built), built.recipe).param_groups
    assert (rest["lr"], head["lr"]) == (5e-6, pytest.approx(5e-4))
    assert {id(weight) for weight in head["params"]} == {id(weight) for weight in built.encoder.head.parameters()}
    assert len(rest["params"]) + len(head["params"]) == len(list(built.encoder.parameters()))


def test_ct_has_the_released_rates() -> None:
    settled = Recipe(**dict(parse_method("ct").recipe.options))
    at = [settled.learning_rate * rate(settled, step) for step in (0, 499, 500, 1000, 1500, 2000, 4999)]
    assert at == pytest.approx([1e-5, 1e-5, 8e-6, 6e-6, 4e-6, 2e-6, 2e-6])


def test_a_subset_smaller_than_a_batch_is_one_batch() -> None:
    drawn = batches(5, recipe(steps=3, last_batch="drop"), np.random.default_rng(0))
    assert [sorted(rows.tolist()) for rows in drawn] == [[0, 1, 2, 3, 4]] * 3


@pytest.mark.parametrize("padding", ["fixed", "grouped"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_padding_and_precision_trains(tiny: Tiny, padding: str, precision: str) -> None:
    text = SMALL.replace(")", f",padding={padding},precision={precision})")
    result = trained(tiny, "simcse", text)
    assert np.isfinite(result.curve[-1][1])


@pytest.mark.parametrize("name", ["simcse", "compcse", "simcse-sup", "rcl"])
def test_padding_does_not_change_the_loss(tiny: Tiny, name: str) -> None:
    quiet = "recipe(steps=1,warmup=0,batch_size=16,learning_rate=3e-3,eval_every=1,dropout=1e-9,padding={})"
    assert trained(tiny, name, quiet.format("longest")).curve[0][1] == pytest.approx(
        trained(tiny, name, quiet.format("fixed")).curve[0][1], rel=1e-5
    )


@pytest.mark.parametrize(
    "text",
    [
        "compcse+compose(first=none)+moco(size=16)",
        "compcse-roberta+halves(k=4)",
        "compcse+compose(first=none,aggregate=concat_diff_project,before_head=false)+halves(side=both)",
        "compcse-large+halves(side=anchor,extra=overlapping)",
        "simcse+halves+compose(aggregate=max)+dcm",
        "simcse-sup+moco(size=16)+infonce(hard_weight=2.0)",
        "rcl+pairs+drophead+entropy_models(phis=(0.01,),steps=2)",
        "rcl-unsup+entropy_models(phis=(0.01,),steps=2)+attention_dropout(rate=0.3)",
        "vascl+gelu_mlp(width=5)+denoise",  # a head narrower than the decoder: found by the fuzz
    ],
)
def test_combinations_train(tiny: Tiny, text: str) -> None:
    settled = parse_method(f"{text}+{SMALL}").at(1.0)
    pairs = [f"{question}\tanswer: {answer}" for question, answer in zip(SENTENCES, SENTENCES[::-1], strict=True)]
    lines = {"pairs": pairs, "triples": LINES["simcse-sup"]}.get(settled.views.name, SENTENCES)
    result = train(build(settled, tiny("bert"), 0), lines, 0, "cpu", None, lambda look: None)
    assert result.curve[-1][1] < result.curve[0][1]


@pytest.mark.parametrize(("name", "prompted"), [("simcse", False), ("simcse+mask_prompt", True)])
def test_fixed_padding_is_the_longest_sentence_and_the_prompt(tiny: Tiny, name: str, prompted: bool) -> None:
    recipe = SMALL.replace(")", ",padding=fixed,max_length=12)").replace("steps=20", "steps=1")
    built = build(method(name, recipe), tiny("bert"), 0)
    seen: list[int] = []
    original = built.encoder.forward

    def forward(ids, *rest):
        seen.append(ids.shape[1])
        return original(ids, *rest)

    built.encoder.forward = forward
    train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    assert seen[0] == 12 + built.encoder.prompt_tokens()
    assert (built.encoder.prompt_tokens() > 0) is prompted
