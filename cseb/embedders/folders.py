"""Encoders in Hugging Face's layout with one of cseb's poolers: downloaded checkpoints, and runs saved by cseb."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from cseb.data import tensors
from cseb.data.bounded import is_dir, is_file, read_object
from cseb.data.weights import MODULES, find_encoder
from cseb.embedders.interface import HELD, Embedder, EncoderOptions
from cseb.encoder.architecture import configuration
from cseb.encoder.encoder import Encoder
from cseb.encoder.families import family_of
from cseb.errors import BadData, BadResults, BadSpec, CsebError
from cseb.methods import untrained
from cseb.methods.grammar import parse_method
from cseb.methods.spec import Method, preset
from cseb.records.record import Source
from cseb.registry import METHODS
from cseb.tasks.task import Embed
from cseb.text import quantity
from cseb.training import build as building

KEY = re.compile(r"[0-9a-f]{16}")
BEGINNING = re.compile(r"[0-9a-f]{4,16}")  # of a key, as `cseb show` takes it
OURS = "cseb.json"
LONGEST = 10_000  # characters of a method written out


def find(name: str, how: EncoderOptions) -> Embedder:
    """Find a saved run, a folder or a hub name. Without a pooler the folder's own files decide, or the family.

    Raises: CsebError.
    """
    path = str(_saved(name, how.results / "models")) if BEGINNING.fullmatch(name) and not is_dir(name) else name
    if not how.pooler and is_file(Path(path) / OURS):
        return _run(path, how)
    if not how.pooler and is_file(Path(path) / MODULES):
        from cseb.embedders import modules

        return modules.find(path, how)
    folder, sha256 = find_encoder(path)
    method = _untrained(how.pooler or default_pooler(folder, how.trust_remote_code))
    if method.at(1.0).data_seen():
        raise BadSpec(
            f"pooler {how.pooler} is fitted on training sentences, and an encoder as it stands has none; take another, "
            f"such as mean, or cseb run --methods {method}"
        )
    headless = replace(method.at(1.0), head=preset("none"))
    return _embedder(Source(name=name, sha256=sha256), folder, str(method), headless, how, ())


def _saved(key: str, models: Path) -> Path:
    """Return the one saved model whose run's key begins like this. Raises: BadResults."""
    fits = sorted(path for path in models.glob(f"{key}*") if KEY.fullmatch(path.name))
    if not fits:
        raise BadResults(f"no model of the run {key} in {models}; `cseb run --save-models` saves them")
    if len(fits) > 1:
        some = ", ".join(path.name for path in fits[:3])
        raise BadResults(f"{len(fits)} models in {models} begin with {key}; give more of it: {some}")
    return fits[0]


def default_pooler(folder: Path, trust_remote_code: bool = False) -> str:
    """How an encoder of this family is pooled where nobody says: `cls` for most. Raises: BadData."""
    return family_of(configuration(folder, trust_remote_code).model_type).pooler


def _untrained(pooler: str) -> Method:
    """`mean` where that is a method by itself, and else the [CLS] method with this pooler in its place."""
    if pooler in METHODS and not METHODS[pooler].terms:
        return parse_method(pooler)
    return parse_method(f"{untrained.CLS.name}+{pooler}")


def _run(path: str, how: EncoderOptions) -> Embedder:
    """Find a folder that `--save-models` wrote: it says its own method and pooler."""
    folder, sha256 = find_encoder(path)
    about = _about(folder / OURS)
    try:
        label, resolved = about["method"], about["resolved"]
        parts = [about["pooler"], *([about["head"]] if about["head_at_test"] else []), *filter(None, [about["post"]])]
    except KeyError as error:
        raise BadData(f"{folder / OURS} lacks {error}; save the model again, or give `pooler`") from None
    if not all(isinstance(one, str) and len(one) < LONGEST for one in (label, resolved, *parts)):
        raise BadData(f"{folder / OURS} was not written by cseb in this form; save the model again, or give `pooler`")
    sha256 = hashlib.sha256("\0".join([sha256, *parts]).encode()).hexdigest()  # poolers decide vectors as weights do
    try:
        seen = parse_method(label).data_seen()
    except CsebError:  # a method of a later version or of another package: its name is shown all the same
        seen = ("subset",)
    method = _at_test(folder, parts)
    found = _embedder(Source(name=path, sha256=sha256), folder, label, method, how, seen, of_ours=True)
    return replace(found, resolved=_with_dtype(resolved, how))


