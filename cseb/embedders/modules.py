"""Models of sentence-transformers: the library loads them and encodes, so that their own modules are respected."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cseb.data.weights import HUB_NAME
from cseb.embedders import Embedder, How
from cseb.errors import BadData, BadSpec, first_line
from cseb.results.record import Source
from cseb.tasks.task import Embed, Vectors

CONTENT = (".json", ".safetensors", ".txt", ".model", ".py")
INSTALL = "sentence-transformers is not installed: pip install 'cseb[st]', or say --pooler to leave its modules out"


def find(name: str, how: How) -> Embedder:
    """A folder with modules.json, or a hub name. Raises: BadData without the library, or if weights are pickles."""
    if how.pooler:
        raise BadSpec(f"st:{name} pools as its own modules say, so --pooler {how.pooler} has no meaning; leave out st:")
    folder = _folder(name)
    if not (folder / "modules.json").is_file():
        raise BadData(f"{name}: {folder} has no modules.json, so it is no model of sentence-transformers; say --pooler")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in CONTENT)
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    for pickled in sorted(folder.rglob("pytorch_model.bin")):
        if not any(pickled.parent.glob("*.safetensors")):
            raise BadData(
                f"{name}: {pickled} is a pickle, which can run code and is never opened; save it again as safetensors"
            )
    kinds, prompt = _modules(folder / "modules.json"), _prompt(folder / "config_sentence_transformers.json")
    options = f"modules={kinds!r}, normalised={'Normalize' in kinds}, prompt={prompt!r}"
    dtype = "" if how.dtype == "fp32" else f", dtype={how.dtype!r}"
    return Embedder(
        source=Source(name=name, sha256=total.hexdigest()),
        method="its own modules",
        resolved=f"sentence_transformers({options}{dtype})@1",
        open=lambda: _load(folder, how),
        notes=(f"modules {', '.join(kinds)}" + (f"; prompt {prompt!r}" if prompt else ""),),
    )


def _folder(name: str) -> Path:
    if Path(name).is_dir() or not HUB_NAME.fullmatch(name):
        if not Path(name).is_dir():
            raise BadData(f"{name}: no such folder")
        return Path(name).resolve()
    from huggingface_hub import snapshot_download

    try:
        repository, _, revision = name.partition("@")
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=[f"*{s}" for s in CONTENT]))
    except Exception as error:  # the hub client raises a dozen kinds; all mean "not here"
        raise BadData(f"{name}: no such folder, and it cannot be had from the hub ({first_line(error)})") from None


def _modules(file: Path) -> tuple[str, ...]:
    """Names of the modules in order. Raises: BadData."""
    try:
        return tuple(str(module["type"]).rpartition(".")[2] for module in json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadData(f"{file} cannot be read: {first_line(error)}") from None


def _prompt(file: Path) -> str:
    """What the model puts before every sentence by itself, "" in most."""
    try:
        held = json.loads(file.read_text(encoding="utf-8"))
        return str(held["prompts"][held["default_prompt_name"]])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _load(folder: Path, how: How) -> Embed:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise BadData(INSTALL) from None
    import torch

    from cseb.kernels import FastLinear

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: Any = SentenceTransformer(
                str(folder),
                device=how.device,
                local_files_only=True,
                trust_remote_code=how.trust_remote_code,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
    except Exception as error:  # the library raises whatever its parsers do
        raise BadData(f"{folder}: sentence-transformers cannot load it: {first_line(error)}") from None
    if how.dtype == "bf16":
        model = model.to(torch.bfloat16)

    def embed(sentences: Sequence[str]) -> Vectors:
        with FastLinear():
            found = model.encode(list(sentences), convert_to_tensor=True, show_progress_bar=False)
        return np.asarray(found.float().cpu().numpy(), dtype=np.float32)

    return embed
