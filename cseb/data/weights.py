"""Locate, hash and list the files of encoders and of other inputs of a method. Loads no weights, needs no torch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from cseb.data import bounded, checkpoint
from cseb.data.bidirectional import BIDIRECTIONAL, bidirectional
from cseb.data.checkpoint import CONFIG
from cseb.data.shipped import ENCODERS
from cseb.errors import BadData, did_you_mean, first_line
from cseb.methods.part_facts import facts

TOKENIZER = (
    *("tokenizer*", "vocab.*", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    *("spiece.model", "sentencepiece*.model", "spm.model", "bpe.codes"),
)
MODULES = "modules.json"  # which sentence-transformers writes beside an encoder that it has saved
# With its maximum length and lower-casing; sentence-transformers takes the first of these that is not empty.
SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
TOKENIZER_CONFIG = "tokenizer_config.json"
# Maximum lengths that a hash stands for: records of all-MiniLM-L6-v2 were published before max_seq_length counted.
PUBLISHED = {"2dfdcbcd51980946c1f6ac5923d586280652798d38186af9c538039ba639ea33": 256}
PARTS = (*SETTINGS, "config_sentence_transformers.json", "[0-9]_*/config.json", "[0-9]_*/*.safetensors")
MODULE_FILES = (".json", ".safetensors", ".txt", ".model", ".codes", ".py")  # endings that sentence-transformers reads
WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?(@[\w./-]{1,200})?", re.ASCII)
FILE_ENDINGS = (".npz", ".npy", ".txt", ".json", ".safetensors", ".zip")  # of a name that means a file
EMBEDDERS = "it may be a folder, a hub name, st:FOLDER, glove:FILE or a file of sentence vectors (.npz)"
BLOCK = 1 << 20  # bytes read at a time


def find_encoder(name: str) -> tuple[Path, str]:
    """Return the folder of an encoder, and the sha256 of what decides its vectors: configuration, tokenizer, weights.

    Code that its configuration names, and that runs with trust_remote_code, counts, too.

    name: a folder, one that comes with cseb, a hub name such as org/model or org/model@revision, or a decoder that is
    to attend to both sides, bidirectional:org/model. Raises: BadData.
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
    """Return the hash of the files that decide the vectors, by name. Raises: BadData on a folder that is no encoder."""
    if not (folder / CONFIG).is_file():
        raise BadData(f"encoder {name!r}: {folder} has no {CONFIG}; give the folder that `save_pretrained` wrote")
    try:
        checkpoint.weight_files(folder)
    except BadData as error:
        raise BadData(f"encoder {name!r}: {error}") from None
    file = settings_file(folder)
    settings = optional_object(file)
    lower_case = [file.name] if settings.get("do_lower_case") is True else []  # older hashes stay valid
    # Only where a configuration names code: all-MiniLM-L6-v2 comes with train_script.py, which nothing imports.
    configs = matching(folder, (CONFIG, TOKENIZER_CONFIG))
    code = ["*.py"] if any(b'"auto_map"' in bounded.read_bytes(path, checkpoint.LIMIT) for path in configs) else []
    sha256 = sha256_of(matching(folder, (CONFIG, *lower_case, *code, *TOKENIZER, *WEIGHTS)))
    longest = None if lower_case else _shorter(folder, settings.get("max_seq_length"))
    if longest == PUBLISHED.get(sha256):
        return sha256
    return hashlib.sha256(f"{sha256}\0{longest}".encode()).hexdigest()


def settings_file(folder: Path) -> Path:
    """Return the file of `SETTINGS` that sentence-transformers reads, which may be missing. Raises: BadData."""
    return next((folder / name for name in SETTINGS if optional_object(folder / name)), folder / SETTINGS[0])


def _shorter(folder: Path, longest: object) -> int | None:
    """Return a maximum length if it is below those of tokenizer and network, which the hash covers; None if not."""
    if type(longest) is not int:
        return None
    config, tokenizer = optional_object(folder / CONFIG), optional_object(folder / TOKENIZER_CONFIG)
    limits = [tokenizer.get("model_max_length"), config.get("max_position_embeddings"), config.get("n_positions")]
    return longest if all(longest < limit for limit in limits if isinstance(limit, int | float)) else None


def optional_object(file: Path) -> dict[str, Any]:
    """Return the content of a JSON file, nothing if there is no file. Raises: BadData."""
    return bounded.read_object(file, checkpoint.LIMIT) if file.is_file() else {}


