"""Encoders that are made of others, as folders written once in the user's cache: `static:` and `bidirectional:`.

`bidirectional:ENCODER` is a decoder whose tokens attend to both sides. Its folder has the decoder's own weights and
tokenizer, as links, and its configuration with `is_causal` false, which transformers reads as attention without the
causal mask. So what is trained from it and saved says the same of itself, and other libraries give the same vectors.
Source: BehnamGhader et al. 2024 (LLM2Vec), step 1.

`static:SOURCE` is a table of token vectors.

SOURCE, in the order in which it is tried:

- `glove:6b-50d` or `glove:FILE`: word vectors of a package, or of a file in the text format of GloVe or word2vec;
- `random-WIDTH:ENCODER`: independent standard normal numbers for every token of an encoder's tokenizer, as
  torch.nn.Embedding starts;
- `ENCODER`, a folder or a hub name: the table of a model2vec or StaticEmbedding folder, or the word embeddings of any
  other encoder, without its layers.

The folder contains `model.safetensors` with the tensor `embedding.weight` (V, D), the tokenizer without special
tokens, and a configuration that `cseb.encoder.families` reads. Formats: model2vec, persistence.py;
sentence-transformers, StaticEmbedding.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import regex
from platformdirs import user_cache_path
from safetensors.numpy import save_file

from cseb.data import bounded, checkpoint, word_vectors
from cseb.data.checkpoint import CONFIG, WHOLE
from cseb.data.files import whole_folder, written
from cseb.errors import BadData

STATIC, BIDIRECTIONAL = "static:", "bidirectional:"  # how their names begin
SWITCH = "is_causal"
PLACE = "XDG_CACHE_HOME names another place"
FAMILIES = ("gpt2", "gpt_neox", "llama", "opt", "qwen3")  # decoders that can be switched, which tests cover
FORMAT = 1  # of what is written: a new one is made beside the old ones
MODEL_TYPE = "static-embedding"
LONGEST = 1_000_000  # tokens of a sentence: as good as no limit, for no position has a vector
TOKENIZER = "tokenizer.json"
UNKNOWN = "[UNK]"
RANDOM = re.compile(r"random-(?P<width>[1-9][0-9]{0,4}):(?P<encoder>.+)")
# A run of letters, digits and combining marks, or one sign; \w of `tokenizers` has the marks, that of `re` does not.
WORD = r"\w+|[^\w\s]"
TABLES = ("embeddings", "embedding.weight")  # of model2vec, and of StaticEmbedding
BELOW = ("", "0_StaticEmbedding")  # where a folder of sentence-transformers has it
# How families call their word embeddings, at the end of a tensor's name.
WORD_EMBEDDINGS = (
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "embed_tokens.weight",
    "wte.weight",
    "embed_in.weight",
)

Table = npt.NDArray[np.float32]  # (V, D)
Locate = Callable[[str], Path]  # the folder of an encoder by its name


def bidirectional(folder: Path, files: Iterable[Path]) -> Path:
    """Return the folder made of a decoder. files: its tokenizer and weights. Raises: BadData for other families."""
    config = bounded.read_object(folder / CONFIG, checkpoint.LIMIT)
    if (kind := config.get("model_type")) not in FAMILIES:
        raise BadData(
            f"encoder {BIDIRECTIONAL}{folder}: its family is {str(kind)[:40]!r}; attention can be switched in "
            f"{', '.join(FAMILIES)}, and what is no decoder attends to both sides already: leave {BIDIRECTIONAL!r} out"
        )
    text = json.dumps(config | {SWITCH: False}, indent=2, sort_keys=True)
    links = {file.name: file.absolute() for file in files}
    digest = hashlib.sha256(json.dumps([text, {name: str(path) for name, path in links.items()}]).encode())
    made = user_cache_path("cseb") / f"bidirectional-{digest.hexdigest()[:16]}"
    if not made.is_dir():
        with written(f"the encoder {made}", PLACE), whole_folder(made) as part:
            (part / CONFIG).write_text(text, encoding="utf-8")
            for name, path in links.items():
                (part / name).symlink_to(path)
    return made


def static(source: str, locate: Locate) -> Path:
    """Return the folder made from SOURCE. locate: finds the folder of another encoder. Raises: BadData."""
    table, tokenizer = _read(source, locate)
    digest = hashlib.sha256(f"{FORMAT} {table.shape}".encode())
    digest.update(table.data)
    digest.update(json.dumps(tokenizer, sort_keys=True).encode())
    folder = user_cache_path("cseb") / f"static-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        _write(folder, table, tokenizer)
    return folder


def _read(source: str, locate: Locate) -> tuple[Table, dict[str, Any]]:
    kind, colon, name = source.partition(":")
    if kind == "glove" and colon:
        return _words(name)
    if kind.startswith("random") and colon:
        drawn = RANDOM.fullmatch(source)
        if drawn is None:
            raise BadData(
                f"encoder {STATIC + source!r}: write static:random-WIDTH:ENCODER, as static:random-256:cseb-tiny"
            )
        tokenizer = _tokenizer(locate(drawn["encoder"]))
        shape = (_rows(tokenizer), int(drawn["width"]))
        return np.random.default_rng(0).standard_normal(shape, dtype=np.float32), tokenizer
    if not source:
        raise BadData(
            f"encoder {STATIC!r}: say of what: static:glove:6b-50d, static:glove:FILE, static:random-256:ENCODER or "
            "static:ENCODER"
        )
    return _folder(locate(source))


def _words(name: str) -> tuple[Table, dict[str, Any]]:
    """Return word vectors of the words that the tokenizer can give; an unknown word has the zero vector."""

    def reachable(word: str) -> bool:
        return word == word.lower() and regex.fullmatch(WORD, word) is not None and word != UNKNOWN

    words, table = word_vectors.read_vectors(name, reachable)
    vocabulary = {UNKNOWN: 0} | {word: row for row, word in enumerate(words, 1)}
    split = {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Removed", "invert": True}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": split,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }
    return np.concatenate([np.zeros((1, table.shape[1]), dtype=np.float32), table]), tokenizer


def _folder(folder: Path) -> tuple[Table, dict[str, Any]]:
    """Return the table of a folder of any of three kinds."""
    place = next((folder / below for below in BELOW if (folder / below / WHOLE).is_file()), folder)
    for file in checkpoint.weight_files(place):
        names = checkpoint.stored(file)
        if name := next((name for name in TABLES if name in names), ""):
            return _weighted(file, name), _tokenizer(place)
        if name := next((name for name in names if name.endswith(WORD_EMBEDDINGS)), ""):
            return _matrix(file, name), _tokenizer(place)
    raise BadData(
        f"{bounded.shown(folder)} holds no table of token vectors: no tensor of it is called {', '.join(TABLES)} or "
        f"ends in {', '.join(WORD_EMBEDDINGS)}"
    )


def _weighted(file: Path, name: str) -> Table:
    """Return the table after model2vec's mapping of tokens to rows and weights of tokens, where the file has them."""
    names, table = checkpoint.stored(file), _matrix(file, name)
    if "mapping" in names:
        rows = checkpoint.read_tensor(file, "mapping").astype(np.int64)
        if rows.ndim != 1 or not len(rows) or rows.min() < 0 or rows.max() >= len(table):
            raise BadData(f"{bounded.shown(file)}: mapping names rows that its table of {len(table)} rows lacks")
        table = table[rows]
    if "weights" in names:
        weights = checkpoint.read_tensor(file, "weights").astype(np.float32)
        if weights.shape != (len(table),):
            raise BadData(f"{bounded.shown(file)}: {weights.shape} weights for a table of {len(table)} tokens")
        table = table * weights[:, None]
    return np.ascontiguousarray(table)


