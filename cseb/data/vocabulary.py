"""Does the vocabulary of an encoder fit the texts? A sample is tokenised without torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from cseb.data.checkpoint import stamps
from cseb.words import split_words

SAMPLE = 1000  # texts
FEWEST = 20  # words in the sample
USUAL = 2.0  # tokens per word; English text has 1.2 to 1.6 with an English vocabulary
UNKNOWN = 0.01  # of all tokens
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
CURE = "take an encoder of their language, or a multilingual one such as xlm-roberta-base"


def vocabulary_remark(folder: Path, texts: Sequence[str]) -> str:
    """Return a sentence if an encoder's vocabulary does not fit the texts, otherwise "".

    A vocabulary does not fit if many tokens are unknown, or words are split into many tokens. An encoder without
    `tokenizer.json` is not checked.
    """
    sample = [texts[row] for row in range(0, len(texts), max(len(texts) // SAMPLE, 1))]
    words = [word for text in sample for word in split_words(text)]
    if len(words) < FEWEST or not (folder / "tokenizer.json").is_file():
        return ""
    try:
        tokenizer = _tokenizer(folder, stamps(folder))
    except Exception:  # the parser raises nothing more special; the check of the encoder names the fault
        return ""
    encodings = tokenizer.encode_batch([text.replace("\t", " ") for text in sample], add_special_tokens=False)
    tokens = [token for encoding in encodings for token in encoding.tokens]
    unknown = sum(token in UNKNOWN_TOKENS for token in tokens) / max(len(tokens), 1)
    start = "the encoder's vocabulary does not fit the texts:"
    if unknown > UNKNOWN:
        return f"{start} {100 * unknown:.1f} % of the tokens are unknown; {CURE}"
    if len(tokens) > USUAL * len(words):
        return f"{start} {len(tokens) / len(words):.1f} tokens per word, where 1.2 to 1.6 are usual; {CURE}"
    return ""


@lru_cache(maxsize=2)
def _tokenizer(folder: Path, _stamps: object) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
