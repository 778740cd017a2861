"""Models of sentence-transformers, checked and then loaded by that library, so that all their modules are applied.

Up to version 5 the library imports whatever module or activation a local folder names, and opens a pickle where
`model.safetensors` is missing. Only the library's modules for text pass, each with the files that it reads.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from cseb.data import bounded, checkpoint, weights
from cseb.data.bounded import shown
from cseb.data.checkpoint import INDEX, PICKLES, TRUST, WHOLE
from cseb.data.finished_models import Module
from cseb.data.finished_models import prompt as own_prompt
from cseb.data.weights import SETTINGS
from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.errors import BadData, BadSpec, first_line
from cseb.progress import ENCODING, tell
from cseb.records.record import Source
from cseb.tasks.task import Embed, Vectors

# Old and new places of the library's modules; a class may be named with the file that defines it.
OWN = r"sentence_transformers\.(models|base\.modules|sentence_transformer\.modules)"
MODULE = re.compile(rf"{OWN}(\.[A-Za-z_]+)?\.(?P<kind>[A-Za-z]+)", re.ASCII)
ACTIVATION = re.compile(r"torch\.nn(\.modules\.(activation|linear))?\.(?P<kind>[A-Z][A-Za-z0-9]*)", re.ASCII)
TRANSFORMER = "Transformer"
WITH_WEIGHTS = ("Dense", "LayerNorm", "StaticEmbedding")
KINDS = (TRANSFORMER, *WITH_WEIGHTS, "Pooling", "Normalize", "Dropout")
ARGUMENTS = ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs")
TEXT_ONLY = {
    "transformer_task": ("feature-extraction",),
    "backend": ("torch",),
    "module_output_name": ("token_embeddings", "sentence_embedding"),
}
MOST_MODULES = 100


def check(folder: Path, trust_remote_code: bool = False) -> tuple[Module, ...]:
    """Return the modules of a folder in order, with each file that the library would open checked. Raises: BadData.

    trust_remote_code: accept code in the folder; pickles are never accepted.
    """
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            checkpoint.check_entries(path)
    checkpoint.check_entries(folder)
    listed = bounded.read_json(folder / "modules.json")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_MODULES:
        raise BadData(
            f"{shown(folder / 'modules.json')} lists no modules; a list of objects with type and path is needed"
        )
    modules: list[Module] = []
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise BadData(f"{shown(folder / 'modules.json')} lists a module without a type")
        modules.append(_module(folder, entry["type"], entry.get("path", ""), trust_remote_code))
    for module in modules:
        _check(module, trust_remote_code)
    return tuple(modules)


def _module(root: Path, named: str, path: object, trust_remote_code: bool) -> Module:
    """Raises: BadData if the class is not the library's own, or its folder does not lie under the model's."""
    matched = MODULE.fullmatch(named)
    kind = matched["kind"] if matched else named.rpartition(".")[2]
    if not trust_remote_code and (matched is None or kind not in KINDS):
        raise BadData(
            f"{shown(root)}: its module {named[:100]!r} is not a text module of sentence-transformers "
            f"({', '.join(KINDS)}), so custom code would run; {TRUST}"
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


def _check(module: Module, trust_remote_code: bool) -> None:
    """Check each file that this module's class opens. Raises: BadData."""
    if module.kind == TRANSFORMER:
        checkpoint.check(module.folder, trust_remote_code)
        for file in checkpoint.weight_files(module.folder):
            checkpoint.check_finite(file)
        for name in SETTINGS:
            if (module.folder / name).exists():
                _check_settings(module.folder / name, trust_remote_code)
        return
    file = module.folder / "config.json"
    activation = (bounded.read_object(file) if file.exists() else {}).get("activation_function")
    if activation is not None and not trust_remote_code and not _is_activation(activation):
        raise BadData(f"{shown(file)}: activation_function {str(activation)[:100]!r} is not one of torch.nn's; {TRUST}")
    if (weights := module.folder / WHOLE).is_file():
        checkpoint.stored(weights)
        checkpoint.check_finite(weights)
    elif (pickled := sorted(path for pattern in PICKLES for path in module.folder.glob(pattern))) and (
        module.kind in KINDS or not (module.folder / INDEX).is_file()  # code in the folder may open shards
    ):
        raise BadData(f"{shown(pickled[0])} is a pickle, which can run code and is never opened; save it as {WHOLE}")
    elif module.kind in WITH_WEIGHTS:
        raise BadData(f"{shown(module.folder)} has no {WHOLE} with the weights of {module.kind}")


def _is_activation(name: object) -> bool:
    from torch import nn

    matched = ACTIVATION.fullmatch(name) if isinstance(name, str) else None
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
            strange = next((name for name, setting in value.items() if not _switch(name, setting)), None)
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


