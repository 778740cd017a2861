"""From records and items to comparisons: averages within a seed, item variances, families, curves."""

import numpy as np
import pytest

from cseb.analysis.paired import (
    Sample,
    against,
    all_pairs,
    best_methods,
    correlation,
    curve,
    curve_weights,
    family,
    samples,
)
from cseb.analysis.study import gather
from cseb.records.record import Record
from cseb.statistics.paired import Comparison
from tests.worlds import Answers, World, study

TASKS = ("one@1", "two@1")


def test_the_item_variance_of_a_difference_by_hand() -> None:
    """Two seeds, two tasks, items in pairs: differences averaged over seeds, then summed by pair, then squared."""
    world = World({"one": Answers(np.array([0, 0, 1, 1, 2, 3, 4, 5, 6, 7])), "two": Answers(np.arange(5))})
    a = {"one": np.array([100.0, *[0] * 9]), "two": np.array([0.0, 0, 0, 0, 0])}
    b0 = {"one": np.array([100.0, 100, 100, *[0] * 7]), "two": np.array([100.0, 0, 0, 0, 0])}
    b1 = {"one": np.array([100.0, 0, 100, *[0] * 7]), "two": np.array([100.0, 100, 0, 0, 0])}
    records = [world.record("a", 100, seed, a) for seed in (0, 1)]
    records += [world.record("b", 100, seed, answers) for seed, answers in enumerate((b0, b1))]
    result = samples(gather(records), 100, TASKS, "last", world.item_scores())
    [pair] = family(against("a", result)).pairs
    # one: differences, averaged over seeds, are 0 50 100 0 ...; they lie that far from their mean of 15, by cluster:
    first = np.array([0 - 15 + 50 - 15, 100 - 15 + 0 - 15, *[-15] * 6]) / 10
    second = (np.array([100, 50, 0, 0, 0]) - 30) / 5
    assert pair.comparison.items == pytest.approx(((first**2).sum() + (second**2).sum()) / 4 * 13 / 12)
    assert pair.comparison.differences == pytest.approx([(20 + 20) / 2, (10 + 40) / 2])
    assert (pair.a, pair.b, pair.seeds) == ("a", "b", (0, 1))


def test_accuracies_have_the_variance_of_mcnemar() -> None:
    """Two fixed encoders: the item part of a difference of two accuracies, worked out from the discordant items."""
    rng = np.random.default_rng(0)
    count = 400
    x, y = (100.0 * (rng.random(count) < share) for share in (0.7, 0.75))
    world = World({"mr": Answers(np.arange(count))})
    records = [world.record(name, 100, 0, {"mr": items}) for name, items in (("a", x), ("b", y))]
    [pair] = family(against("a", samples(gather(records), 100, ("mr@1",), "last", world.item_scores()))).pairs
    won, lost = ((y > x).sum(), (x > y).sum())
    expected = 100**2 * ((won + lost) / count - ((won - lost) / count) ** 2) / count
    assert pair.comparison.items == pytest.approx(expected * count / (count - 1))
    assert (pair.comparison.scope, pair.adjusted, pair.conclusion) == ("items", None, "too few seeds")


def test_items_count_alike_with_and_without_pairing_by_seed() -> None:
    world, records = study({"a": 0, "b": 1})
    pairs = all_pairs(samples(gather(records), 100, TASKS, "last", world.item_scores()))
    [paired], [unpaired] = family(pairs).pairs, family(pairs, paired=False).pairs
    assert unpaired.comparison.items == pytest.approx(paired.comparison.items)


def test_two_seeds_have_no_correlation() -> None:
    first, second = (Sample(name, {0: 1.0, 1: 2.0, 2: slope}, {}) for name, slope in (("a", 0.0), ("b", 3.0)))
    assert correlation([(first, second)]) == pytest.approx(-0.5)
    assert correlation([(first, Sample("c", {0: 1.0, 1: 2.0}, {}))]) is None


def test_only_seeds_that_both_have_are_paired() -> None:
    world, records = study({"a": 0, "b": 1})
    kept = [record for record in records if (record.method, record.seed) not in {("a", 1), ("b", 3)}]
    [pair] = family(all_pairs(samples(gather(kept), 100, TASKS, "last", world.item_scores()))).pairs
    assert pair.seeds == (0, 2, 4)


def test_without_items_or_their_data_the_seeds_are_left_and_the_reason_said() -> None:
    world, records = study({"a": 0, "b": 1})
    world.items.pop(records[-1].key)
    first, second = samples(gather(records), 100, TASKS, "last", world.item_scores())
    assert len(first.contributions) == 5
    assert (second.contributions, second.lacking) == ({}, f"items/{records[-1].key}.npz cannot be read")
    [pair] = family([(first, second)]).pairs
    assert pair.comparison.scope == "seeds"
    world, records = study({"a": 0, "b": 1})
    world.tasks["one"].labels[0] = 99
    lacking = {each.lacking for each in samples(gather(records), 100, TASKS, "last", world.item_scores())}
    assert lacking == {"the task data here are not those of the records"}
    assert {each.lacking for each in samples(gather(records), 100, TASKS, "last")} == {"no items were asked for"}


