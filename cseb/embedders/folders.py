"""Embedders of folders in Hugging Face's layout with one of cseb's poolers: checkpoints, and models saved by cseb."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from cseb.data import checkpoint
from cseb.data.bounded import is_dir, is_file, read_object
from cseb.data.finished_models import ORIGIN, left_out
from cseb.data.weights import MODULES, find_encoder
from cseb.embedders.interface import PART_WEIGHTS, Embedder, EncoderOptions
from cseb.encoder.architecture import configuration
from cseb.encoder.encoder import Encoder
from cseb.encoder.families import family_of
from cseb.errors import BadData, BadResults, BadSpec, CsebError
from cseb.methods.grammar import parse_method
from cseb.methods.part_facts import slot_of
from cseb.methods.spec import Method, preset
from cseb.records.record import Source
from cseb.registry import METHODS
from cseb.text import quantity
from cseb.training import build as building

KEY = re.compile(r"[0-9a-f]{16}")
KEY_PREFIX = re.compile(r"[0-9a-f]{4,16}")  # as `cseb show` takes it
LONGEST = 10_000  # characters of a method's text


def find(name: str, how: EncoderOptions) -> Embedder:
    """Return the embedder of a saved model, a folder or a hub name.

    Without a pooler in `how`, the files of the folder decide, or its family. Raises: CsebError.
    """
    path = str(_saved(name, how.results / "models")) if KEY_PREFIX.fullmatch(name) and not is_dir(name) else name
    if not how.pooler and is_file(Path(path) / ORIGIN):
        return _saved_model(path, how)
    folder, sha256 = find_encoder(path)
    if not how.pooler and is_file(folder / MODULES):  # of a hub name
        from cseb.embedders import modules

        return modules.find(path, how)
    method = untrained_method(how.pooler or default_pooler(folder, how.trust_remote_code))
    if method.at(1.0).data_seen():
        raise BadSpec(
            f"pooler {how.pooler} is fitted on training sentences, and an untrained encoder has none; take another, "
            f"such as mean, or cseb run --methods {method}"
        )
    stated = method.at(1.0)
    heads = [edit.part.name for edit in method.edits if edit.sign == "+" and slot_of(edit.part.name) == "head"]
    if heads and heads[-1] not in ("none", "own_modules"):
        raise BadSpec(
            f"pooler {how.pooler} names the head {heads[-1]}, whose weights only training gives; leave it out, or "
            "score a model that was saved with it"
        )
    head = stated.head if heads else preset("none")
    return _embedder(Source(name=name, sha256=sha256), folder, str(method), replace(stated, head=head), how)


def default_pooler(folder: Path, trust_remote_code: bool = False) -> str:
    """Return the default pooler of the encoder's family, `cls` for most. Raises: BadData."""
    return family_of(configuration(folder, trust_remote_code).model_type).pooler


def saved_encoder(folder: Path, trust_remote_code: bool = False) -> Encoder:
    """Return the encoder in a folder that `--save-models` wrote, as it was scored. Raises: BadData."""
    how = EncoderOptions(trust_remote_code=trust_remote_code)
    return _loaded(_scored_method(folder, _origin(folder)), folder, how)


def _saved(key: str, models: Path) -> Path:
    """Return the one saved model whose key begins like this. Raises: BadResults."""
    matches = sorted(path for path in models.glob(f"{key}*") if KEY.fullmatch(path.name))
    if not matches:
        raise BadResults(f"no model of the run {key} in {models}; `cseb run --save-models` saves them")
    if len(matches) > 1:
        some = ", ".join(path.name for path in matches[:3])
        raise BadResults(f"{len(matches)} models in {models} begin with {key}; give more of it: {some}")
    return matches[0]


def untrained_method(pooler: str) -> Method:
    """Return the method `mean` and its like by name; for other poolers, the untrained [CLS] method with this pooler."""
    if pooler in METHODS and not METHODS[pooler].terms:
        return parse_method(pooler)
    return parse_method(f"cls+{pooler}")


