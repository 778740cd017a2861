"""Locate an encoder's files and hash them for its identity. Loads no weights, needs no torch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from cseb.data import bidirectional, checkpoint, static_tables
from cseb.data.checkpoint import CONFIG
from cseb.data.shipped import ENCODERS
from cseb.errors import BadData, first_line

TOKENIZER = (
    *("tokenizer*", "vocab.*", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    *("spiece.model", "sentencepiece*.model"),
)
MODULES = "modules.json"  # which sentence-transformers writes beside an encoder that it has saved
WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?(@[\w./-]{1,200})?", re.ASCII)
FILE_ENDINGS = (".npz", ".npy", ".txt", ".json", ".safetensors", ".zip")  # of a name that means a file
BLOCK = 1 << 20  # bytes read at a time


def find_encoder(name: str) -> tuple[Path, str]:
    """Return the folder of an encoder, and the sha256 of what decides its vectors: configuration, tokenizer, weights.

    name: a folder, one that comes with cseb, a hub name such as org/model or org/model@revision, a table of token
    vectors such as static:glove:6b-50d, or a decoder that is to attend to both sides, bidirectional:org/model. Raises:
    BadData.
    """
    folder = locate(name)
    sha256 = encoder_sha256(folder, name)
    if name in ENCODERS and ENCODERS[name].sha256 != sha256:
        raise BadData(
            f"encoder {name!r}: {folder} is not what comes with this version of cseb; install cseb again, or copy the "
            "folder and give its path"
        )
    return folder, sha256


def encoder_sha256(folder: Path, name: str) -> str:
    """Of what decides the vectors. Raises: BadData."""
    return sha256_of(_files(folder, name))


def locate(name: str) -> Path:
    """The folder of an encoder, downloaded from the hub or made if necessary; weights are not read. Raises: BadData."""
    if name.startswith(static_tables.PREFIX):
        return static_tables.folder_of(name.removeprefix(static_tables.PREFIX), locate)
    if name.startswith(bidirectional.PREFIX):
        folder = locate(name.removeprefix(bidirectional.PREFIX))
        return bidirectional.folder_of(folder, matching(folder, (*TOKENIZER, *WEIGHTS)))
    if name in ENCODERS:
        if not (folder := ENCODERS[name].folder).is_dir():
            raise BadData(f"encoder {name!r} should come with cseb, and {folder} is not there; install cseb again")
        return folder
    try:
        if name and Path(name).is_dir():
            return Path(name).resolve()
        is_file = Path(name).is_file()
    except OSError:  # such as a name longer than any file system takes
        is_file = False
    if is_file:
        raise BadData(f"encoder {name!r} is a file; give the folder that holds {CONFIG}, tokenizer and safetensors")
    names = ", ".join(ENCODERS)
    if not HUB_NAME.fullmatch(name) or ".." in name or name.lower().endswith(FILE_ENDINGS):
        raise BadData(
            f"encoder {name[:100]!r}: no such folder; give one, or one of {names}, or a hub name such as "
            "bert-base-uncased"
        )
    return _download(name)


@lru_cache(maxsize=16)  # the hub is asked once, and all jobs of a process read the same revision
def _download(name: str) -> Path:
    """Return a hub snapshot, from the local cache when HF_HUB_OFFLINE is set or the files are there already."""
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    names = ", ".join(ENCODERS)
    try:
        folder = snapshot_download(
            repository, revision=revision or None, allow_patterns=[CONFIG, MODULES, *TOKENIZER, *WEIGHTS]
        )
    except Exception as error:  # the hub client raises a dozen kinds, its HTTP library more; all mean "not here"
        raise BadData(
            f"encoder {name!r}: no such folder, and downloading it from the hub failed ({first_line(error)}). Without "
            f"network, put {CONFIG}, the tokenizer files and *.safetensors into a folder and give its path, or use "
            f"{names}, which come with cseb"
        ) from error
    return Path(folder)


def _files(folder: Path, name: str) -> list[Path]:
    """Files that decide the vectors, sorted by name. Raises: BadData on a folder that is no encoder."""
    if not (folder / CONFIG).is_file():
        raise BadData(f"encoder {name!r}: {folder} has no {CONFIG}; give the folder that `save_pretrained` wrote")
    try:
        checkpoint.weight_files(folder)
    except BadData as error:
        raise BadData(f"encoder {name!r}: {error}") from None
    return matching(folder, (CONFIG, *TOKENIZER, *WEIGHTS))


def matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Files of a folder that match one of the patterns, by name."""
    found = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return sorted(found, key=lambda path: path.name)


def sha256_of(files: Iterable[Path]) -> str:
    """Of names, lengths and bytes; read again only when a file's time, size or place has changed. Raises: BadData."""
    return _sha256(tuple((path, _stamp(path)) for path in files))


def _stamp(path: Path) -> tuple[int, int, int]:
    with _readable(path):
        found = path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=64)
def _sha256(stamped: tuple[tuple[Path, tuple[int, int, int]], ...]) -> str:
    """Return the hash of names, lengths and bytes; the length keeps one file from running into the next."""
    total = hashlib.sha256()
    for path, (_, size, _) in stamped:
        with _readable(path), path.open("rb") as stream:
            total.update(f"{path.name}\0{size}\0".encode())
            while block := stream.read(BLOCK):
                total.update(block)
    return total.hexdigest()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}") from error