def _matrix(file: Path, name: str) -> Table:
    checkpoint.check_finite(file)
    matrix = checkpoint.read_tensor(file, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise BadData(f"{bounded.shown(file)}: {name} has the shape {matrix.shape}; (tokens, width) is needed")
    return matrix.astype(np.float32)


def _tokenizer(folder: Path) -> dict[str, Any]:
    """Return tokenizer.json without special tokens around a sentence, truncation and padding. Raises: BadData."""
    if not (folder / TOKENIZER).is_file():
        raise BadData(
            f"{bounded.shown(folder)} has no {TOKENIZER}; save one there: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    return bounded.read_object(folder / TOKENIZER, checkpoint.LARGEST) | {
        "post_processor": None,
        "truncation": None,
        "padding": None,
    }


def _rows(tokenizer: dict[str, Any]) -> int:
    """Return how many rows a table over this tokenizer needs. Raises: BadData."""
    model = tokenizer.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    ids: list[Any] = list(vocabulary.values()) if isinstance(vocabulary, dict) else [*range(len(vocabulary or ()))]
    ids += [token.get("id") for token in tokenizer.get("added_tokens") or () if isinstance(token, dict)]
    if not ids or not all(type(number) is int and 0 <= number < checkpoint.LARGEST for number in ids):
        raise BadData(f"{TOKENIZER} lists no tokens with ids, so a table over it has no size")
    return int(max(ids)) + 1


def _write(folder: Path, table: Table, tokenizer: dict[str, Any]) -> None:
    """Write all files of the folder, complete or not at all. Raises: BadData."""
    config = {
        "model_type": MODEL_TYPE,
        "architectures": ["StaticEmbedding"],
        "vocab_size": len(table),
        "hidden_size": table.shape[1],
    }
    settings: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LONGEST}
    unknown = tokenizer.get("model", {}).get("unk_token")
    settings |= {"unk_token": unknown} if isinstance(unknown, str) else {}
    with written(f"the encoder {folder}", PLACE), whole_folder(folder) as part:
        save_file({"embedding.weight": table}, part / WHOLE, metadata={"format": "pt"})
        for name, content in ((CONFIG, config), (TOKENIZER, tokenizer), ("tokenizer_config.json", settings)):
            (part / name).write_text(json.dumps(content, ensure_ascii=False, sort_keys=True), encoding="utf-8")
