"""Split text into words in any script."""

from __future__ import annotations

import unicodedata

import regex

# Scripts written without spaces between words: Unicode's lists of them, and the Japanese mark of a long vowel.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# Combining marks belong to the letter before them, and so do the joiners of Persian and Indian scripts. A word begins
# with a letter or a digit, so that the marks of emoji are no words.
_MARKS = r"[\p{M}\u200c\u200d]"
_WORD = regex.compile(
    rf"[[\p{{L}}\p{{N}}]&&[{_UNSPACED}]]{_MARKS}*|(?:[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]{_MARKS}*)+", regex.V1
)


def fold(text: str) -> str:
    """Return a text without case, compatibility forms of Unicode (NFKC) and repeated white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, without changing their case.

    A word is a run of letters, digits and their combining marks. In scripts without spaces (Chinese, Japanese, Thai,
    Lao, Khmer, Burmese) each character with its marks is a word.
    """
    return list(_WORD.findall(text))
