"""Split text into words in any script, and fold differences of writing that do not change a word."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import regex

# Scripts written without spaces between words: Unicode's lists of them, and the Japanese mark of a long vowel.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# Combining marks belong to the letter before them, and so do the joiners of Persian and Indian scripts. A word begins
# with a letter or a digit, so that the marks of emoji are no words.
_MARKS = r"[\p{M}\u200c\u200d]"
_MARK, _LETTER = regex.compile(_MARKS), regex.compile(r"[\p{L}\p{N}]")
_LATIN = regex.compile(r"[\p{Latin}\p{N}]")
_COMMON = frozenset(
    (
        *("the", "of", "and", "to", "is", "that", "it", "for", "was", "with", "as", "his", "he", "be", "at", "by"),
        *("had", "not", "are", "from", "have", "this", "but", "they", "were", "which", "she", "you", "their", "would"),
        *("when", "there", "who", "more", "been", "will", "what", "how", "do", "does", "can"),
    )
)
_UNSPACED_LETTER = regex.compile(rf"[[\p{{L}}\p{{N}}]&&[{_UNSPACED}]]", regex.V1)
_WORD = regex.compile(
    rf"[[\p{{L}}\p{{N}}]&&[{_UNSPACED}]]{_MARKS}*|(?:[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]{_MARKS}*)+", regex.V1
)
# Vowel signs and tatweel of Arabic, points and accents of Hebrew, which writers may leave out; the dot that case
# folding leaves of the Turkish capital of i; and signs without a shape: joiners, soft hyphens, variation selectors.
_OPTIONAL = regex.compile(
    r"[\u0640\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]|(?<=i)\u0307|[\p{DI}--\u200b]",
    regex.V1,
)


def without_spaces(text: str) -> bool:
    """Return whether more than half of the letters of a text are of scripts without spaces between words."""
    return not text.isascii() and 2 * len(_UNSPACED_LETTER.findall(text)) > len(_LETTER.findall(text))


def has_marks(text: str) -> bool:
    """Return whether a tenth of a text or more is combining marks, as in scripts of India."""
    return not text.isascii() and 10 * len(_MARK.findall(text)) >= len(text)


def clusters(text: str) -> list[str]:
    """Return the characters of a text, each with its combining marks in scripts that have many."""
    return regex.findall(r"\X", text) if has_marks(text) else list(text)


def looks_english(texts: Iterable[str]) -> bool:
    """Return False if texts are evidently in another language: few Latin letters, or few of English's commonest words.

    Fewer than 50 words are taken for English.
    """
    words = [word.casefold() for text in texts for word in split_words(text)]
    letters = "".join(words)
    if len(words) < 50:
        return 2 * len(_LATIN.findall(letters)) >= len(letters)
    return 2 * len(_LATIN.findall(letters)) >= len(letters) and 25 * sum(map(_COMMON.__contains__, words)) >= len(words)


def word_numbers(text: str, places: Sequence[int]) -> list[int]:
    """Return for places in a text the number of the word, see `split_words`, in or behind which each of them is.

    A place in white space belongs to the word after it.
    """
    starts = [match.start() for match in _WORD.finditer(text)]
    letters = (next((at for at in range(place, len(text)) if not text[at].isspace()), place) for place in places)
    return [bisect_right(starts, place) for place in letters]


def fold(text: str) -> str:
    """Return a text in one form for all ways to write it, with single spaces for white space.

    Equal are upper and lower case (ß and SS, İ and i), composed and decomposed letters, full-width and half-width
    forms, ligatures, and Arabic and Hebrew with and without vowel signs. Different stay the vowel signs of Indian and
    South-East Asian scripts, accents, and the dotless ı of Turkish.
    """
    return " ".join(_OPTIONAL.sub("", unicodedata.normalize("NFKC", text).casefold()).split())


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, without changing their case.

    A word is a run of letters, digits and their combining marks. In scripts without spaces (Chinese, Japanese, Thai,
    Lao, Khmer, Burmese) each character with its marks is a word.
    """
    return list(_WORD.findall(text))


def folded_words(text: str) -> list[str]:
    """Return the words of a folded text in order, see `fold` and `split_words`."""
    return split_words(fold(text))
