"""Remarks before training: blank and repeated lines, markup, long lines, a vocabulary that does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from cseb.data.checkpoint import stamps
from cseb.data.corpus import Corpus
from cseb.text import quantity, shortened
from cseb.words import folded_words, split_words

MARKUP = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});|</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
LONG = 500  # words of a line that is no sentence
EXAMINED = 200_000  # sentences that are examined; more take too long before every run
CURE = "remove duplicates or add +recipe(batch=no_duplicates), since a contrastive loss takes copies for negatives"
SAMPLE = 1000  # texts
FEWEST = 20  # words in the sample
USUAL = 2.0  # tokens per word; English text has 1.2 to 1.6 with an English vocabulary
UNKNOWN = 0.01  # of all tokens
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
FITTING = "take an encoder of their language, or a multilingual one such as xlm-roberta-base"


def repeats(sentences: Sequence[str] | Corpus) -> int:
    """Return how many sentences are copies of an earlier one."""
    return len(sentences) - len(set(map(hash, sentences)))  # 64 bits take a fifth of the memory of the text


def remarks(corpus: Corpus) -> Iterator[str]:
    """Yield one line for each kind of fault in a corpus, with its number of sentences and the cure."""
    if corpus.blank:
        yield f"{corpus.name}: {quantity(corpus.blank, 'blank line')} left out"
    total = f"{corpus.name}: {{:,}} of {quantity(len(corpus), 'sentence')}"
    if copies := repeats(corpus):
        yield f"{total.format(copies)} repeat an earlier one; {CURE}"
    distinct = list(dict.fromkeys(islice(corpus, EXAMINED)))
    folded = [hash(letters) for sentence in distinct if (letters := "".join(folded_words(sentence)))]
    if similar := len(folded) - len(set(folded)):
        yield f"{total.format(similar)} differ from an earlier one only in case, punctuation or spelling; {CURE}"
    if marked := [match[0] for sentence in distinct if (match := MARKUP.search(sentence))]:
        yield (
            f"{total.format(len(marked))} contain HTML, such as {shortened(marked[0], 40)!r}; replace entities with "
            "Python's html.unescape and remove tags"
        )
    lengths = [len(sentence.split()) for sentence in distinct if len(sentence) > LONG]
    if long := [length for length in lengths if length > LONG]:
        yield (
            f"{total.format(len(long))} have more than {LONG} words, up to {max(long):,}; put one sentence on each "
            "line, since the rest of a line beyond the encoder's maximum length is cut off"
        )


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
        return f"{start} {100 * unknown:.1f} % of the tokens are unknown; {FITTING}"
    if len(tokens) > USUAL * len(words):
        return f"{start} {len(tokens) / len(words):.1f} tokens per word, where 1.2 to 1.6 are usual; {FITTING}"
    return ""


@lru_cache(maxsize=2)
def _tokenizer(folder: Path, _stamps: object) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
