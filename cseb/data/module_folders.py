"""Folders of sentence-transformers, on this machine or on the hub, and what their content is. Loads no weights."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cseb.data import bounded
from cseb.data.weights import HUB_NAME
from cseb.errors import BadData, first_line

CONTENT = (".json", ".safetensors", ".txt", ".model", ".py")


def locate(name: str) -> Path:
    """Return the folder of this name, or what the hub has under it. Raises: BadData."""
    if bounded.is_dir(name) or not HUB_NAME.fullmatch(name):
        if not bounded.is_dir(name):
            raise BadData(f"{name[:100]}: no such folder")
        return Path(name).resolve()
    from huggingface_hub import snapshot_download

    try:
        repository, _, revision = name.partition("@")
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=[f"*{s}" for s in CONTENT]))
    except Exception as error:  # the hub client raises a dozen kinds; all mean "not here"
        raise BadData(
            f"{name}: no such folder, and it cannot be downloaded from the hub ({first_line(error)})"
        ) from None


def sha256(folder: Path) -> str:
    """Of names, lengths and bytes of all files that the library may read."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in CONTENT)
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()
