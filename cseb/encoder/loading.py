"""Load an encoder's folder: configuration, shape, tokenizer, weights and masked-LM head."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM

from cseb.data import checkpoint
from cseb.data.finished_models import left_out
from cseb.encoder import architecture, load_check
from cseb.encoder import tokenizer as tokenizers
from cseb.encoder.encoder import DROPOUTS, Encoder
from cseb.encoder.families import family_of, load_pretrained, network_class
from cseb.encoder.interface import ATTENTIONS, LANGUAGE, POOLED, Head, Pieces, Pooler, Shape
from cseb.errors import BadData, first_line
from cseb.words import has_marks, without_spaces, word_numbers

# The head in a masked-LM model of each family, and a weight that only checkpoints with the head have.
LANGUAGE_HEADS: dict[str, Callable[[Any], Callable[[Tensor], Tensor]]] = {
    **dict.fromkeys(("bert", "deberta-v2"), lambda model: model.cls),
    **dict.fromkeys(("roberta", "xlm-roberta", "mpnet"), lambda model: model.lm_head),
    "distilbert": lambda model: (
        lambda states: model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(states))))
    ),
    "modernbert": lambda model: lambda states: model.decoder(model.head(states)),
    "albert": lambda model: model.predictions,
    "electra": lambda model: lambda states: model.generator_lm_head(model.generator_predictions(states)),
}
LANGUAGE_MARKS = {
    **dict.fromkeys(("bert", "deberta-v2"), "cls.predictions.transform.dense.weight"),
    **dict.fromkeys(("roberta", "xlm-roberta", "mpnet"), "lm_head.dense.weight"),
    "distilbert": "vocab_transform.weight",
    "modernbert": "head.dense.weight",
    "albert": "predictions.dense.weight",
    "electra": "generator_predictions.dense.weight",
}


class LanguageWeights(nn.Module):
    """The weights of a masked-LM model that are not in its backbone."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        for name, child in model.named_children():
            if child is not model.base_model:
                self.add_module(name, child)


class TiedOutput(nn.Module):
    """Logits from the word embeddings and a new bias, for checkpoints without a masked-LM head.

    width: of the states; a new linear map comes first if word embeddings are narrower, as in ALBERT.
    """

    def __init__(self, words: nn.Embedding, width: int) -> None:
        super().__init__()
        own = words.embedding_dim
        self.narrow = nn.Identity() if own == width else nn.Linear(width, own)
        self.bias = nn.Parameter(torch.zeros(words.num_embeddings))
        self.words = [words]  # in a list, because the backbone owns them

    def forward(self, states: Tensor) -> Tensor:
        """Map states (M, D) to logits (M, V)."""
        return F.linear(self.narrow(states), self.words[0].weight, self.bias)


# `load` checks the weights itself; the library's messages and progress bars would disturb the display.
transformers_logging: Any = transformers.utils.logging
transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

SENTENCES_AT_ONCE = 1000  # per call of the tokenizer
# Families whose self-attention modules return the heads separately, before the output projection.
OPEN_ATTENTION = ("bert", "roberta", "xlm-roberta", "camembert", "electra")
UNPOOLED = ("deberta", "deberta-v2")  # their classifiers have a pooler of their own
EMBEDDING_WIDTHS = ("embedding_size", "input_embedding_size")  # names in configurations
# Families that accept position ids, and whether these start after the padding id.
POSITIONED = {
    **dict.fromkeys(("bert", "electra", "distilbert"), False),
    **dict.fromkeys(("roberta", "xlm-roberta", "camembert"), True),
}


def configuration(folder: Path, dropout: float | str = "model", trust_remote_code: bool = False) -> Any:
    """Return the encoder's configuration with all dropout rates set to `dropout`, unless "model". Raises: BadData."""
    config = architecture.configuration(folder, trust_remote_code)
    if dropout != "model":
        for name in DROPOUTS:
            if hasattr(config, name):
                setattr(config, name, dropout)
    return config


