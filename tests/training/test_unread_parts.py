"""What a term says it reads is what its value depends on; a part that no term reads is refused before anything runs."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cseb.encoder.interface import EncodedView, Shape
from cseb.encoder.loading import load, shape_of
from cseb.methods.grammar import parse_method
from cseb.methods.spec import preset
from cseb.parts import ALL, MADE, LossInputs, NeedsPrecomputedTargets, NeedsSetup, Queued
from cseb.registry import SLOTS
from cseb.training.build import check
from tests.training.small_runs import Tiny

ROWS, WIDTH, TOKENS, VIEWS, EDITS, MODELS = 6, 16, 7, 4, 3, 2

SOFT = "nt_xent js_consistency neg_entropy mixed_infonce mean_cos entropy regulators group_softmax_bce kl_peers arc_nce"
# Options of terms that decide what is read, or with which nothing is hidden: a hinge that never holds or a threshold
# that nothing passes would. The others are those of the preset.
CHANGES: dict[str, dict[str, Any]] = {
    "infonce": {"temperature": 0.5, "hard_weight": 2.0},
    "infonce literal": {"temperature": 0.5, "form": "literal"},
    "infonce zeroed": {"temperature": 0.5, "negatives": "zeroed"},
    **{name: {"temperature": 0.5} for name in (*SOFT.split(), "each_nce")},
    "ami": {"layers": (0, 1), "samples": 9, "scale_by_valid": False},
    "dcm first": {"on": "first"},
    "layer_noise": {"deviation": 0.1},
    "reconstruct": {"layers": 1, "inner": 8, "dropout": 0.0, "rate": 0.1},
    "reconstruct positive": {"layers": 1, "inner": 8, "dropout": 0.0, "rate": 0.1, "target": "positive"},
    "mlm": {"rate": 0.9},
    "span_nt_xent": {"temperature": 0.5, "anchors": 1},
    "anchor_mlm": {"rate": 0.9, "anchors": 1},
    "cross_correlation": {"off_diagonal": 0.1},
    "smooth": {"size": 4, "neighbours": 2, "attention": 1.0, "temperature": 0.5},
    "rtd": {"rate": 0.9, "generator": "self", "fill": "sample"},
    "rtd on h": {"rate": 0.9, "generator": "self", "fill": "sample", "on": "h"},
    "multi_layer_nce": {"temperature": 0.5, "anchor_dropout": False},
    "l2_to_init": {"freeze_embeddings": False},
    "triplet": {"margin": 2.0},
    "momentum_nce": {"temperature": 0.5, "size": 8, "start": 4, "momentum": 0.9, "dropout": 0.0},
    "bidir_margin": {"least": 3.0, "most": 4.0},
    "debiased_nce": {"temperature": 0.5, "threshold": 0.0, "ascents": 1, "size": 0.1},
    "virtual_nt_xent": {"temperature": 0.5, "neighbours": 3, "reach": 5.0, "detach": False},
    "filtered_bce": {"temperature": 0.5, "threshold": 0.0},
    "rank_mse": {"corpus": 50, "low": -1.0, "high": 1.0},
    "listwise_ce": {"student": 0.5, "teacher": 0.5, "group": 0.0},
}
TERMS = [name for name in SLOTS["terms"].builtin if name != "mntp"]  # which is in tests/encoder/test_bidirectional.py
CASES: dict[str, dict[str, Any]] = {
    case: {key: value for key, value in preset(case.split()[0]).options if key != "weight"} | CHANGES.get(case, {})
    for case in (*TERMS, *(case for case in CHANGES if " " in case))
}


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def view(seed: int) -> EncodedView:
    """A view of ROWS sentences whose every field comes from this seed."""
    ids = torch.randint(8, 30, (ROWS, TOKENS), generator=torch.Generator().manual_seed(seed))
    ids[:, 2] = 9  # attention maps are compared where both views have one token
    ids[:, 4] = 11
    real = torch.ones_like(ids)
    maps = [drawn(ROWS, 2, TOKENS, TOKENS, seed=seed + layer).softmax(dim=-1) for layer in (10, 20)]
    states = [drawn(ROWS, TOKENS, WIDTH, seed=seed + layer) for layer in (30, 40, 50)]
    return EncodedView(
        drawn(ROWS, WIDTH, seed=seed + 60), drawn(ROWS, WIDTH, seed=seed + 70), ids, real, real, states, maps
    )


@dataclass
class Heard:
    """Callables of a step that were called."""

    names: set[str]

    def saying(self, name: str, call: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def said(*given: Tensor) -> Tensor:
            self.names.add(name)
            return call(*given)

        return said


def given(heard: Heard, language: Callable[[Tensor], Tensor], read: Callable[..., Tensor]) -> LossInputs:
    """A step with everything that any term could look at."""
    weights = drawn(WIDTH, WIDTH, seed=900)
    inputs = LossInputs(
        views=[view(1000 * number) for number in range(1, VIEWS + 1)],
        rng=torch.Generator(),
        queue=Queued(drawn(5, WIDTH, seed=901), torch.ones(ROWS, 5, dtype=torch.bool)),
        language=heard.saying("language", language),
        frozen=[[drawn(ROWS, WIDTH, seed=910 + 10 * model + item) for item in range(VIEWS)] for model in range(MODELS)],
        read=read,
        edits=[view(10_000 * number) for number in range(1, EDITS + 1)],
        sids=torch.arange(ROWS),
        scores=torch.arange(ROWS) % 3 * 1.0,
        head=heard.saying("head", lambda h: h @ weights),
    )
    peer = replace(
        inputs,
        views=[view(7 + 1000 * number) for number in range(1, VIEWS + 1)],
        edits=[view(7 + 10_000 * number) for number in range(1, EDITS + 1)],
    )
    return replace(inputs, peer=peer)


def value(term: Any, step: LossInputs) -> float:
    """What a copy of the term, which may keep things, makes of the step."""
    torch.manual_seed(3)
    return float(copy.deepcopy(term)(replace(step, rng=torch.Generator().manual_seed(5))).detach())


def swapped(step: LossInputs, where: str, number: int, names: Sequence[str]) -> LossInputs:
    """The step with these fields of one view, or one edit, from another seed."""
    other = view(77_000 + number)
    entries = list(getattr(step, where))
    entries[number] = replace(entries[number], **{name: getattr(other, name) for name in names})
    return replace(step, **{where: entries})


def of(name: str, folder: Path) -> tuple[Any, LossInputs, Heard]:
    """The term of a case, founded on a real encoder, and its step."""
    from cseb.methods.spec import part
    from cseb.training.construct import instantiate

    shape: Shape = shape_of(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        pooler = instantiate(part("cnn_mean", widths=(1, 3)) if name == "jsd_local_global" else part("cls"), shape)
        term = instantiate(part(name.split(maxsplit=1)[0], **CASES[name]), shape, steps=10)
        encoder, _ = load(folder, pooler, instantiate(part("none"), shape), term.needs | {"language"})
        if isinstance(term, NeedsSetup):
            term.setup(encoder)
    if isinstance(term, NeedsPrecomputedTargets):
        term.precompute_targets([[drawn(40, WIDTH, seed=8)] * 2] * MODELS)
    assert encoder.language is not None
    encoder.eval()
    term.train()
    for module in term.modules():  # networks of its own that drop are as good as any other
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    heard = Heard(set())
    return term, given(heard, encoder.language, encoder.read), heard


@pytest.mark.parametrize("name", CASES)
def test_a_term_reads_what_it_says_it_reads(tiny: Tiny, name: str) -> None:
    term, step, heard = of(name, tiny("bert"))
    plain = value(term, step)
    assert value(term, step) == plain  # nothing else moves it
    result = set(heard.names)

    def moves(other: LossInputs) -> bool:
        return value(term, other) != plain

    names = [field.name for field in fields(EncodedView)]
    result |= {
        item
        for item in MADE & set(names)
        if any(moves(swapped(step, "views", number, [item])) for number in range(VIEWS))
    }
    queue = Queued(drawn(5, WIDTH, seed=902), torch.ones(ROWS, 5, dtype=torch.bool))
    assert step.peer is not None
    result |= {"queue"} if moves(replace(step, queue=queue)) else set()
    result |= {"peer"} if moves(replace(step, peer=swapped(step.peer, "views", 0, ["z"]))) else set()
    others = [
        [[item.roll(1, 0) for item in model] if at == number else model for at, model in enumerate(step.frozen)]
        for number in range(MODELS)
    ]
    models = [moves(replace(step, frozen=changed)) for changed in others]
    result |= {"frozen"} if any(models) else set()
    assert result == term.reads.made
    text = ["ids", "z", "h", "layers", "attentions"]
    for where, most, count in (("views", term.reads.views, VIEWS), ("edits", term.reads.edits, EDITS)):
        read = [moves(swapped(step, where, number, text)) for number in range(count)]
        assert read == [number < most for number in range(count)], (where, read)
    assert models == [number < term.reads.models for number in range(MODELS)]
    assert {"layers", "attentions", "language", "frozen"} & term.reads.made == {
        *(term.needs & {"layers", "attentions", "language", "frozen"})
    }
    assert term.reads.views == ALL or term.reads.views <= VIEWS


def recorded(step: LossInputs) -> tuple[LossInputs, set[str], set[int]]:
    """The step, the names of its fields that are accessed, and the numbers of the views whose tokens are accessed."""
    accessed: set[str] = set()
    tokens: set[int] = set()

    class Inputs(LossInputs):
        def __getattribute__(self, name: str) -> Any:
            accessed.add(name)
            return object.__getattribute__(self, name)

    def view_of(number: int, original: EncodedView) -> EncodedView:
        class View(EncodedView):
            def __getattribute__(self, name: str) -> Any:
                if name in ("ids", "mask", "content"):
                    tokens.add(number)
                return object.__getattribute__(self, name)

        return View(**{field.name: getattr(original, field.name) for field in fields(EncodedView)})

    values = {field.name: getattr(step, field.name) for field in fields(LossInputs)}
    values["views"] = [view_of(number, view) for number, view in enumerate(step.views)]
    return Inputs(**values), accessed, tokens


@pytest.mark.parametrize("name", CASES)
def test_a_term_declares_every_input_that_it_accesses(tiny: Tiny, name: str) -> None:
    term, step, _ = of(name, tiny("bert"))
    inputs, accessed, tokens = recorded(replace(step, rng=torch.Generator()))
    term(inputs)
    declared = {
        "scores": getattr(term, "ratings", False),
        "frozen": "frozen" in term.needs,
        "language": "language" in term.needs,
        "peer": getattr(term, "networks", 1) > 1,
        "queue": "queue" in term.reads.made,
        "edits": getattr(term, "edits", 0) > 0 or term.reads.edits > 0,
    }
    assert {field: field in accessed for field in declared} == declared
    assert max(tokens, default=-1) + 1 == min(term.reads.tokens, VIEWS)


def test_a_term_that_does_not_say_is_believed_to_read_everything(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    from cseb.parts.base import PairLoss

    monkeypatch.delattr(PairLoss, "reads")
    check(parse_method("mirror+moco").at(1.0), tiny("bert"))
