"""Check that configuration, tokenizer and weights of a folder fit together, before weights are loaded.

The network is built on PyTorch's `meta` device, where tensors have shapes and no memory.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel

from cseb.data import checkpoint, tensors
from cseb.data.tensors import Stored
from cseb.encoder import bidirectional
from cseb.encoder import tokenizer as tokenizers
from cseb.encoder.families import family_of
from cseb.errors import BadData, first_line
from cseb.text import quantity

MOST = {"hidden_size": 1 << 20, "num_hidden_layers": 1000, "num_attention_heads": 1 << 14, "vocab_size": 1 << 24}
LAYER = re.compile(r"(?P<stack>\D*\.)(?P<number>\d+)\.")  # encoder.layer.3. of encoder.layer.3.output.dense.weight
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
    bidirectional.check(folder, config)
    for file in checkpoint.weight_files(folder):
        tensors.check_finite(file)
    for name, most in MOST.items():
        value, least = getattr(config, name, None), 1
        if name == "num_hidden_layers" and not family_of(config.model_type).layers:
            least = 0
        if type(value) is not int or not least <= value <= most:
            fault = "does not describe a Transformer encoder" if value is None else "does not define an encoder"
            raise BadData(
                f"encoder {folder}: its config.json {fault}: {name} is {str(value)[:50]}; 1 to {most:,} is allowed"
            )
    if (projected := getattr(config, "word_embed_proj_dim", None) or config.hidden_size) != config.hidden_size:
        raise BadData(
            f"encoder {folder}: its states are projected from {config.hidden_size} numbers to {projected} behind the "
            "last layer, as in opt-350m, which is not supported; take another size of its family"
        )
    if trust_remote_code:  # its code may build another network
        rows = config.vocab_size
    else:
        network = _network(folder, config)
        _fits(folder, network)
        rows = _rows(network, config)
    tokenizer = tokenizers.read(folder, trust_remote_code)
    highest = max([tokenizer.pad_token_id or 0, *tokenizer.get_vocab().values()])
    if highest >= rows:
        raise BadData(
            f"encoder {folder}: its tokenizer has ids up to {highest}, and the encoder a vocabulary of {rows}; these "
            "files do not belong together"
        )
    positions = getattr(config, "max_position_embeddings", None)
    behind = (config.pad_token_id or 0) + 1 if "roberta" in config.model_type else 0  # where RoBERTa begins to count
    if type(positions) is int and positions - behind < tokenizers.FEWEST:
        raise BadData(
            f"encoder {folder}: it has {quantity(positions - behind, 'position')}; {tokenizers.FEWEST} or more are "
            "needed"
        )


def _network(folder: Path, config: Any) -> Any:
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
            warnings.simplefilter("ignore")
            family: Any = AutoModel
            return family.from_config(config, trust_remote_code=False)
    except Exception as error:  # impossible sizes raise errors of all kinds
        raise BadData(f"encoder {folder}: its config.json does not define an encoder: {first_line(error)}") from None


def _fits(folder: Path, network: Any) -> None:
    """Raises: BadData if shapes or numbers of layers differ, or the network is far larger than its files."""
    stored: dict[str, Stored] = {}
    for file in checkpoint.weight_files(folder):
        stored |= tensors.stored(file)
    check_depth(folder, network)
    for name, tensor in network.state_dict().items():
        found = stored.get(name) or stored.get(f"{network.base_model_prefix}.{name}")
        if found is not None and found.shape != tuple(tensor.shape):
            raise BadData(
                f"encoder {folder}: its config.json asks for {name} of shape {tuple(tensor.shape)}, its weights have "
                f"{found.shape}; these files do not match"
            )
    needed, held = sum(one.numel() for one in network.parameters()), sum(prod(one.shape) for one in stored.values())
    if needed > 2 * held + SPARE:
        raise BadData(
            f"encoder {folder}: its config.json describes {needed:,} weights, its files hold {held:,}; these files do "
            "not belong together"
        )


def check_depth(folder: Path, network: Any) -> None:
    """Raises: BadData if a folder's weights are of more layers than the network has: some would not be used.

    Weights of other parts, such as a masked-LM head or a classifier, are rightly left out.
    """
    names = [name for file in checkpoint.weight_files(folder) for name in tensors.stored(file)]
    stored = _depths(name.removeprefix(f"{network.base_model_prefix}.") for name in names)
    for stack, depth in _depths(network.state_dict()).items():
        if (held := stored.get(stack, 0)) > depth:
            raise BadData(
                f"encoder {folder}: its config.json has {depth} layers, its weights have {held} ({stack}{depth} would "
                "not be used); correct config.json, or save what it describes by AutoModel.from_pretrained(folder)"
                ".save_pretrained(another)"
            )


def _depths(names: Iterable[str]) -> dict[str, int]:
    """How many layers each stack of layers has, by the names of its weights."""
    found: dict[str, int] = {}
    for layer in filter(None, map(LAYER.match, names)):
        found[layer["stack"]] = max(found.get(layer["stack"], 0), int(layer["number"]) + 1)
    return found


def _rows(network: Any, config: Any) -> int:
    """Number of word pieces that have an embedding."""
    try:
        return int(network.get_input_embeddings().num_embeddings)
    except (AttributeError, NotImplementedError):
        return int(config.vocab_size)