def locate(name: str) -> Path:
    """Return the folder of an encoder, downloaded or made if necessary; weights are not read. Raises: BadData."""
    if name.startswith(BIDIRECTIONAL):
        folder = locate(name.removeprefix(BIDIRECTIONAL))
        return bidirectional(folder, matching(folder, (*SETTINGS, *TOKENIZER, *WEIGHTS)))
    if name in ENCODERS:
        if not (folder := ENCODERS[name].folder).is_dir():
            raise BadData(f"encoder {name!r} should come with cseb, and {folder} is not there; install cseb again")
        return folder
    if name and bounded.is_dir(name):
        return Path(name).resolve()
    if bounded.is_file(name):
        raise BadData(f"encoder {name!r} is a file; give the folder that holds {CONFIG}, tokenizer and safetensors")
    shipped = ", ".join(ENCODERS)
    if not HUB_NAME.fullmatch(name) or ".." in name or name.lower().endswith(FILE_ENDINGS):
        raise BadData(
            f"encoder {name[:100]!r}: no such folder; give one, or one of {shipped}, or a hub name such as "
            "bert-base-uncased"
        )
    return _download(name, (CONFIG, MODULES, *PARTS, *TOKENIZER, *WEIGHTS))


def locate_modules(name: str) -> Path:
    """Return a folder of sentence-transformers, downloaded if necessary. Raises: BadData."""
    if bounded.is_dir(name):
        return Path(name).resolve()
    if not HUB_NAME.fullmatch(name):
        raise BadData(f"{name[:100]}: no such folder")
    return _download(name, tuple(f"*{suffix}" for suffix in MODULE_FILES))


def modules_sha256(folder: Path) -> str:
    """Return the hash of names, lengths and bytes of all files that sentence-transformers may read."""
    return tree_sha256(folder, (path for path in folder.rglob("*") if path.is_file() and path.suffix in MODULE_FILES))


def tree_sha256(folder: Path, files: Iterable[Path]) -> str:
    """Return the hash of names in a folder, lengths and bytes of files below it."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


@lru_cache(maxsize=16)  # the hub is asked once, and all jobs of a process read the same revision
def _download(name: str, patterns: tuple[str, ...]) -> Path:
    """Return a hub snapshot, from the local cache when HF_HUB_OFFLINE is set or the files are there already."""
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(patterns)))
    except Exception as error:  # the hub client raises a dozen kinds, its HTTP library more; all mean "not here"
        raise BadData(
            f"encoder {name!r}: no such folder, and downloading it from the hub failed ({first_line(error)}). Without "
            f"network, put {CONFIG}, the tokenizer files and *.safetensors into a folder and give its path, or use "
            f"an encoder that comes with cseb; {did_you_mean(name, ENCODERS)}"
        ) from error


def matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match one of the patterns, by name."""
    files = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return sorted(files, key=lambda path: path.name)


def sha256_of(files: Iterable[Path]) -> str:
    """Return the hash of names, lengths and bytes; files are read again if they have changed. Raises: BadData."""
    return _sha256(tuple((path, checkpoint.stamp(path)) for path in files))


@lru_cache(maxsize=64)
def _sha256(stamped: tuple[tuple[Path, tuple[int, int, int]], ...]) -> str:
    """Return the hash of names, lengths and bytes; the length keeps one file from running into the next."""
    total = hashlib.sha256()
    for path, (_, size, _) in stamped:
        with bounded.readable(path), path.open("rb") as stream:
            total.update(f"{path.name}\0{size}\0".encode())
            while block := stream.read(BLOCK):
                total.update(block)
    return total.hexdigest()


def external_contents(named: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return the sha256 of external inputs by name. named: see `Method.external_inputs`. Raises: BadData.

    Encoders are downloaded from the hub. A missing file is reported by the part that reads it.
    """
    hashes = {}
    for part, option, name in named:
        kind = facts(part).external[option]
        if kind == "embedder":
            try:
                hashes[name] = _embedder(name)
            except BadData as error:
                raise BadData(f"{part}: {option}: {error}; {EMBEDDERS}") from None
        elif kind == "encoder":
            try:
                hashes[name] = find_encoder(name)[1]
            except BadData as error:
                own = [f"+{part}({key}={value}) avoids the other model" for key, value in facts(part).own.items()]
                raise BadData(f"{part}: {option}: {'; '.join([str(error), *own])}") from None
        elif (path := Path(name)).is_file():
            hashes[name] = sha256_of([path])
    return hashes


def _embedder(name: str) -> str:
    """Return the hash of a finished encoder: a file of vectors, a folder or a hub name. Raises: BadData."""
    kind, colon, rest = name.partition(":")
    if kind == "st" and colon:
        return modules_sha256(locate_modules(rest))
    if bounded.is_file(path := Path(rest if kind == "glove" and colon else name)):
        return sha256_of([path])
    if bounded.is_file(path / MODULES):
        return modules_sha256(path)
    return find_encoder(name)[1]
