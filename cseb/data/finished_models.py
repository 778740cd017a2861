"""The files of a finished model, of sentence-transformers or saved by cseb: its modules and its prompt."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cseb.data import bounded
from cseb.data.files import written
from cseb.data.weights import MODULES, PARTS, matching, optional_object, sha256_of, tree_sha256
from cseb.errors import BadData, BadResults

LIBRARY_CONFIG = "config_sentence_transformers.json"
ORIGIN = "cseb.json"  # method, pooler, head, further modules and prompt of a model that cseb has saved
KEPT = ("Dense", "LayerNorm", "Normalize")  # modules that the head own_modules applies
READERS = ("Transformer", "Pooling", "StaticEmbedding", "Dropout")


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its class, and the folder of its files."""

    kind: str
    folder: Path


def is_finished(folder: Path) -> bool:
    """Return whether the files of an encoder say how its sentence vectors are made."""
    return any((folder / name).is_file() for name in (MODULES, ORIGIN))


def finished_sha256(folder: Path) -> str:
    """Return the hash of the files that decide how a finished model pools, and what it does before and after.

    Other files are left out: a hub snapshot gets more of them when other commands read it.
    """
    return tree_sha256(folder, {path for pattern in (MODULES, ORIGIN, *PARTS) for path in folder.glob(pattern)})


def refuse_taken(folder: Path) -> None:
    """Refuse to write a model where something else is. Raises: BadResults."""
    with written(folder):
        ours = (folder / ORIGIN).is_file() or (folder.is_dir() and not any(folder.iterdir()))
        if folder.exists() and not ours:
            raise BadResults(f"{folder} exists and contains no model saved by cseb; name another folder")
        if folder.exists() and folder.samefile(Path.cwd()):
            raise BadResults(f"{folder} is the current folder, which cannot be replaced; name another one")


def further_modules(folder: Path) -> tuple[Module, ...]:
    """Return the modules after the pooling, none for any other folder. Raises: BadData."""
    entries = _origin(folder).get("modules")
    if entries is None:
        if not (folder / MODULES).is_file():
            return ()
        entries = bounded.read_json(folder / MODULES)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadData(f"{bounded.shown(folder / MODULES)} lists no modules; a list of objects is needed")
    if any({"..", "/"} & {*Path(str(entry.get("path"))).parts} for entry in entries):
        raise BadData(f"{bounded.shown(folder / MODULES)} names a module outside the folder")
    modules = [Module(str(entry.get("type")).rpartition(".")[2], folder / str(entry.get("path"))) for entry in entries]
    return tuple(module for module in modules if module.kind not in READERS and module.kind != "SavedEncoder")


def own_modules_sha256(folder: Path) -> str:
    """Return the hash of the modules after the pooling, in order, and of the prompt. Raises: BadData."""
    modules = [
        (module.kind, sha256_of(matching(module.folder, ("config.json", "model.safetensors"))))
        for module in further_modules(folder)
    ]
    return hashlib.sha256(json.dumps([modules, prompt(folder)]).encode()).hexdigest()


def prompt(folder: Path) -> str:
    """Return the prompt that the model puts before every sentence, "" for most models. Raises: BadData."""
    if isinstance(saved := _origin(folder).get("prompt"), str):
        return saved
    file = folder / LIBRARY_CONFIG
    if not file.exists():
        return ""
    config = bounded.read_object(file)
    prompts, name = config.get("prompts") or {}, config.get("default_prompt_name")
    if not isinstance(prompts, dict) or not all(isinstance(text, str | None) for text in (name, *prompts.values())):
        raise BadData(f"{file}: prompts are {prompts!r:.100}; an object of strings is needed, and the name of one")
    return prompts.get(name) or "" if name is not None else ""


def pools_prompt(folder: Path) -> bool:
    """Return whether the tokens of the prompt count in the pooling, as in most models. Raises: BadData."""
    file = folder / "1_Pooling" / "config.json"
    return not file.is_file() or bounded.read_object(file).get("include_prompt") is not False


def _origin(folder: Path) -> dict[str, Any]:
    return optional_object(folder / ORIGIN)


def left_out(folder: Path, own_modules: bool = False, template: str = "") -> str:
    """Return, as a sentence, what a method does not use of a finished model; "" if it uses everything.

    own_modules: the method has the head of this name. template: of the method's own prompt, "" for none.
    """
    kinds = [module.kind for module in further_modules(folder)]
    unused = [kind for kind in kinds if not own_modules or kind not in KEPT]
    parts = [f"its modules {', '.join(unused)}"] if unused else []
    parts += [f"its prompt {text!r}"] if (text := prompt(folder)) and (template or not own_modules) else []
    if not parts:
        return ""
    cure = "; +own_modules keeps them" if not own_modules and {*unused} <= {*KEPT} else ""
    return f"the encoder is a finished model, used without {' and '.join(parts)}{cure}; cseb eval scores it as it came"
