"""First stages: which methods they are, that they see the same subset, and that nothing of them is trained later."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from cseb.encoder.encoder import Encoder
from cseb.methods.grammar import parse_method
from cseb.parts.stages import EntropyModels, Teacher
from cseb.training import loop as training
from cseb.training.build import Built, build
from cseb.training.checkpoints import EarlyStopper
from cseb.training.loop import Diverged
from tests.conftest import SENTENCES
from tests.training.small_runs import Recording, Tiny, built_of, run

SMALL = "recipe(steps=6,warmup=2,batch_size=16,learning_rate=3e-3,eval_every=3,max_length=16)"


def settled(stages: str = "phis=(0.01,-0.02),steps=3,held_out=0"):
    return parse_method(f"rcl-unsup+entropy_models({stages})+{SMALL}").at(1.0)


def test_a_stage_is_the_method_with_entropy_in_place_of_regulators() -> None:
    made = EntropyModels(
        phis=(0.01, -0.02), steps=3, every=1, patience=3, held_out=0, temperature=0.05, all_columns=False
    ).methods(settled())
    assert [[term.name for term in method.terms] for method in made] == [["infonce", "entropy"]] * 2
    assert [dict(method.terms[1].options)["weight"] for method in made] == [0.01, -0.02]
    for method in made:
        assert (dict(method.recipe.options)["steps"], dict(method.recipe.options)["warmup"]) == (3, 1)
        assert method.stages is None
        assert method.views == settled().views


def changed_run(tiny: Tiny, method, change: Callable = lambda built: built):
    built = change(build(method, tiny("bert"), 0))
    return built, run(built)


def test_stages_are_trained_on_the_same_subset_and_say_how_they_ended(tiny: Tiny) -> None:
    seen: list[list[str]] = []

    def watched(built):
        def make(of=built.first_stage[0]):
            stage = of()

            def views(sentences, inner=stage.views):
                seen.append(list(sentences))
                return inner(sentences)

            return replace(stage, views=views)

        return replace(built, first_stage=(make, built.first_stage[1]))

    _, trained = changed_run(tiny, settled(), change=watched)
    assert seen == [SENTENCES]
    notes = [note.split(":")[0] for note in trained.notes]
    assert notes == ["first training stage, model 1 of 2", "first training stage, model 2 of 2"]


def stopped_at(tiny: Tiny, options: str, rate: float) -> int:
    """The last step of a model of the first stage that learns at this rate."""
    stage = build(settled(options), tiny("bert"), 0).first_stage[0]()
    quiet = replace(stage, recipe=replace(stage.recipe, learning_rate=rate, warmup=0, schedule="constant"))
    return run(quiet).best_step


def test_a_stage_ends_when_the_loss_of_held_out_sentences_no_longer_falls(tiny: Tiny) -> None:
    assert stopped_at(tiny, "steps=40,every=2,patience=3,held_out=16", rate=1e-30) == 8  # lowest at 2, then three looks
    assert stopped_at(tiny, "steps=12,every=2,patience=3,held_out=16", rate=1e-2) == 12  # falls as far as the cap
    assert stopped_at(tiny, "steps=40,every=1,patience=1,held_out=0", rate=1e-30) < 10  # a batch is worse than another


def test_the_held_out_loss_is_the_mean_over_sentences(tiny: Tiny) -> None:
    stage = build(settled("phis=(0.01,),steps=4,held_out=16"), tiny("bert"), 0).first_stage[0]()
    losses = {4: 1.0, 1: 6.0}  # by size of the batch, the last of which is smaller
    stopper = EarlyStopper(stage, lambda batch, *_: torch.tensor(losses[len(batch.rows)]), [], 0, torch.device("cpu"))
    stopper.batches = [SimpleNamespace(rows=range(size)) for size in losses]
    assert stopper._held_loss() == pytest.approx((4 * 1.0 + 1 * 6.0) / 5)


def test_the_dev_set_does_not_select_where_a_stage_stops_by_its_own_rule(tiny: Tiny) -> None:
    built = build(settled("phis=(0.01,),steps=4,held_out=16"), tiny("bert"), 0)
    scored: list[Encoder] = []
    run(built, select=lambda encoder: scored.append(encoder) or 1.0)
    assert {id(encoder) for encoder in scored} == {id(built.encoder)}


def test_held_out_sentences_are_not_trained_on(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, list[str]]] = []
    original = training.Feed.__init__

    def watched(self, maker, encoder, recipe, sentences, *rest):
        seen.append((recipe.steps, list(sentences)))
        original(self, maker, encoder, recipe, sentences, *rest)

    monkeypatch.setattr(training.Feed, "__init__", watched)
    changed_run(tiny, settled("phis=(0.01,),steps=5,held_out=2048"))
    (_, main), (_, stage), (looks, validation) = seen
    assert main == SENTENCES
    assert validation + stage == SENTENCES
    assert len(validation) == len(SENTENCES) // 10
    assert looks == 1


def test_the_final_model_starts_from_the_start_model_again(tiny: Tiny) -> None:
    fresh = build(settled(), tiny("bert"), 0).encoder.embed(SENTENCES[:4])

    def unmoved(built):
        return replace(built, recipe=replace(built.recipe, learning_rate=1e-12))

    built, _ = changed_run(tiny, settled(), change=unmoved)
    assert np.allclose(built.encoder.embed(SENTENCES[:4]), fresh, atol=1e-6)


def test_frozen_vectors_follow_the_rows_of_the_batch(tiny: Tiny) -> None:
    built = build(settled(), tiny("bert"), 0)
    term = Recording()
    still = replace(built.recipe, learning_rate=1e-12, steps=4)

    def stage():
        return replace(built.first_stage[0](), recipe=replace(still, steps=1))

    quiet = built_of(tiny, f"rcl-unsup+{SMALL}+recipe(dropout=1e-9)").encoder
    terms = (replace(built.terms[0], term=term),)
    looked = replace(built, recipe=still, encoder=quiet, terms=terms, first_stage=(stage,))
    run(looked)
    assert len(term.steps) == 4
    for step in term.steps:
        frozen = step.frozen[0][0]
        assert torch.allclose(step.views[0].z, frozen, atol=1e-4)
        assert not frozen.requires_grad


def test_a_stage_that_diverges_says_which(tiny: Tiny) -> None:
    def broken(built):
        def make():
            stage = built.first_stage[1]()
            return replace(stage, terms=(replace(stage.terms[0], weight=float("nan")),))

        return replace(built, first_stage=(built.first_stage[0], make))

    with pytest.raises(Diverged, match="first training stage, model 2 of 2: the loss is nan"):
        changed_run(tiny, settled(), change=broken)


TEACHING = "steps=4,warmup=2,batch_size=16,learning_rate=3e-3,eval_every=2"


def test_a_teacher_is_the_method_trained_by_contrast_alone() -> None:
    method = parse_method(f"distillcse+recipe({TEACHING})").at(1.0)
    (made,) = Teacher(steps=2, temperature=0.1, with_head=False).methods(method)
    assert [term.name for term in made.terms] == ["infonce"]
    assert dict(made.terms[0].options)["temperature"] == 0.1
    assert (dict(made.recipe.options)["steps"], dict(made.recipe.options)["warmup"]) == (2, 1)
    assert made.stages is None
    assert (made.views, made.pooler, made.head) == (method.views, method.pooler, method.head)


class Surveys(Recording):
    """A term that keeps what it is shown of the teacher, and finds the same in every step."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.Tensor] = []

    def precompute_targets(self, frozen):
        self.seen.append(frozen[0][0])

    def forward(self, step):
        assert torch.allclose(step.frozen[0][0], self.seen[0][step.sids])
        return step.views[0].z.sum() * 1e-3