def _saved_model(path: str, how: EncoderOptions) -> Embedder:
    folder, sha256 = find_encoder(path)
    origin = _origin(folder)
    sha256 = hashlib.sha256("\0".join([sha256, *_parts(origin)]).encode()).hexdigest()  # parts determine vectors too
    try:
        data_seen = parse_method(origin["method"]).data_seen()
    except CsebError:  # a method of a later version or of another package
        data_seen = ("subset",)
    embedder = _embedder(
        Source(name=path, sha256=sha256), folder, origin["method"], _scored_method(folder, origin), how
    )
    return replace(embedder, resolved=_with_dtype(origin["resolved"], how), data_seen=data_seen)


def _origin(folder: Path) -> dict[str, Any]:
    """Return the content of a saved model's `cseb.json`. Raises: BadData."""
    try:
        origin = read_object(folder / ORIGIN)
        texts = [origin["method"], origin["resolved"], *_parts(origin)]
    except BadData as error:
        raise BadData(f"{error}; save the model again, or give `pooler`") from None
    except KeyError as error:
        raise BadData(f"{folder / ORIGIN} lacks {error}; save the model again, or give `pooler`") from None
    if not all(isinstance(text, str) and len(text) < LONGEST for text in texts):
        raise BadData(f"{folder / ORIGIN} was not written by cseb in this form; save the model again, or give `pooler`")
    return origin


def _parts(origin: dict[str, Any]) -> list[str]:
    """Return pooler, head and post-processor at test, as texts."""
    return [origin["pooler"], *([origin["head"]] if origin["head_at_test"] else []), *filter(None, [origin["post"]])]


def _scored_method(folder: Path, origin: dict[str, Any]) -> Method:
    """Return the method of a saved model at test, which trains nothing. Raises: BadData."""
    method = parse_method("+".join(["cls", *_parts(origin)])).at(1.0)
    if method.terms or dict(method.recipe.options)["steps"]:
        raise BadData(f"{folder / ORIGIN} lists more than pooler, head and post-processor; save the model again")
    return method


def _embedder(source: Source, folder: Path, label: str, method: Method, how: EncoderOptions) -> Embedder:
    building.check(method, folder, how.trust_remote_code)
    template = dict(method.pooler.options).get("template", "")
    return Embedder(
        source=source,
        method=label,
        resolved=_with_dtype(method.resolved(), how),
        open=lambda: _loaded(method, folder, how).embed,
        folder=folder,
        notes=(
            *(["code of the encoder's own was trusted"] if how.trust_remote_code else []),
            *([unused] if (unused := left_out(folder, method.head.name == "own_modules", str(template))) else []),
        ),
    )


def _loaded(method: Method, folder: Path, how: EncoderOptions) -> Encoder:
    """Return the encoder; in a model saved by cseb, with the weights of its parts."""
    from cseb.encoder.device_batches import DTYPES, cast

    encoder = building.build(method, folder, 0, how.trust_remote_code).encoder.to(how.device)
    if how.dtype in DTYPES:
        cast(encoder, DTYPES[how.dtype])
    if not how.pooler and (folder / ORIGIN).is_file():
        _load_parts(encoder, folder)
    return encoder


def _load_parts(encoder: Encoder, folder: Path) -> None:
    """Load the weights of pooler, head and post-processor. Raises: BadData if one is missing."""
    from torch import nn

    if isinstance(encoder.post, nn.Module):
        encoder.post.float()  # it transforms finished vectors, which are float32
    expected = {name for name in encoder.state_dict() if name.split(".")[0] in ("pooler", "head", "post")}
    if not expected:
        return
    file = folder / PART_WEIGHTS
    if not file.is_file():
        raise BadData(
            f"{folder} lacks {PART_WEIGHTS} with {quantity(len(expected), 'tensor')} of pooler, head or "
            "post-processor; save the model again"
        )
    checkpoint.check_finite(file)
    try:
        stored = load_file(file)
        encoder.load_state_dict(stored, strict=False)
    except (SafetensorError, RuntimeError, OSError) as error:
        raise BadData(
            f"{file} does not belong to this encoder: {' '.join(str(error).split())[:200]}; save the model again"
        ) from None
    if missing := expected - set(stored):
        raise BadData(f"{file} lacks {sorted(missing)[0]}; save the model again")


def _with_dtype(resolved: str, how: EncoderOptions) -> str:
    return resolved if how.dtype == "fp32" else f"{resolved} encode(dtype={how.dtype!r})@1"
