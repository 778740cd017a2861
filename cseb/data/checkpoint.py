"""Safety checks of an encoder's folder before a library opens it: file types, sizes, no pickles, no code, tensors.

The libraries that read such folders have checks of their own, which differ between versions; these here hold for all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cseb.data import bounded
from cseb.data.bounded import MIB, open_regular, readable, shown
from cseb.errors import BadData, first_line

CONFIG, ADAPTER = "config.json", "adapter_config.json"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"  # in the order in which transformers looks for them
PICKLES = ("pytorch_model*.bin", "*.pt", "*.ckpt")
# What transformers reads of a folder besides weights. A tokenizer's own parser bounds how deep its vocabulary may be.
SMALL = (
    *(CONFIG, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "generation_config.json"),
    *("processor_config.json", "preprocessor_config.json", INDEX),
)
LIMIT, LARGEST = 16 * MIB, 512 * MIB  # bytes of a configuration, and of a tokenizer's vocabulary
MOST_FILES = 10_000
MOST_LABELS = 100_000  # transformers makes a dictionary of as many
VOCABULARIES = ("tokenizer", "vocab", "merges", "spiece", "sentencepiece")  # how their files' names begin
SHARD = re.compile(r"[\w.-]+\.safetensors", re.ASCII)
CODE = ("auto_map", "custom_pipelines", "custom_generate")
# Kernels of the hub are code; quantised weights have readers of their own; other weights are not those that are hashed.
ELSEWHERE = ("quantization_config", "kernel_config", "transformers_weights", "compression_config")
ATTENTION = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal", "experts_implementation")
TRUST = "if you trust its author, add `trust_remote_code`"


def check(folder: Path, trust_remote_code: bool = False) -> None:
    """Check every file of an encoder's folder that a library would read, except the values of weights. Raises: BadData.

    A folder that passed is not checked again until a file changes.
    """
    _check(folder, trust_remote_code, stamps(folder))


def weight_files(folder: Path) -> list[Path]:
    """Return the files that transformers opens for weights, which are never pickles. Raises: BadData."""
    if (folder / WHOLE).is_file():
        return [folder / WHOLE]
    if not (folder / INDEX).is_file():
        pickled = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
        raise BadData(
            f"{shown(folder)} holds {pickled[0][:100]} but no {WHOLE}; pickles can run code and are never opened. "
            "Convert it where you trust it: AutoModel.from_pretrained(folder).save_pretrained(folder)"
            if pickled
            else f"{shown(folder)} has no {WHOLE}; the weights belong beside {CONFIG}"
        )
    places = bounded.read_object(folder / INDEX, LIMIT).get("weight_map")
    names = set(map(str, places.values())) if isinstance(places, dict) else set()
    for name in sorted(names):
        if not SHARD.fullmatch(name):
            raise BadData(f"{shown(folder / INDEX)} names {name[:100]!r}; only *.safetensors beside it are opened")
    if missing := sorted(name for name in names if not (folder / name).is_file()):
        raise BadData(f"{shown(folder / INDEX)} names {missing[0][:100]}, which is not there; get its files again")
    if not names:
        raise BadData(f"{shown(folder / INDEX)} lists no weight file")
    return [folder / name for name in sorted(names)]


def check_entries(folder: Path) -> None:
    """Raises: BadData if a folder holds a FIFO, socket or device: opening one may block for ever."""
    for number, path in enumerate(folder.iterdir()):
        if number >= MOST_FILES:
            raise BadData(f"{shown(folder)} holds more than {MOST_FILES:,} files; an encoder's folder has far fewer")
        if path.exists() and not path.is_file() and not path.is_dir():
            raise BadData(f"{shown(path)} is neither a file nor a folder; remove it")


def check_config(config: dict[str, Any], name: str, trust_remote_code: bool = False) -> None:
    """Raises: BadData if a configuration loads code or weights from elsewhere, or holds impossible numbers."""
    for key, value in _walk(config):
        if key in CODE and value and not trust_remote_code:
            raise BadData(f"{name}: {key} refers to custom code, which is not run without permission; {TRUST}")
        if key in ELSEWHERE and value:
            raise BadData(f"{name}: {key} is not supported; save the encoder as plain safetensors in float32")
        if key in ATTENTION and any(isinstance(name, str) and "/" in name for _, name in _walk({key: value})):
            raise BadData(f"{name}: {key} names a downloadable kernel, which is third-party code; use eager or sdpa")
        if isinstance(value, float) and not math.isfinite(value):
            raise BadData(f"{name}: {key} is {value}; a finite number is needed")
        if type(value) is int and abs(value) >= 2**31:
            raise BadData(f"{name}: {key} is a number of {len(str(abs(value)))} digits; no encoder has such a value")
    if type(labels := config.get("num_labels", 0)) is int and labels > MOST_LABELS:
        raise BadData(f"{name}: num_labels is {labels}; at most {MOST_LABELS:,} are allowed")


@lru_cache(maxsize=64)
def _check(folder: Path, trust_remote_code: bool, _stamps: object) -> None:
    check_entries(folder)
    if (folder / ADAPTER).exists():
        raise BadData(f"{shown(folder)} holds {ADAPTER}: weights of another model are needed; merge the adapter first")
    for name in SMALL:
        if (path := folder / name).exists():
            content = bounded.read_object(path, LIMIT)
            if name == CONFIG:
                check_config(content, shown(path), trust_remote_code)
            elif not trust_remote_code and any(content.get(key) for key in CODE):
                raise BadData(f"{shown(path)} refers to custom code, which is not run without permission; {TRUST}")
    for path in folder.iterdir():
        if path.name.startswith(VOCABULARIES) and path.is_file() and path.stat().st_size > LARGEST:
            raise BadData(f"{shown(path)} is larger than the {LARGEST:,} bytes that a tokenizer may have")
    for path in weight_files(folder):
        stored(path)


def _walk(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield every key with its value, however deep; members of a list have the key of the list."""
    yield key, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, key)


def stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return names, times and sizes of a folder's files: when they change, it is checked again. Raises: BadData."""
    with readable(folder):
        files = [(path.name, path.stat() if path.exists() else path.lstat()) for path in folder.iterdir()]
    return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))


def stamp(path: Path) -> tuple[int, int, int]:
    """Return time, size and inode of a file: when they change, it is read again. Raises: BadData."""
    with readable(path):
        status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


class Stored(NamedTuple):
    """A tensor of a file: its kind of numbers, such as F32, and its shape."""

    kind: str
    shape: tuple[int, ...]


def stored(path: Path) -> dict[str, Stored]:
    """Return the tensors of a file by name; the library compares header and size. Raises: BadData."""
    with _open(path, "np") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  not a mapping
        return {name: Stored(part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}


def check_finite(path: Path) -> None:
    """Check that all numbers of a file are finite, again only if it has changed. Raises: BadData naming a tensor."""
    _check_finite(path, stamp(path))


@lru_cache(maxsize=64)
def _check_finite(path: Path, _stamp: tuple[int, int, int]) -> None:
    import importlib

    torch = importlib.import_module("torch")  # only where weights are read, which needs it anyway
    with _open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118  not a mapping
            tensor = file.get_tensor(name)
            if tensor.is_floating_point() and not torch.isfinite(tensor).all():
                raise BadData(
                    f"{shown(path)}: {name[:100]} holds numbers that are not finite, so no vector of this encoder "
                    "would mean anything; get its files again"
                )


@contextmanager
def _open(path: Path, framework: Literal["np", "pt"]) -> Iterator[Any]:
    """Open a safetensors file. Raises: BadData."""
    from safetensors import SafetensorError, safe_open

    open_regular(path).close()  # the library would wait for a FIFO
    try:
        with safe_open(path, framework) as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise BadData(f"{shown(path)} is not a valid safetensors file: {first_line(error)}") from None