def surveyed(built: Built) -> tuple[Built, Surveys, list]:
    """With a term that surveys in the place of its own, and its teacher once it is built."""
    term, teachers = Surveys(), []

    def stage():
        teachers.append(built.first_stage[0]())
        return teachers[0]

    return replace(built, terms=(replace(built.terms[0], term=term),), first_stage=(stage,)), term, teachers


@pytest.mark.parametrize("with_head", [True, False])
def test_a_term_may_look_at_the_subset_as_its_teacher_has_it(tiny: Tiny, with_head: bool) -> None:
    text = f"rankencoder+teacher(steps=2,with_head={str(with_head).lower()})+recipe({TEACHING})"
    looked, term, teachers = surveyed(built_of(tiny, text))
    run(looked)
    assert len(term.seen) == 1
    encoder = teachers[0].encoder
    assert np.allclose(term.seen[0], encoder.vectors(encoder.tokenise(SENTENCES, 32), with_head), atol=1e-6)


@pytest.mark.parametrize("best", [2, 4])
def test_the_dev_set_chooses_the_teachers_checkpoint(tiny: Tiny, best: int) -> None:
    """Dev points are highest at its first or its second look; its frozen vectors are those of that checkpoint."""
    text = "distillcse+teacher(steps=4)+recipe(steps=8,batch_size=8,warmup=0,learning_rate=1e-2,eval_every=2)"
    looked, term, teachers = surveyed(built_of(tiny, text))
    looks: list[np.ndarray] = []

    def select(encoder) -> float:
        if encoder is teachers[0].encoder:
            looks.append(encoder.vectors(encoder.tokenise(SENTENCES, 32), looked.frozen_head))
        return 1.0 if 2 * len(looks) == best else 0.0

    notes = run(looked, select=select).notes
    assert len(looks) == 2
    assert np.allclose(term.seen[0], looks[best // 2 - 1], atol=1e-6)
    assert not np.allclose(looks[0], looks[1], atol=1e-3)
    assert f"checkpoint of step {best}" in notes[0]