def shape_of(folder: Path, dropout: float | str = "model", trust_remote_code: bool = False) -> Shape:
    """Return the `Shape` of an encoder, without loading its weights. Raises: BadData."""
    architecture.check(folder, trust_remote_code)
    load_check.check(folder, trust_remote_code)
    config = configuration(folder, dropout, trust_remote_code)
    tokenizer = tokenizers.read(folder, trust_remote_code)
    weights = [name for file in checkpoint.weight_files(folder) for name in checkpoint.stored(file)]
    try:
        return Shape(
            width=config.hidden_size,
            layers=config.num_hidden_layers,
            heads=config.num_attention_heads,
            mask_token=tokenizer.mask_token is not None,
            pooled=config.model_type not in UNPOOLED and "pooler.dense.weight" in "\n".join(weights),
            dropout=max((getattr(config, name, None) or 0.0 for name in DROPOUTS), default=0.0),
            open_attention=config.model_type in OPEN_ATTENTION,
            pieces=functools.partial(word_pieces, tokenizer) if tokenizer.is_fast else None,
            mask_id=tokenizer.mask_token_id or 0,
            vocabulary=config.vocab_size,
            language=LANGUAGE_MARKS.get(config.model_type) in weights,
            first_position=_first_position(config),
            folder=folder,
            family=family_of(config.model_type),
            embedding_width=next((width for name in EMBEDDING_WIDTHS if (width := getattr(config, name, None))), None),
        )
    except (AttributeError, TypeError) as error:
        raise BadData(f"encoder {folder}: its config.json does not describe a Transformer encoder ({error})") from None


def _first_position(config: Any) -> int | None:
    if config.model_type not in POSITIONED:
        return None
    return config.pad_token_id + 1 if POSITIONED[config.model_type] else 0


def word_pieces(tokenizer: Any, sentences: Sequence[str]) -> Iterator[Pieces]:
    """Yield the tokens and word starts of every sentence, as its tokenizer pre-tokenises words.

    In a sentence of a script without spaces or with many combining marks, words are those of `cseb.words`.
    """
    for start in range(0, len(sentences), SENTENCES_AT_ONCE):
        block = list(sentences[start : start + SENTENCES_AT_ONCE])
        encoded = tokenizer(block, add_special_tokens=False, verbose=False)
        for row, (text, ids) in enumerate(zip(block, encoded["input_ids"], strict=True)):
            words = encoded.word_ids(row)
            if without_spaces(text) or has_marks(text):
                words = word_numbers(text, [start for start, _ in encoded.encodings[row].offsets])
            yield Pieces(ids, [place for place in range(len(ids)) if place == 0 or words[place] != words[place - 1]])


def load(
    folder: Path,
    pooler: Pooler,
    head: Head,
    needs: frozenset[str] = frozenset(),
    dropout: float | str = "model",
    trust_remote_code: bool = False,
) -> tuple[Encoder, list[str]]:
    """Load an encoder from a folder in Hugging Face's layout, in float32; return it with notes on how it was loaded.

    Weights are memory-mapped, so that all workers of a machine share them. Raises: BadData.
    """
    needs = needs | pooler.needs
    config = configuration(folder, dropout, trust_remote_code)
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if ATTENTIONS in needs:
        options["attn_implementation"] = "eager"  # other kernels return no maps
    language: Callable[[Tensor], Tensor] | None = None
    weights: nn.Module | None = None
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if LANGUAGE in needs and config.model_type in LANGUAGE_HEADS and POOLED not in needs:
                model, missing, _ = load_pretrained(AutoModelForMaskedLM, folder, config, **options)
                if not missing:
                    backbone, weights = model.base_model, LanguageWeights(model)
                    language = LANGUAGE_HEADS[config.model_type](model)
            if language is None:
                backbone, missing, _ = load_pretrained(network_class(config), folder, config, **options)
        except MemoryError:
            raise
        except Exception as error:  # parsers raise errors of all kinds
            raise BadData(f"encoder {folder} cannot be loaded: {first_line(error)}") from None
    load_check.check_weights(backbone, missing, ())
    if LANGUAGE in needs and language is None:
        language = weights = TiedOutput(backbone.get_input_embeddings(), config.hidden_size)
        notes.append("MLM head: the checkpoint has none; the word embeddings with a new bias are used instead")
    if unused := left_out(folder, hasattr(head, "save_modules"), pooler.template):
        notes.append(unused)
    tokenizer = tokenizers.read(folder, trust_remote_code)
    return Encoder(backbone, tokenizer, pooler, head, needs, language, weights), notes
