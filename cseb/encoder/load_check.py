"""Check an encoder on two sentences before it is used: weights, tokenizer, and independence of the batch.

Every encoder is loaded and checked once; its hash is then kept in the user's cache folder.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoTokenizer

from cseb.data.bidirectional import FAMILIES, SWITCH
from cseb.data.checkpoint import stamps
from cseb.encoder.architecture import configuration
from cseb.encoder.families import load_pretrained, network_class
from cseb.encoder.passed import has_passed, remember
from cseb.encoder.tokenizer import read as read_tokenizer
from cseb.errors import BadData, first_line
from cseb.text import quantity

SHORT = "Two dogs are running."
LONG = "A woman in a red coat is waiting for the last train to the airport, and it's raining."
TEXTS = (SHORT, LONG, "Où est l'hôtel? Grüße aus ÇANKAYA, 3.5 km", "東京 नमस्ते مرحبا")
TOLERANCE = 3e-4  # relative difference of states; rounding gives 1e-6
BUFFERS = re.compile(r"(position_ids|token_type_ids|inv_freq|masked_bias|attn\.bias|attention\.bias|rotary_emb\..*)")
ANOTHER = "take another encoder"


def check(folder: Path, trust_remote_code: bool = False) -> None:
    """Load an encoder and check it, unless it has passed before. Raises: BadData."""
    _check(folder, trust_remote_code, stamps(folder))


@functools.lru_cache(maxsize=16)
def _check(folder: Path, trust_remote_code: bool, _stamps: object) -> None:
    if not has_passed(folder, trust_remote_code):
        _load_and_check(folder, trust_remote_code)
        remember(folder, trust_remote_code)


def check_weights(model: nn.Module, missing: Sequence[str], unexpected: Sequence[str]) -> None:
    """Check that all weights of the backbone are in the files, and no others but heads. Raises: BadData."""
    if absent := [name for name in missing if "pooler" not in name]:
        raise BadData(f"its files lack {_some(absent)} of its network; get its files again")
    prefix, own = f"{getattr(model, 'base_model_prefix', '')}.", {name for name, _ in model.named_children()}
    unused = [
        name for name in unexpected if name.removeprefix(prefix).partition(".")[0] in own and not BUFFERS.search(name)
    ]
    if unused:
        raise BadData(
            f"transformers {transformers.__version__} does not use {_some(unused)} of its files, so its vectors would "
            "be those of another model; correct config.json, or install the version of transformers that wrote it"
        )


def _some(weights: Sequence[str]) -> str:
    return f"{quantity(len(weights), 'weight')} ({', '.join(weights[:2])}{', ...' if len(weights) > 2 else ''})"


def _load_and_check(folder: Path, trust_remote_code: bool) -> None:
    config = configuration(folder, trust_remote_code)
    tokenizer = read_tokenizer(folder, trust_remote_code)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.device("cpu"):
            warnings.simplefilter("ignore")
            _check_words(tokenizer)
            _check_tokenizer(folder, trust_remote_code)
            model, missing, unexpected = load_pretrained(
                network_class(config), folder, config, trust_remote_code=trust_remote_code
            )
            check_weights(model, missing, unexpected)
            _check_states(model.eval(), tokenizer)
    except BadData as error:
        raise BadData(f"encoder {folder}: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # loaders raise errors of all kinds
        raise BadData(f"encoder {folder} cannot be loaded: {first_line(error)}") from None


def _check_words(tokenizer: Any) -> None:
    """Check that there is a vocabulary: without its files, transformers makes an empty tokenizer. Raises: BadData."""
    if not {*tokenizer.get_vocab()} - {*tokenizer.all_special_tokens, "▁"}:
        raise BadData(
            "its tokenizer has no vocabulary, so that all words would be the same; copy the tokenizer's files into the "
            "folder, such as tokenizer.json or vocab.txt"
        )


def _check_tokenizer(folder: Path, trust_remote_code: bool) -> None:
    """Check that transformers reads the tokenizer as `tokenizer.json` describes it. Raises: BadData."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        return
    loaded = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
    described = Tokenizer.from_file(str(file))
    described.no_truncation()
    described.no_padding()
    for text in TEXTS:
        ids = loaded(text, add_special_tokens=False, verbose=False)["input_ids"]
        expected = described.encode(text, add_special_tokens=False).ids
        if ids != expected:
            raise BadData(
                f"transformers reads {text!r} as {quantity(len(ids), 'token')}, not as the {len(expected)} of "
                "tokenizer.json; correct tokenizer_class in tokenizer_config.json, or get the files again"
            )


@torch.inference_mode()
def _check_states(model: Any, tokenizer: Any) -> None:
    """Check the shape of states, and that they do not depend on padding. Raises: BadData."""
    config = model.config
    room = int(min(32, tokenizer.model_max_length))
    short, long = (tokenizer(text, truncation=True, max_length=room)["input_ids"] for text in (SHORT, LONG))
    short = short[: len(long) // 2]
    padding = [tokenizer.pad_token_id or 0] * (len(long) - len(short))
    ids = torch.tensor([[*short, *padding], long])
    mask = torch.tensor([[1] * len(short) + [0] * len(padding), [1] * len(long)])
    alone, batch = _states(model, ids[:1, : len(short)], mask[:1, : len(short)]), _states(model, ids, mask)
    if batch.shape != (*ids.shape, config.hidden_size):
        raise BadData(
            f"its states of {quantity(ids.shape[1], 'token')} have the shape {tuple(batch.shape[1:])}, and its "
            f"hidden_size is {config.hidden_size}; {ANOTHER}"
        )
    if not bool(batch.isfinite().all()):
        raise BadData("its states are not finite; get its files again")
    difference = _difference(alone[0], batch[0, : len(short)])
    if difference > TOLERANCE:
        raise BadData(
            f"its vectors depend on the other sentences of a batch, by {100 * difference:.1f} % for {SHORT!r}, since "
            f"models of type {config.model_type} read padding or random numbers; {ANOTHER}"
        )
    if getattr(config, SWITCH, True) is False and config.model_type in FAMILIES:
        other = ids.clone()
        other[1, -1] = (ids[1, -1] + 1) % config.vocab_size
        if _difference(batch[1, :-1], _states(model, other, mask)[1, :-1]) == 0:
            raise BadData(
                f"its config.json says {SWITCH}: false, which transformers {transformers.__version__} ignores; install "
                "a newer version"
            )


def _states(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    try:
        states: Tensor = model(input_ids=ids, attention_mask=mask, return_dict=True).last_hidden_state
    except Exception as error:  # models raise errors of all kinds
        raise BadData(
            f"models of type {model.config.model_type} do not encode token ids with a mask ({first_line(error)}); "
            f"{ANOTHER}"
        ) from None
    return states


def _difference(states: Tensor, others: Tensor) -> float:
    """Return the largest difference of two states of a token (T, D), relative to its norm."""
    return float(((states - others).norm(dim=-1) / states.norm(dim=-1).clamp(min=1e-12)).max())
