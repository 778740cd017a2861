"""Build a resolved method on its encoder: parts constructed and checked, weights loaded, everything attached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import torch

from cseb.encoder import loading as pretrained
from cseb.encoder.encoder import Encoder
from cseb.encoder.random_streams import new_weights
from cseb.encoder.recomputing import recompute_layers
from cseb.methods.spec import Method
from cseb.parts import EarlyStopping, Embed, NeedsSetup, Outside
from cseb.seeds import INIT, distinct, stream_seed
from cseb.training.compatibility import check_parts, check_size, check_widths
from cseb.training.construct import Parts, construct


@dataclass(frozen=True, slots=True, kw_only=True)
class Built(Parts):
    """The parts of a method attached to the loaded encoder; nothing is trained yet."""

    encoder: Encoder
    notes: tuple[str, ...]
    first_stage: tuple[Callable[[], Built], ...] = ()  # what is trained first, built when its turn comes
    second: Encoder | None = None  # encodes every view but the first, trained as well
    peer: Encoder | None = None  # encodes every view too, and is compared with the encoder
    until: EarlyStopping | None = None  # when it ends before its last step
    teacher: Embed | None = None  # what opens the teacher from outside


def check(
    method: Method,
    folder: Path,
    trust_remote_code: bool = False,
    sentences: int | None = None,
    teacher_width: Callable[[Outside], int] | None = None,
) -> None:
    """Construct and check every part of a resolved method against this encoder's small files. Raises: BadSpec, BadData.

    sentences: the size of the subset, where it is known. teacher_width: returns the width of an outside teacher's
    vectors, asked only where it matters.
    """
    parts = construct(method, folder, trust_remote_code=trust_remote_code)
    check_parts(parts)
    models = [construct(model, folder, trust_remote_code=trust_remote_code) for model in parts.first_models]
    for model in models:
        check_parts(model, first_stage=True)
    if teacher_width is not None:
        check_widths(parts, models, teacher_width)
    if sentences is not None:
        check_size(parts, sentences)


def build(method: Method, folder: Path, seed: int, trust_remote_code: bool = False, first_stage: bool = False) -> Built:
    """Load the encoder and attach every part; new weights come from a random stream of each part.

    first_stage: the method is a model of another method's first stage. Raises: BadSpec, BadData.
    """
    parts = construct(method, folder, seed, trust_remote_code)
    check_parts(parts, first_stage)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(seed, INIT))
        encoder, notes = pretrained.load(
            folder, parts.pooler, parts.head, parts.needs, parts.recipe.dropout, trust_remote_code
        )
    if parts.recipe.activation_checkpointing:
        recompute_layers(encoder.backbone)
    for name, weighted in zip(distinct(weighted.name for weighted in parts.terms), parts.terms, strict=True):
        if isinstance(weighted.term, NeedsSetup):
            with new_weights(seed, f"{name}/networks"):
                weighted.term.setup(encoder)
    encoder.post = parts.post
    if parts.regulariser is not None:
        parts.regulariser.attach(encoder.attentions())
    if parts.tuning is not None and method.tuning is not None:
        with new_weights(seed, method.tuning.name):
            parts.tuning.attach(encoder)
    further: Encoder | None = None
    if parts.network is not None and method.network is not None:
        with new_weights(seed, method.network.name):
            further = parts.network(encoder)
    is_peer = parts.network is not None and parts.network.peer
    until = parts.stages.until if parts.stages is not None and parts.recipe.steps else None
    models = (partial(_model, model, folder, seed, trust_remote_code, until) for model in parts.first_models)
    return Built(
        **{field.name: getattr(parts, field.name) for field in fields(parts)},
        encoder=encoder,
        notes=tuple(notes),
        first_stage=tuple(models),
        second=None if is_peer else further,
        peer=further if is_peer else None,
    )


def _model(method: Method, folder: Path, seed: int, trust_remote_code: bool, until: EarlyStopping | None) -> Built:
    """Build a model of the first stage; it ends when `until` says."""
    return replace(build(method, folder, seed, trust_remote_code, first_stage=True), until=until)
