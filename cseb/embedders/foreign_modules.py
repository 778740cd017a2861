"""Safety checks of a sentence-transformers folder before the library loads it: modules, classes and files.

Up to version 5 the library imports whatever module, activation or tokenizer a local folder names, and opens a pickle
where `model.safetensors` is missing. Here only the library's own modules for text pass, each with the files it reads.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cseb.data import bounded, checkpoint, tensors
from cseb.data.bounded import shown
from cseb.data.checkpoint import INDEX, PICKLES, TRUST, WHOLE
from cseb.errors import BadData

# Old and new places of the library's modules; a class of theirs stands in a file of its own, or is named without it.
OWN = r"sentence_transformers\.(models|base\.modules|sentence_transformer\.modules)"
MODULE = re.compile(rf"{OWN}(\.[A-Za-z_]+)?\.(?P<kind>[A-Za-z]+)", re.ASCII)
TOKENIZER = re.compile(rf"{OWN}\.tokenizer(\.[A-Za-z_]+)?\.(Whitespace|Phrase)Tokenizer", re.ASCII)
ACTIVATION = re.compile(r"torch\.nn(\.modules\.(activation|linear))?\.(?P<kind>[A-Z][A-Za-z0-9]*)", re.ASCII)
TRANSFORMER = "Transformer"
BRANCHES = ("Router", "Asym")  # modules that hold modules
WITH_WEIGHTS = ("Dense", "LayerNorm", "WeightedLayerPooling", "CNN", "LSTM", "WordEmbeddings", "StaticEmbedding")
WITHOUT = ("Pooling", "Normalize", "Dropout", "WordWeights", "BoW")
KNOWN = (TRANSFORMER, *BRANCHES, *WITH_WEIGHTS, *WITHOUT)
# How a Transformer module was saved: the library tries these names in turn.
SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
ARGUMENTS = ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs")
TEXT_ONLY = {
    "transformer_task": ("feature-extraction",),
    "backend": ("torch",),
    "module_output_name": ("token_embeddings", "sentence_embedding"),
}
DEEPEST = 3  # routers inside routers
MOST_MODULES = 100


@dataclass(frozen=True, slots=True)
class Module:
    """A module of a model: its class, and the folder that its files lie in."""

    kind: str
    folder: Path


def check(folder: Path, trust_remote_code: bool = False) -> tuple[Module, ...]:
    """Return the modules of a folder in order, after a look at each file that the library would open. Raises: BadData.

    trust_remote_code: let code of the folder's own pass; pickles never do.
    """
    _not_shadowed(folder)
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            checkpoint.check_entries(path)
    checkpoint.check_entries(folder)
    if (card := folder / "README.md").is_file():
        bounded.read_bytes(card, 16 * bounded.MIB)  # the library reads it whole
    listed = bounded.read_json(folder / "modules.json")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_MODULES:
        raise BadData(
            f"{shown(folder / 'modules.json')} lists no modules; a list of objects with type and path is needed"
        )
    found: list[Module] = []
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise BadData(f"{shown(folder / 'modules.json')} lists a module without a type")
        found.append(_module(folder, entry["type"], entry.get("path", ""), trust_remote_code))
    for module in found:
        _check(module, trust_remote_code, DEEPEST)
    return tuple(found)


def _not_shadowed(folder: Path) -> None:
    """Raises: BadData if Python would take the library itself from the folder, as it does when started inside it."""
    try:
        spec = importlib.util.find_spec("sentence_transformers")
    except (ImportError, ValueError):
        spec = None
    origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
    if origin is not None and origin.is_relative_to(folder.resolve()):
        raise BadData(
            f"{shown(folder)} holds a package called sentence_transformers that would be imported instead; remove it"
        )


def _module(root: Path, named: str, path: object, trust_remote_code: bool) -> Module:
    """Raises: BadData if the class is not the library's own, or its folder does not lie under the model's."""
    matched = MODULE.fullmatch(named)
    kind = matched["kind"] if matched else named.rpartition(".")[2]
    if not trust_remote_code and (matched is None or kind not in KNOWN):
        raise BadData(
            f"{shown(root)}: its module {named[:100]!r} is not a text module of sentence-transformers "
            f"({', '.join(KNOWN)}), so custom code would run; {TRUST}"
        )
    inside = PurePosixPath(path) if isinstance(path, str) and "\0" not in path and "\\" not in path else None
    if inside is None or inside.is_absolute() or ".." in inside.parts:
        raise BadData(f"{shown(root)}: its module {kind[:100]} is in {str(path)[:100]!r}, outside the folder")
    folder = root / inside
    try:
        leads_out = not folder.resolve().is_relative_to(root.resolve())
        folder.exists()
    except (OSError, RuntimeError):  # a name too long, or links in a circle
        leads_out = True
    if leads_out:
        raise BadData(f"{shown(folder)} points outside the model's folder {shown(root)}")
    return Module(kind if matched else named, folder)


def _check(module: Module, trust_remote_code: bool, deepest: int) -> None:
    """Look at each file that this module's class opens. Raises: BadData."""
    if module.kind == TRANSFORMER:
        checkpoint.check(module.folder, trust_remote_code)
        for file in checkpoint.weight_files(module.folder):
            tensors.check_finite(file)
        for name in SETTINGS:
            if (module.folder / name).exists():
                _check_settings(module.folder / name, trust_remote_code)
        return
    config = _object(module.folder / "config.json")
    if module.kind in BRANCHES:
        for inner in _branches(module, config, trust_remote_code, deepest):
            _check(inner, trust_remote_code, deepest - 1)
        return
    if not trust_remote_code:
        _check_names(module.folder / "config.json", config)
    if (weights := module.folder / WHOLE).is_file():
        tensors.stored(weights)
        tensors.check_finite(weights)
    elif (pickled := sorted(path for pattern in PICKLES for path in module.folder.glob(pattern))) and (
        module.kind in KNOWN or not (module.folder / INDEX).is_file()  # code of its own may open shards
    ):
        raise BadData(f"{shown(pickled[0])} is a pickle, which can run code and is never opened; save it as {WHOLE}")
    elif module.kind in WITH_WEIGHTS:
        raise BadData(f"{shown(module.folder)} has no {WHOLE} with the weights of {module.kind}")
    for name in ("whitespacetokenizer_config.json", "phrasetokenizer_config.json"):
        _object(module.folder / name, 64 * bounded.MIB)


