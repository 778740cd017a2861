"""Export a trained encoder as a folder that transformers and sentence-transformers can load."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from cseb.data.files import whole_folder
from cseb.data.finished_models import CONFIG, ORIGIN
from cseb.embedders.interface import OWN_MODULE, PART_WEIGHTS
from cseb.encoder.encoder import Encoder
from cseb.encoder.families import family_of
from cseb.errors import BadResults, first_line
from cseb.experiment.check_saved import check_saved
from cseb.experiment.job import Job
from cseb.methods.spec import refuse_unsaved

# Poolers, and the same pooling modes of sentence-transformers.
POOLING = {"cls": "cls_token", "mean": "mean_tokens", "last": "lasttoken", "weighted_mean": "weightedmean_tokens"}
KEPT = "its record is stored; the same command saves the model once this is fixed"  # of a job of a grid


def export(encoder: Encoder, job: Job, folder: Path, advice: str = KEPT, card: str = "") -> None:
    """Write the encoder as scored: weights, tokenizer, and `cseb.json` with pooler, head and origin.

    `cseb.safetensors` contains the weights of pooler, head and post-processor at test, if they have any. The folder is
    loaded by cseb and by sentence-transformers, and its vectors are compared with those of the encoder. It appears
    complete or not at all.

    advice: what to do if it cannot be written. card: content of README.md, "" for none. Raises: BadResults.
    """
    refuse_unsaved(job.label, job.method)
    try:
        with whole_folder(folder, replaced=True) as part:
            _write(encoder, job, part)
            check_saved(encoder, part)
            if card:
                (part / "README.md").write_text(card, encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise BadResults(f"the model {folder} cannot be written: {first_line(error)}; {advice}") from error


def loads(encoder: Encoder, job: Job) -> bool:
    """Return whether SentenceTransformer loads the folder with modules of its own."""
    pooler, family = job.method.pooler.name, family_of(encoder.config.model_type)
    pools = pooler == "mean" if family.pools else pooler in POOLING
    return pools and (not encoder.head.keep or _saves_modules(encoder.head)) and encoder.post is None


def _saves_modules(head: Any) -> bool:
    """Return whether a head consists of modules of sentence-transformers."""
    return hasattr(head, "save_modules")


def _write(encoder: Encoder, job: Job, folder: Path) -> None:
    encoder.save(folder)
    about = {
        "key": job.key,
        "method": job.label,
        "resolved": job.method.resolved(),
        "encoder": asdict(job.encoder),
        "corpus": asdict(job.corpus),
        "size": job.size,
        "seed": job.seed,
        "pooler": str(job.method.pooler),
        "head_at_test": encoder.head.keep,
        "head": str(job.method.head),
        "post": str(job.method.post) if job.method.post else None,
    }
    family, head = family_of(encoder.config.model_type), cast(Any, encoder.head)
    parts = [("", family.module)] if family.pools else [("", family.module), ("1_Pooling", "Pooling")]
    if _saves_modules(head):
        parts += head.save_modules(folder, len(parts))
        about["prompt"] = encoder.prompt
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(parts)
    ]
    _json(folder / ORIGIN, {**about, "modules": modules})
    weights = {
        f"{name}.{key}": value.contiguous()
        for name in ("pooler", "post", *(["head"] if encoder.head.keep else []))
        if isinstance(module := getattr(encoder, name), nn.Module)
        for key, value in module.state_dict().items()
    }
    if weights:
        save_file(weights, folder / PART_WEIGHTS)
    if not loads(encoder, job):
        _json(folder / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": OWN_MODULE}])
        return
    _json(folder / "modules.json", modules)
    if encoder.prompt:
        _json(folder / CONFIG, {"prompts": {"prompt": encoder.prompt}, "default_prompt_name": "prompt"})
    if family.pools:
        return
    chosen = POOLING[job.method.pooler.name]
    flags = {f"pooling_mode_{mode}": mode == chosen for mode in POOLING.values()}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    _json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": encoder.config.hidden_size, **flags})
    longest = encoder.limit() + encoder.prompt_tokens()
    _json(folder / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})


def _json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")
