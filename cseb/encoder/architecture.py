"""Check that configuration, tokenizer and weights of a folder fit together, before weights are loaded.

The network is built on PyTorch's `meta` device, where tensors have shapes and no memory.
"""

from __future__ import annotations

import functools
import warnings
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig

from cseb.data import checkpoint
from cseb.data.checkpoint import Stored
from cseb.encoder import tokenizer as tokenizers
from cseb.encoder.families import TEXT_ENCODERS, network_class, position_limit
from cseb.errors import BadData, first_line
from cseb.text import quantity

MOST = {"hidden_size": 1 << 20, "num_hidden_layers": 1000, "num_attention_heads": 1 << 14, "vocab_size": 1 << 24}
SPARE = 10_000_000  # weights that may be missing from the files, such as those of a pooler


def configuration(folder: Path, trust_remote_code: bool = False) -> Any:
    """Return the encoder's configuration, as transformers reads it. Raises: BadData."""
    checkpoint.check(folder, trust_remote_code)
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)
    except Exception as error:  # parsers raise errors of all kinds
        raise BadData(f"encoder {folder}: config.json cannot be used: {first_line(error)}") from None


def check(folder: Path, trust_remote_code: bool = False) -> None:
    """Check shapes and sizes; a folder is checked again only if a file has changed. Raises: BadData."""
    checkpoint.check(folder, trust_remote_code)
    _check(folder, trust_remote_code, checkpoint.stamps(folder))


@functools.lru_cache(maxsize=16)
def _check(folder: Path, trust_remote_code: bool, _stamps: object) -> None:
    config = configuration(folder, trust_remote_code)
    if config.is_encoder_decoder and config.model_type not in TEXT_ENCODERS:
        raise BadData(
            f"encoder {folder}: {config.model_type} is an encoder-decoder, whose encoder cannot be loaded alone; take "
            "an encoder, a decoder or a T5 model"
        )
    for file in checkpoint.weight_files(folder):
        checkpoint.check_finite(file)
    for name, most in MOST.items():
        value = getattr(config, name, None)
        if type(value) is not int or not 1 <= value <= most:
            fault = "does not describe a Transformer encoder" if value is None else "does not define an encoder"
            raise BadData(
                f"encoder {folder}: its config.json {fault}: {name} is {str(value)[:50]}; 1 to {most:,} is allowed"
            )
    if trust_remote_code:  # its code may build another network
        rows = config.vocab_size
    else:
        network = _network(folder, config)
        _fits(folder, network)
        rows = _words(folder, network).num_embeddings
        if (positions := position_limit(network)) < tokenizers.FEWEST:
            raise BadData(
                f"encoder {folder}: it has {quantity(positions, 'position')}; {tokenizers.FEWEST} or more are needed"
            )
    tokenizer = tokenizers.read(folder, trust_remote_code)
    highest = max([tokenizer.pad_token_id or 0, *tokenizer.get_vocab().values()])
    if highest >= rows:
        raise BadData(
            f"encoder {folder}: its tokenizer has ids up to {highest}, and the encoder a vocabulary of {rows}; these "
            "files do not belong together"
        )


def _network(folder: Path, config: Any) -> Any:
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
            warnings.simplefilter("ignore")
            return network_class(config).from_config(config, trust_remote_code=False)
    except Exception as error:  # impossible sizes raise errors of all kinds
        raise BadData(f"encoder {folder}: its config.json does not define an encoder: {first_line(error)}") from None


def _fits(folder: Path, network: Any) -> None:
    """Check that shapes agree, and that the network is not far larger than its files. Raises: BadData."""
    stored: dict[str, Stored] = {}
    for file in checkpoint.weight_files(folder):
        stored |= checkpoint.stored(file)
    for name, tensor in network.state_dict().items():
        weight = stored.get(name) or stored.get(f"{network.base_model_prefix}.{name}")
        if weight is not None and weight.shape != tuple(tensor.shape):
            raise BadData(
                f"encoder {folder}: its config.json asks for {name} of shape {tuple(tensor.shape)}, its weights have "
                f"{weight.shape}; these files do not match"
            )
    needed = sum(weight.numel() for weight in network.parameters())
    available = sum(prod(weight.shape) for weight in stored.values())
    if needed > 2 * available + SPARE:
        raise BadData(
            f"encoder {folder}: its config.json describes {needed:,} weights, its files contain {available:,}; these "
            "files do not belong together"
        )


def _words(folder: Path, network: Any) -> nn.Embedding:
    """Return the word embeddings, which parts read and change. Raises: BadData if they are no `nn.Embedding`."""
    try:
        words = network.get_input_embeddings()
    except NotImplementedError:
        words = None
    if not isinstance(words, nn.Embedding):
        found = "it has no word embeddings" if words is None else f"its word embeddings are a {type(words).__name__}"
        raise BadData(f"encoder {folder}: {found}; take an encoder with an nn.Embedding, such as BERT")
    return words
