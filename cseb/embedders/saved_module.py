"""A module of sentence-transformers for saved models whose pooling that library lacks.

`modules.json` of such a model names it. The library imports it with `trust_remote_code=True` where cseb is installed,
and otherwise refuses the model; without this file it would load the folder with mean pooling.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from cseb.embedders.folders import saved_encoder

try:
    modules: Any = import_module("sentence_transformers.base.modules")
except ImportError:  # up to version 5
    modules = import_module("sentence_transformers.models")
Base: Any = modules.InputModule


class SavedEncoder(Base):  # type: ignore[misc]
    """A model that cseb has saved, with its own pooler, head and post-processor."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        self.encoder = saved_encoder(Path(folder))
        self.tokenizer = self.encoder.tokenizer
        self.max_seq_length = self.encoder.limit()

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> dict[str, Any]:
        """Return the texts themselves; the encoder tokenises them."""
        return {"texts": [(prompt or "") + str(text) for text in inputs]}

    tokenize = preprocess  # its name up to version 5

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add the sentence vectors (B, D)."""
        vectors = torch.from_numpy(self.encoder.embed(features["texts"]))
        return {**features, "sentence_embedding": vectors.to(self.encoder.device)}

    def get_embedding_dimension(self) -> int:
        """Return the length of a vector."""
        return int(self.encoder.embed(["a"]).shape[1])

    get_sentence_embedding_dimension = get_embedding_dimension  # its name up to version 5

    @classmethod
    def load(cls, model_name_or_path: str, *_: Any, **__: Any) -> SavedEncoder:
        """Load a model from its folder."""
        return cls(model_name_or_path)

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Copy the model's folder."""
        shutil.copytree(self.folder, output_path, dirs_exist_ok=True)
