"""Export a trained encoder: a checked folder that transformers and sentence-transformers can load."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from cseb.data.files import whole_folder
from cseb.data.finished_models import LIBRARY_CONFIG, ORIGIN
from cseb.embedders.folders import saved_encoder
from cseb.embedders.interface import OWN_MODULE, PART_WEIGHTS
from cseb.encoder.encoder import Encoder
from cseb.encoder.load_check import LONG, TEXTS
from cseb.errors import BadResults, first_line
from cseb.experiment.job import Job
from cseb.methods.spec import refuse_unsaved
from cseb.tasks.pairs import row_cosine
from cseb.tasks.task import Vectors

CLOSE = 1e-3  # difference of a cosine from 1
MOST_WORDS = 600  # of the longest text, which most encoders cut


def check_saved(encoder: Encoder, folder: Path, trust_remote_code: bool = False) -> None:
    """Compare the vectors of a folder with those of its encoder: loaded by cseb, and by sentence-transformers.

    Short and long texts are encoded together. Raises: BadResults if vectors differ.
    """
    texts = _texts(encoder)
    precision, encoder.eval_precision = encoder.eval_precision, "fp32"  # a saved model computes in float32
    expected = encoder.embed(texts)
    encoder.eval_precision = precision
    _compare("cseb", expected, lambda: saved_encoder(folder, trust_remote_code).embed(texts))
    if importlib.util.find_spec("sentence_transformers") is not None:
        _compare("sentence-transformers", expected, lambda: _by_library(folder, texts))


def _texts(encoder: Encoder) -> list[str]:
    """Return short texts, and one that most encoders cut."""
    return [*TEXTS, "a", LONG.upper(), " ".join([LONG] * (min(encoder.limit(), MOST_WORDS) // 16 + 1))]


def _by_library(folder: Path, texts: Sequence[str]) -> Vectors:
    from sentence_transformers import SentenceTransformer

    kind: Any = SentenceTransformer
    model = kind(str(folder), device="cpu", local_files_only=True, trust_remote_code=True)
    vectors: Vectors = model.encode(list(texts), show_progress_bar=False)
    return vectors


def _compare(loader: str, expected: Vectors, encode: Callable[[], Vectors]) -> None:
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            vectors = encode()
    except Exception as error:  # loaders raise errors of all kinds
        raise BadResults(f"the saved model cannot be loaded by {loader}: {first_line(error)}") from error
    same_shape = vectors.shape == expected.shape
    cosine = float(row_cosine(expected, np.asarray(vectors, np.float32)).min()) if same_shape else 0.0
    if not cosine >= 1 - CLOSE:
        raise BadResults(
            f"the saved model is not the model that was scored: loaded by {loader}, its vectors have a cosine of "
            f"{cosine:.3f} with the scored ones. Take another pooler, or report this encoder and method"
        )


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
            check_saved(encoder, part, job.trust_remote_code)
            if card:
                (part / "README.md").write_text(card, encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise BadResults(f"the model {folder} cannot be written: {first_line(error)}; {advice}") from error


def loads(encoder: Encoder, job: Job) -> bool:
    """Return whether SentenceTransformer loads the folder with modules of its own."""
    return (
        job.method.pooler.name in POOLING
        and (not encoder.head.keep or _saves_modules(encoder.head))
        and encoder.post is None
    )


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
    head = cast(Any, encoder.head)
    parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
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
        _json(folder / LIBRARY_CONFIG, {"prompts": {"prompt": encoder.prompt}, "default_prompt_name": "prompt"})
    chosen = POOLING[job.method.pooler.name]
    flags = {f"pooling_mode_{mode}": mode == chosen for mode in POOLING.values()}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    _json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": encoder.config.hidden_size, **flags})
    longest = encoder.limit() + encoder.prompt_tokens()
    _json(folder / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})


def _json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")
