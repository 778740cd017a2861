"""Words in scripts with combining marks, in scripts without spaces, and in those that `str.split` already handles."""

import unicodedata

import pytest

from cseb.data.overlap import TaskTexts
from cseb.tasks.words import tf_idf
from cseb.words import split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop: 3 x²!", ["Don", "t", "stop", "3", "x²"]),  # English
        ("Ça vous plaît-il ?", ["Ça", "vous", "plaît", "il"]),  # French
        ("Füße über Straßen", ["Füße", "über", "Straßen"]),  # German
        ("Привет, мир", ["Привет", "мир"]),  # Russian
        ("Καλημέρα κόσμε", ["Καλημέρα", "κόσμε"]),  # Greek
        ("दिन में, दीन मैं।", ["दिन", "में", "दीन", "मैं"]),  # Hindi: vowel signs are combining marks
        ("আমি বাংলায় গান গাই", ["আমি", "বাংলায়", "গান", "গাই"]),  # Bengali
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),  # Tamil
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


MINIMAL_PAIRS = [
    ("दिन में", "दीन मैं"),  # Hindi
    ("কাল", "কুল"),  # Bengali
    ("கல்", "கால்"),  # Tamil
    ("మన", "మీన"),  # Telugu
    ("ปี", "ปู"),  # Thai
    ("မာ", "မီ"),  # Burmese
    ("ගම", "ගාම"),  # Sinhala
    ("ਦਿਨ", "ਦੀਨ"),  # Punjabi
]


@pytest.mark.parametrize(("left", "right"), MINIMAL_PAIRS)
def test_texts_that_differ_in_a_vowel_sign_are_different(left: str, right: str) -> None:
    (overlap,) = TaskTexts.of({"task": [left, right]}).overlap([left])
    assert (overlap.texts, overlap.exact, overlap.near) == (2, 1, 0)
    vectors = tf_idf([left, right, "x"])
    assert (vectors[0] != vectors[1]).any()


@pytest.mark.parametrize(
    ("left", "right"),
    [("我喜欢吃苹果", "我喜欢吃香蕉"), ("ฉันชอบกินข้าว", "ฉันชอบกินปลา"), ("猫が好きです", "犬が好きです")],
)
def test_tf_idf_finds_common_characters_of_scripts_without_spaces(left: str, right: str) -> None:
    vectors = tf_idf([left, right, "other"])
    assert vectors[0] @ vectors[1] > 0


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    vectors = tf_idf([unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café"), "tea"])
    assert (vectors[0] == vectors[1]).all()
