"""The score of two frames."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cseb.microworld.chance import Chance, strength
from cseb.microworld.edits import MAJOR, MINOR, changed
from cseb.microworld.frames import Frame, NounPhrase
from cseb.microworld.gold import gold
from cseb.microworld.topics import NEW
from cseb.microworld.world import Rates, World

WORLD = World(NEW)
CHASE = Frame("chase@pet", NounPhrase("pet.dog", "temper:hungry"), NounPhrase("folk.man"))


def frame(seed: int) -> Frame:
    return WORLD.frame(Chance(seed), Rates())


@given(st.integers(0, 10**6))
@settings(max_examples=50)
def test_a_frame_scores_5_with_itself(seed: int) -> None:
    assert gold(frame(seed), frame(seed)) == 5


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=300)
def test_scores_are_symmetric_and_from_0_to_5(one: int, other: int) -> None:
    score = gold(frame(one), frame(other))
    assert 0 <= score <= 5
    assert abs(score - gold(frame(other), frame(one))) < 0.011


def test_swapped_roles_cost_much() -> None:
    swapped = CHASE._replace(agent=CHASE.patient, patient=CHASE.actor)
    assert gold(CHASE, swapped) < 3


def test_negation_costs_much() -> None:
    assert gold(CHASE, CHASE._replace(negated=True)) < 2


def test_an_adjective_costs_less_than_a_hypernym_and_that_less_than_a_sibling() -> None:
    plain = CHASE._replace(agent=NounPhrase("pet.dog"))
    hypernym = CHASE._replace(agent=NounPhrase("pet", "temper:hungry"))
    sibling = CHASE._replace(agent=NounPhrase("pet.cat", "temper:hungry"))
    unrelated = CHASE._replace(agent=NounPhrase("lawman.judge", "temper:hungry"))
    scores = [gold(CHASE, other) for other in (CHASE, plain, hypernym, sibling, unrelated)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5


def test_opposites_and_antonyms_cost_more_than_synonyms() -> None:
    sell = Frame("buy@fruit", NounPhrase("boss.banker"), NounPhrase("fruit.apple"))
    assert gold(sell, sell._replace(predicate="sell@fruit")) < 4
    hungry, fed = NounPhrase("pet.dog", "temper:hungry"), NounPhrase("pet.dog", "temper:fat")
    assert gold(CHASE, CHASE._replace(agent=fed)) < gold(CHASE, CHASE._replace(agent=hungry))


def test_minor_edits_cost_less_than_major_ones_on_average() -> None:
    chance = Chance(0)
    frames = [frame(seed) for seed in range(200)]
    minor = sum(gold(f, changed(f, MINOR, 1, WORLD, chance)) for f in frames) / 200
    major = sum(gold(f, changed(f, MAJOR, 1, WORLD, chance)) for f in frames) / 200
    assert 5 > minor > major + 0.7


def test_what_the_world_likes_is_fixed() -> None:
    assert strength("chase@pet", "pet.dog") == strength("chase@pet", "pet.dog")
    assert len({strength("chase@pet", f"word{i}") for i in range(100)}) > 5