def test_items_of_another_length_or_checkpoint_are_refused() -> None:
    world, records = study({"a": 0, "b": 1})
    stored = world.items[records[0].key]
    stored["one@1/last"] = stored["one@1/last"][:-1]
    world.items[records[-1].key] = {"one@1/best": np.zeros(200)}
    first, second = samples(gather(records), 100, TASKS, "last", world.item_scores())
    assert "has 199 items, the task 200" in first.lacking
    assert "does not contain one@1/last" in second.lacking
    for items, words in ((np.zeros((200, 2)), "does not fit its task"), (np.full(200, np.nan), "not finite")):
        stored["one@1/last"] = items
        assert words in samples(gather(records), 100, TASKS, "last", world.item_scores())[0].lacking


def test_a_family_is_corrected_together_and_says_its_size() -> None:
    world, records = study({"a": 0, "b": 3, "c": 3.1, "d": 0.1}, noise=0.3)
    result = samples(gather(records), 100, TASKS, "last", world.item_scores())
    many, few = family(all_pairs(result)), family(against("a", result))
    assert (many.tests, few.tests) == (6, 3)
    assert [(pair.a, pair.b) for pair in few.pairs] == [("a", "b"), ("a", "c"), ("a", "d")]
    raw = [pair.comparison.p for pair in few.pairs]
    assert min(pair.adjusted for pair in few.pairs) == pytest.approx(3 * min(raw))
    assert few.level == pytest.approx(0.05 / 3)
    thin = gather(
        [record for record in records if record.method != "d" or record.seed < 2]
    )  # two seeds: no p-value, no test
    pairs = family(all_pairs(samples(thin, 100, TASKS, "last", world.item_scores())))
    assert (len(pairs.pairs), pairs.tests) == (6, 3)


def test_the_best_methods_are_those_that_do_not_differ_significantly() -> None:
    world, records = study({"a": 0, "b": 3, "c": 3.1, "d": 0.1}, noise=0.3)

    def best(kept: list[Record], items: bool = True) -> set[str]:
        found = best_methods(samples(gather(kept), 100, TASKS, "last", world.item_scores() if items else None))
        return {method for method, best in found.items() if best}

    assert best(records) == {"b", "c"}
    assert best([record for record in records if record.seed < 4], items=False) == set()
    assert best_methods([]) == {}
    others = {"a": 0, "b": 0, "c": 0, "d": 100}  # no seed of d is one of the others
    apart = [each.model_copy(update={"seed": each.seed + others[each.method]}) for each in records]
    assert best(apart, items=False) == {"b", "c"}
    assert best([record for record in records if record.seed < 4 or record.method != "b"]) == {"c"}
    assert best([record for record in records if record.seed < 4 or record.method != "c"]) == set()


def test_a_method_that_wins_at_the_seeds_in_common_is_in_bold_in_place_of_the_best_mean() -> None:
    """A seed of it has failed that gave the other one a high score."""
    best = Sample("a", {0: 55.0, 1: 50.0, 2: 50.1, 3: 49.9, 4: 50.0}, {})
    other = Sample("b", {seed: 50.4 + seed / 50 for seed in range(1, 6)}, {})
    assert best.mean > other.mean
    [pair] = family([(best, Sample("b", {seed: other.points[seed] for seed in range(1, 5)}, {}))]).pairs
    assert pair.conclusion == "too few seeds"
    best = Sample("a", best.points | {5: 50.0}, {})
    assert best_methods([best, other]) == {"a": False, "b": True}


def test_bold_methods_come_from_all_pairs_corrected_together() -> None:
    """Two of three differences have p = 0.02: 0.06 after correction by three, 0.04 by the two of the best one."""
    lead = {"b": (1.2, 3.2, 2.2, 1.2, 0.7), "c": (0.7, 1.2, 3.2, 2.2, 1.2)}
    best = Sample("a", dict.fromkeys(range(5), 60.0), {})
    others = [Sample(name, {seed: 60 - d for seed, d in enumerate(ds)}, {}) for name, ds in lead.items()]
    assert [pair.comparison.p for pair in family(against("a", [best, *others])).pairs] == pytest.approx(
        [0.02] * 2, abs=1e-3
    )
    assert best_methods([best, *others]) == {"a": True, "b": True, "c": True}


def test_weights_give_the_mean_height_over_the_logarithm_of_sizes() -> None:
    sizes = (100, 1000, 1_000_000)
    assert curve_weights(sizes) == pytest.approx([1 / 8, 1 / 2, 3 / 8])
    assert np.array([[60.0, 60.0, 60.0], [0.0, 8.0, 16.0]]) @ curve_weights(sizes) == pytest.approx([60.0, 10.0])


def test_a_curve_is_compared_like_any_score() -> None:
    world, records = study({"a": 0, "b": 2}, sizes=(100, 10_000), noise=0.1)
    result, item_scores = gather(records), world.item_scores()
    by_size = [samples(result, size, TASKS, "last", item_scores) for size in (100, 10_000)]
    [pair] = family(against("a", curve((100, 10_000), by_size))).pairs
    each = [family(against("a", each)).pairs[0].comparison for each in by_size]
    assert pair.comparison.mean == pytest.approx((each[0].mean + each[1].mean) / 2)
    assert pair.comparison.items is not None
    whole = Comparison(pair.comparison.a, pair.comparison.b, 0.0)
    assert whole.differences == pytest.approx((each[0].differences + each[1].differences) / 2)
    # the same items at both sizes: their influences are averaged before they are squared
    assert pair.comparison.items < (each[0].items or 0) / 2 + (each[1].items or 0) / 2
