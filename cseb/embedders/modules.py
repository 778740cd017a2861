"""Models of sentence-transformers, loaded by that library, so that all their modules are applied."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from cseb.data import finished_models, weights
from cseb.embedders import module_checks
from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.errors import BadData, BadSpec, first_line
from cseb.progress import tell
from cseb.records.record import Source
from cseb.tasks.task import Embed, Vectors

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
    modules = module_checks.check(folder, how.trust_remote_code)
    kinds, prompt = tuple(module.kind for module in modules), finished_models.prompt(folder)
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


def _load(folder: Path, modules: Sequence[finished_models.Module], how: EncoderOptions) -> Embed:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise BadData(INSTALL) from None
    import torch

    from cseb.encoder import linear, load_check
    from cseb.encoder.autocast import DTYPES

    if modules[0].kind == module_checks.TRANSFORMER:
        load_check.check(modules[0].folder, how.trust_remote_code)

    modules = module_checks.check(
        folder, how.trust_remote_code
    )  # once more: the folder may have changed since it was named
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
        model = model.to(DTYPES[how.dtype])
    options: dict[str, Any] = {"convert_to_tensor": True, "show_progress_bar": False}
    threads = torch.get_num_threads()
    packed = _pack(model, threads)

    def embed(sentences: Sequence[str]) -> Vectors:
        options["batch_size"] = AT_ONCE if packed or how.device == "cuda" else PADDED_AT_ONCE
        encoded = 0

        def batch_encoded(*_: Any) -> None:
            nonlocal encoded
            encoded = min(encoded + options["batch_size"], len(sentences))
            tell("encoding sentences", encoded, len(sentences))

        tell("encoding sentences", 0, len(sentences))
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
    from cseb.encoder.device_batches import TOKENS_PER_BATCH
    from cseb.encoder.parallel import in_parallel

    first, *others = model.children()
    if type(first).__name__ != module_checks.TRANSFORMER or not {type(module).__name__ for module in others} <= {
        *BLIND
    }:
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