def saved_encoder(folder: Path) -> Encoder:
    """Return the encoder in a folder that `--save-models` wrote, as it was scored. Raises: BadData."""
    about = _about(folder / OURS)
    parts = [about.get("pooler"), about.get("head") if about.get("head_at_test") else None, about.get("post")]
    method = _at_test(folder, [str(one) for one in parts if one])
    return _loaded(method, folder, EncoderOptions(), of_ours=True)


def _at_test(folder: Path, parts: list[str]) -> Method:
    """What a saved model is at test: nothing that trains. Raises: BadData."""
    method = parse_method("+".join([untrained.CLS.name, *parts])).at(1.0)
    if method.terms or dict(method.recipe.options)["steps"]:
        raise BadData(f"{folder / OURS} lists more than pooler, head and post-processor; save the model again")
    return method


def _about(file: Path) -> dict[str, Any]:
    try:
        return read_object(file)
    except BadData as error:
        raise BadData(f"{error}; save the model again, or give `pooler`") from None


def _embedder(
    source: Source,
    folder: Path,
    label: str,
    method: Method,
    how: EncoderOptions,
    data_seen: tuple[str, ...],
    of_ours: bool = False,
) -> Embedder:
    """of_ours: the folder may hold weights of pooler, head and post-processor as well."""

    def load() -> Embed:
        return _loaded(method, folder, how, of_ours).embed

    building.check(method, folder, how.trust_remote_code)
    return Embedder(
        source=source,
        method=label,
        resolved=_with_dtype(method.resolved(), how),
        open=load,
        data_seen=data_seen,
        notes=("code of the encoder's own was trusted",) if how.trust_remote_code else (),
    )


def _loaded(method: Method, folder: Path, how: EncoderOptions, of_ours: bool) -> Encoder:
    import torch

    encoder = building.build(method, folder, 0, how.trust_remote_code).encoder.to(how.device)
    if how.dtype == "bf16":
        encoder = encoder.to(torch.bfloat16)
    if of_ours:
        _put_back(encoder, folder)
    return encoder


def _put_back(encoder: Encoder, folder: Path) -> None:
    """What pooler, head and post-processor held when the run was saved. Raises: BadData if some of it is not there."""
    from torch import nn

    if isinstance(encoder.post, nn.Module):
        encoder.post.float()  # it works on finished vectors, which are no shorter numbers
    wanted = {name for name in encoder.state_dict() if name.split(".")[0] in ("pooler", "head", "post")}
    if not wanted:
        return
    file = folder / HELD
    if not file.is_file():
        raise BadData(
            f"{folder} lacks {HELD}; {quantity(len(wanted), 'tensor')} of pooler, head or post-processor belong there"
        )
    tensors.check_finite(file)
    try:
        encoder.load_state_dict(held := load_file(file), strict=False)
    except (SafetensorError, RuntimeError, OSError) as error:
        raise BadData(
            f"{file} does not belong to this encoder: {' '.join(str(error).split())[:200]}; save the model again"
        ) from None
    if missing := wanted - set(held):
        raise BadData(f"{file} lacks {sorted(missing)[0]}; save the model again")


def _with_dtype(resolved: str, how: EncoderOptions) -> str:
    return resolved if how.dtype == "fp32" else f"{resolved} encode(dtype={how.dtype!r})@1"
