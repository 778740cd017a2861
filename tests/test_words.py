"""Words in scripts with combining marks, in scripts without spaces, and in those that `str.split` already handles."""

import unicodedata

import pytest

from cseb.data.corpus import pack
from cseb.data.overlap import TaskTexts
from cseb.embedders.word_vectors import TfIdf
from cseb.experiment.corpus_checks import remarks
from cseb.words import folded_words, split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop: 3 x²!", ["Don", "t", "stop", "3", "x²"]),  # English
        ("Привет, мир", ["Привет", "мир"]),  # Russian
        ("दिन में, दीन मैं।", ["दिन", "में", "दीन", "मैं"]),  # Hindi: vowel signs are combining marks
        ("السَّلامُ عليكم", ["السَّلامُ", "عليكم"]),  # Arabic with vowel marks
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),  # Persian: a non-joiner inside a word
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),  # Hebrew with points
        ("한국어 문장", ["한국어", "문장"]),  # Korean has spaces
        ("今天天气好。", ["今", "天", "天", "气", "好"]),  # Chinese
        ("コーヒー、飲む", ["コ", "ー", "ヒ", "ー", "飲", "む"]),  # Japanese
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),  # Thai: a character with its marks
        ("ສະບາຍດີ", ["ສ", "ະ", "ບ", "າ", "ຍ", "ດີ"]),  # Lao
        ("မြန်မာ", ["မြ", "န်", "မာ"]),  # Burmese
        ("ភាសាខ្មែរ", ["ភា", "សា", "ខ្", "មែ", "រ"]),  # Khmer
        ("I ❤️ Python3和AI", ["I", "Python3", "和", "AI"]),  # the mark of an emoji is no word
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


SAME = [
    ("ΟΔΟΣ", "οδος"),  # Greek: two small sigmas
    ("GROẞE STRASSE", "große Straße"),  # German
    ("İSTANBUL", "istanbul"),  # Turkish: a capital i with a dot
    (unicodedata.normalize("NFD", "Tiếng Việt đẹp"), "tiếng việt đẹp"),  # Vietnamese, decomposed
    ("Ｈｅｌｌｏ　Ｗｏｒｌｄ１２", "hello world12"),  # full-width Latin
    ("ｶﾞｷﾞｸﾞ", "ガギグ"),  # half-width Japanese
    ("السَّلامُ عَلَيْكُم", "السلام عليكم"),  # Arabic with and without vowel signs
    ("كتـــاب", "كتاب"),  # Arabic, drawn out
    ("שָׁלוֹם עוֹלָם", "שלום עולם"),  # Hebrew with and without points
    ("می\u200cخواهم", "می خواهم"),  # Persian: a non-joiner or a space
    ("ភាសា\u200bខ្មែរ", "ភាសាខ្មែរ"),  # Khmer: an invisible space
    ("葛\U000e0100飾", "葛飾"),  # Japanese: a variant of a character
    ("Donau\u00addampf", "Donaudampf"),  # a soft hyphen
    ("ﬁne café", "fine cafe\u0301"),  # a ligature, and a letter of two code points
    ("I ❤️ it 👩\u200d💻", "i it"),  # emoji are no words
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_ways_to_write_the_same_text_are_the_same(left: str, right: str) -> None:
    (overlap,) = TaskTexts.of({"task": [left]}).overlap([right])
    assert (overlap.texts, overlap.exact) == (1, 1)
    assert "".join(folded_words(left)) == "".join(folded_words(right))
    (line,) = remarks(pack("mine", [left, right]))
    assert "mine: 1 of 2 sentences differ from an earlier one only in case, punctuation or spelling" in line


MINIMAL_PAIRS = [
    ("दिन में", "दीन मैं"),  # Hindi
    ("మన", "మీన"),  # Telugu
    ("ปี", "ปู"),  # Thai
    ("မာ", "မီ"),  # Burmese
    ("កា", "កី"),  # Khmer
    ("kır", "kir"),  # Turkish: without and with a dot
    ("má", "mà"),  # Vietnamese
    ("schon", "schön"),  # German
    ("한국", "한글"),  # Korean
]


@pytest.mark.parametrize(("left", "right"), MINIMAL_PAIRS)
def test_texts_that_differ_in_a_vowel_sign_or_an_accent_are_different(left: str, right: str) -> None:
    (overlap,) = TaskTexts.of({"task": [left, right]}).overlap([left])
    assert (overlap.texts, overlap.exact, overlap.near) == (2, 1, 0)
    vectors = TfIdf([left, right])([left, right])
    assert (vectors[0] != vectors[1]).any()
    assert not list(remarks(pack("mine", [left, right])))


@pytest.mark.parametrize(
    ("left", "right"),
    [("我喜欢吃苹果", "我喜欢吃香蕉"), ("ฉันชอบกินข้าว", "ฉันชอบกินปลา"), ("猫が好きです", "犬が好きです")],
)
def test_tf_idf_finds_common_characters_of_scripts_without_spaces(left: str, right: str) -> None:
    vectors = TfIdf(["other"])([left, right])
    assert vectors[0] @ vectors[1] > 0
