"""Check that a model as it is written gives the vectors that were scored."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cseb.embedders.folders import saved_encoder
from cseb.encoder.encoder import Encoder
from cseb.encoder.load_check import LONG, TEXTS
from cseb.errors import BadResults, first_line
from cseb.tasks.pairs import row_cosine
from cseb.tasks.task import Vectors

CLOSE = 1e-3  # difference of a cosine from 1
CLOSE_INT8 = 0.1
MOST_WORDS = 600  # of the longest text, which most encoders cut


def check_saved(encoder: Encoder, folder: Path) -> None:
    """Compare the vectors of a folder with those of its encoder: loaded by cseb, and by sentence-transformers.

    Short and long texts are encoded together. Raises: BadResults if vectors differ.
    """
    texts = _texts(encoder)
    precision, encoder.eval_precision = encoder.eval_precision, "fp32"  # a saved model computes in float32
    expected = encoder.embed(texts)
    encoder.eval_precision = precision
    _compare("cseb", expected, lambda: saved_encoder(folder).embed(texts))
    if importlib.util.find_spec("sentence_transformers") is not None:
        _compare("sentence-transformers", expected, lambda: _by_library(folder, texts))


def check_onnx(encoder: Encoder, through_onnx: Encoder, int8: bool) -> None:
    """Compare the vectors of an ONNX file with those of its encoder. Raises: BadResults if they differ."""
    texts = _texts(encoder)
    _compare("onnxruntime", encoder.embed(texts), lambda: through_onnx.embed(texts), CLOSE_INT8 if int8 else CLOSE)


def _texts(encoder: Encoder) -> list[str]:
    """Return short texts, and one that most encoders cut."""
    return [*TEXTS, "a", LONG.upper(), " ".join([LONG] * (min(encoder.limit(), MOST_WORDS) // 16 + 1))]


def _by_library(folder: Path, texts: Sequence[str]) -> Vectors:
    from sentence_transformers import SentenceTransformer

    kind: Any = SentenceTransformer
    model = kind(str(folder), device="cpu", local_files_only=True, trust_remote_code=True)
    vectors: Vectors = model.encode(list(texts), show_progress_bar=False)
    return vectors


def _compare(loader: str, expected: Vectors, encode: Callable[[], Vectors], close: float = CLOSE) -> None:
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            vectors = encode()
    except Exception as error:  # loaders raise errors of all kinds
        raise BadResults(f"the saved model cannot be loaded by {loader}: {first_line(error)}") from error
    same_shape = vectors.shape == expected.shape
    cosine = float(row_cosine(expected, np.asarray(vectors, np.float32)).min()) if same_shape else 0.0
    if not cosine >= 1 - close:
        raise BadResults(
            f"the saved model is not the model that was scored: loaded by {loader}, its vectors have a cosine of "
            f"{cosine:.3f} with the scored ones. Take another pooler, or report this encoder and method"
        )
