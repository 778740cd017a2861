"""Encoders in Hugging Face's layout, with a pooler of ours: checkpoints of others, and runs that cseb has saved."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from cseb import build as building
from cseb.data.weights import find_encoder
from cseb.embedders import Embedder, How
from cseb.errors import BadData, BadResults, CsebError
from cseb.methods import presets, untrained
from cseb.registry import METHODS
from cseb.results.record import Source
from cseb.spec import Method, parse_method
from cseb.tasks.task import Embed

KEY = re.compile(r"[0-9a-f]{16}")
OURS, MODULES = "cseb.json", "modules.json"


def find(name: str, how: How) -> Embedder:
    """A run of ours, a folder or a hub name. Without a pooler the folder's own files decide, and else it is `cls`.

    Raises: CsebError.
    """
    path = name
    if KEY.fullmatch(name) and not Path(name).exists():
        path = str(how.results / "models" / name)
        if not Path(path).is_dir():
            raise BadResults(f"no model of the run {name} lies in {path}; `cseb run --save-models` keeps them")
    if not how.pooler and (Path(path) / OURS).is_file():
        return _run(path, how)
    if not how.pooler and (Path(path) / MODULES).is_file():
        from cseb.embedders import modules

        return modules.find(path, how)
    folder, sha256 = find_encoder(path)
    method = _untrained(how.pooler or "cls")
    return _embedder(Source(name=name, sha256=sha256), folder, str(method), method.at(1.0), how, ())


def _untrained(pooler: str) -> Method:
    """`mean` where that is a method by itself, and else the [CLS] method with this pooler in its place."""
    if pooler in METHODS and not METHODS[pooler].terms:
        return parse_method(pooler)
    return parse_method(f"{untrained.CLS.name}+{pooler}")


def _run(path: str, how: How) -> Embedder:
    """A folder that `--save-models` wrote: it says its own method and pooler."""
    folder, sha256 = find_encoder(path)
    about = _about(folder / OURS)
    try:
        label, pooler, head = str(about["method"]), str(about["pooler"]), bool(about["head_at_test"])
        resolved = str(about["resolved"])
    except KeyError as error:
        raise BadData(f"{folder / OURS} lacks {error}; save the model again, or say --pooler") from None
    if head:
        raise BadData(f"{folder} holds the encoder of {label}, whose head counts at test and is not in the folder")
    try:
        seen = parse_method(label).data_seen()
    except CsebError:  # a method of a later version or of another package: its name is shown all the same
        seen = ("subset",)
    method = parse_method(f"{untrained.CLS.name}+{pooler}").at(1.0)
    found = _embedder(Source(name=path, sha256=sha256), folder, label, method, how, seen)
    return replace(found, resolved=_with_dtype(resolved, how))


def _about(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadData(f"{file} cannot be read: {error}; save the model again, or say --pooler") from None
    if not isinstance(found, dict):
        raise BadData(f"{file} holds no description of a run; save the model again, or say --pooler")
    return found


def _embedder(
    source: Source, folder: Path, label: str, method: Method, how: How, data_seen: tuple[str, ...]
) -> Embedder:
    headless = replace(method, head=presets.NONE)

    def load() -> Embed:
        import torch

        built = building.build(headless, folder, 0, how.trust_remote_code)
        encoder = built.encoder.to(how.device)
        return (encoder.to(torch.bfloat16) if how.dtype == "bf16" else encoder).embed

    building.check(headless, folder, how.trust_remote_code)
    return Embedder(
        source=source,
        method=label,
        resolved=_with_dtype(headless.resolved(), how),
        open=load,
        data_seen=data_seen,
        notes=("code of the encoder's own was trusted",) if how.trust_remote_code else (),
    )


def _with_dtype(resolved: str, how: How) -> str:
    return resolved if how.dtype == "fp32" else f"{resolved} encode(dtype={how.dtype!r})@1"
