"""Split text into words in any script, and fold differences of writing that do not change a word."""

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
# Vowel signs and tatweel of Arabic, points and accents of Hebrew, which writers may leave out; the dot that case
# folding leaves of the Turkish capital of i; and signs without a shape: joiners, soft hyphens, variation selectors.
_OPTIONAL = regex.compile(
    r"[\u0640\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]|(?<=i)\u0307|[\p{DI}--\u200b]",
    regex.V1,
)


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