def _branches(module: Module, config: dict[str, Any], trust_remote_code: bool, deepest: int) -> Iterator[Module]:
    """Modules that a router holds, each in a folder of its own inside the router's. Raises: BadData."""
    types = (_object(module.folder / "router_config.json") or config).get("types")
    if deepest == 0 or not isinstance(types, dict) or not 1 <= len(types) <= MOST_MODULES:
        raise BadData(f"{shown(module.folder)}: {module.kind} names no modules, or too many, or routers in routers")
    for name, kind in types.items():
        if not isinstance(kind, str):
            raise BadData(f"{shown(module.folder)}: {module.kind} names a module without a type")
        yield _module(module.folder, kind, name, trust_remote_code)


def _check_names(file: Path, config: dict[str, Any]) -> None:
    """Raises: BadData if a module's configuration names a class that is not known to be harmless."""
    activation, tokenizer = config.get("activation_function"), config.get("tokenizer_class")
    if activation is not None and not (isinstance(activation, str) and _is_activation(activation)):
        raise BadData(f"{shown(file)}: activation_function {str(activation)[:100]!r} is not one of torch.nn's; {TRUST}")
    if tokenizer is not None and not (isinstance(tokenizer, str) and TOKENIZER.fullmatch(tokenizer)):
        raise BadData(
            f"{shown(file)}: tokenizer_class {str(tokenizer)[:100]!r} is not one of sentence-transformers'; {TRUST}"
        )


def _is_activation(named: str) -> bool:
    from torch import nn

    matched = ACTIVATION.fullmatch(named)
    kind = getattr(nn, matched["kind"], None) if matched else None
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def _check_settings(file: Path, trust_remote_code: bool) -> None:
    """Raises: BadData if a Transformer module is to be loaded with anything but lengths and switches.

    Its arguments go to `from_pretrained` as they are: they can name other files, other weights and kernels of the hub.
    """
    config = bounded.read_object(file)
    checkpoint.check_config(config, shown(file), trust_remote_code)
    if trust_remote_code:
        return
    for key, value in config.items():
        if key in ARGUMENTS and isinstance(value, dict):
            strange = next((name for name, one in value.items() if not _switch(name, one)), None)
        elif key == "modality_config":
            strange = None if _reads_text(value) else key
        else:
            strange = None if _switch(key, value) else key
        if strange is not None:
            raise BadData(f"{shown(file)}: {key}: {strange[:100]!r} is set, which is not known to be safe; {TRUST}")


def _switch(key: str, value: object) -> bool:
    if key in ("trust_remote_code", "local_files_only", "use_safetensors", "use_kernels", "weights_only"):
        return False
    if key in ("dtype", "torch_dtype", "attn_implementation"):
        return value in (None, "float32", "float16", "bfloat16", "auto", "eager", "sdpa", "flash_attention_2")
    return value is None or isinstance(value, bool | int | float) or value in TEXT_ONLY.get(key, ())


def _reads_text(value: object) -> bool:
    """Return whether text goes through the model's `forward`, as it was saved."""
    return isinstance(value, dict) and all(
        isinstance(how, dict) and how.get("method") == "forward" for how in value.values()
    )


def _object(file: Path, limit: int = bounded.MIB) -> dict[str, Any]:
    """What a JSON file holds, nothing where there is none. Raises: BadData."""
    return bounded.read_object(file, limit) if file.exists() else {}