# Modules that do not read the states of padding, and how many sentences they get at once.
BLIND = ("Pooling", "Normalize", "Dense", "Dropout", "LayerNorm")
AT_ONCE, PADDED_AT_ONCE = 256, 32
INSTALL = "sentence-transformers is not installed: pip install 'cseb[st]', or give `pooler` to ignore its modules"


def find(name: str, how: EncoderOptions) -> Embedder:
    """Return the embedder of a folder with modules.json, or of a hub name. Raises: BadData."""
    if how.pooler:
        raise BadSpec(f"st:{name} is pooled by its own modules, so `pooler` {how.pooler} does not apply; leave out st:")
    folder = weights.locate_modules(name)
    if not (folder / weights.MODULES).is_file():
        raise BadData(
            f"{name}: {folder} has no modules.json, so it is not a sentence-transformers model; give `pooler`"
        )
    modules = check(folder, how.trust_remote_code)
    kinds, prompt = tuple(module.kind for module in modules), own_prompt(folder)
    options = f"modules={kinds!r}, normalised={'Normalize' in kinds}, prompt={prompt!r}"
    dtype = "" if how.dtype == "fp32" else f", dtype={how.dtype!r}"
    return Embedder(
        source=Source(name=name, sha256=weights.modules_sha256(folder)),
        method="its own modules",
        resolved=f"sentence_transformers({options}{dtype})@1",
        open=lambda: _load(folder, modules, how),
        folder=modules[0].folder,
        notes=(f"modules {', '.join(kinds)}" + (f"; prompt {prompt!r}" if prompt else ""),),
    )


def _load(folder: Path, modules: Sequence[Module], how: EncoderOptions) -> Embed:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise BadData(INSTALL) from None
    import torch

    from cseb.encoder import linear, load_check
    from cseb.encoder.device_batches import DTYPES, cast

    if modules[0].kind == TRANSFORMER:
        load_check.check(modules[0].folder, how.trust_remote_code)

    modules = check(folder, how.trust_remote_code)  # once more: the folder may have changed since it was named
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
            model.encode(["a"], show_progress_bar=False)  # some impossible configurations fail only here
    except Exception as error:  # the library raises whatever its parsers do
        raise BadData(f"{folder}: sentence-transformers cannot load it: {first_line(error)}") from None
    if how.dtype in DTYPES:
        cast(model, DTYPES[how.dtype])
    options: dict[str, Any] = {"convert_to_tensor": True, "show_progress_bar": False}
    threads = torch.get_num_threads()
    packed = _pack(model, threads)

    def embed(sentences: Sequence[str]) -> Vectors:
        options["batch_size"] = AT_ONCE if packed or how.device == "cuda" else PADDED_AT_ONCE
        encoded = 0

        def batch_encoded(*_: Any) -> None:
            nonlocal encoded
            encoded = min(encoded + options["batch_size"], len(sentences))
            tell(ENCODING, encoded, len(sentences))

        tell(ENCODING, 0, len(sentences))
        hook = model[0].register_forward_hook(batch_encoded)
        torch.set_num_threads(1 if packed else threads)  # the library itself computes too little to be split
        try:
            with nullcontext() if packed else linear.chosen():
                vectors = model.encode(list(sentences), **options)
        finally:
            torch.set_num_threads(threads)
            hook.remove()
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)

    return embed


def _pack(model: Any, threads: int) -> bool:
    """Make the backbone leave out padding and split batches among threads, unless a module reads padding.

    Returns: whether it does.
    """
    from cseb.encoder import linear, packing
    from cseb.encoder.device_batches import TOKENS_PER_BATCH, in_parallel

    first, *others = model.children()
    if type(first).__name__ != TRANSFORMER or not {type(module).__name__ for module in others} <= {*BLIND}:
        return False
    backbone = first.auto_model
    if getattr(backbone.config, "output_hidden_states", False) or not packing.packs(backbone):
        return False
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    padded_forward = backbone.forward

    def forward(input_ids: Any, attention_mask: Any, token_type_ids: Any = None, **rest: Any) -> Any:
        is_pair = token_type_ids is not None and bool(token_type_ids.any())
        if is_pair or rest.keys() - {"return_dict"} or not packing.packs(backbone):
            return padded_forward(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, **rest
            )

        def states(rows: Any) -> Any:
            with linear.chosen():
                return packing.outputs(backbone, input_ids[rows], attention_mask[rows]).last_hidden_state

        count = -(-input_ids.numel() // (TOKENS_PER_BATCH["cpu"] * threads)) * threads
        order = attention_mask.sum(dim=1).argsort(stable=True)  # the library sorts by characters, packing by tokens
        batches = [rows for rows in order.tensor_split(count) if len(rows)]
        packed = torch.cat(list(in_parallel(states, batches, threads)))
        return BaseModelOutput(last_hidden_state=packed[order.argsort()])

    backbone.forward = forward
    return True
