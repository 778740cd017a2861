"""View makers in nine scripts: crops and halves begin at words, hidden characters are whole, documents are long."""

from functools import cache, partial

import numpy as np
import pytest
import regex
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from cseb.commands.describe import show
from cseb.data.corpus import pack
from cseb.data.lines import check_documents
from cseb.encoder.interface import Shape
from cseb.encoder.loading import word_pieces
from cseb.errors import BadData
from cseb.experiment.corpus_checks import corpus_remarks
from cseb.methods.grammar import parse_method
from cseb.parts.online_augment import CharSpanMask
from cseb.parts.part_composition import Halves
from cseb.parts.spans import Crop
from cseb.words import looks_english
from tests.conftest import SENTENCES

TEXTS = {
    "Arabic": "رجل يعزف على الغيتار في الحديقة ويغني أغنية قديمة جميلة",
    "Chinese": "一个男人在公园里弹吉他并唱着一首古老的歌曲",
    "Greek": "ένας άντρας παίζει κιθάρα στο πάρκο και τραγουδά ένα παλιό τραγούδι",
    "Hebrew": "איש מנגן בגיטרה בפארק ושר שיר ישן ויפה מאוד היום",
    "Hindi": "एक आदमी पार्क में गिटार बजा रहा है और गाना गा रहा है",
    "Japanese": "男の人が公園でギターを弾きながら古い歌を歌っています",
    "Korean": "한 남자가 공원에서 기타를 치며 오래된 노래를 부르고 있다",
    "Russian": "мужчина играет на гитаре в парке и поёт старую красивую песню",
    "Thai": "ผู้ชายคนหนึ่งกำลังเล่นกีตาร์และร้องเพลงเก่าในสวนสาธารณะ",
}
UNSPACED = ("Chinese", "Japanese", "Thai")


@cache
def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """Each character of the texts a token, as WordPiece, SentencePiece or bytes divide words."""
    letters = sorted({letter for text in TEXTS.values() for letter in text if letter != " "})
    if kind == "wordpiece":
        pieces = ["[UNK]", *letters, *(f"##{letter}" for letter in letters)]
        made = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    elif kind == "sentencepiece":
        made = Tokenizer(
            models.BPE({piece: at for at, piece in enumerate(["[UNK]", "▁", *letters])}, [], unk_token="[UNK]")
        )
        made.pre_tokenizer = pre_tokenizers.Metaspace()
    else:
        made = Tokenizer(models.BPE({piece: at for at, piece in enumerate(pre_tokenizers.ByteLevel.alphabet())}, []))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=made)


def shape(kind: str) -> Shape:
    pieces = partial(word_pieces, tokenizer(kind))
    return Shape(width=4, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1, pieces=pieces)


KINDS = pytest.mark.parametrize("kind", ["wordpiece", "sentencepiece", "bytes"])
SCRIPTS = pytest.mark.parametrize("script", TEXTS)


@KINDS
@SCRIPTS
def test_words_start_at_letters_and_scripts_without_spaces_have_some(kind: str, script: str) -> None:
    text, made = TEXTS[script], tokenizer(kind)
    (piece,) = word_pieces(made, [text])
    offsets = made(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    starts = [text[offsets[start][0] :].lstrip()[0] for start in piece.starts]
    assert all(regex.match(r"[\p{L}\p{N}]", letter) for letter in starts)
    assert piece.starts[0] == 0
    if script in UNSPACED:
        assert len(piece.starts) > 12
    else:
        assert starts == [word[0] for word in text.split()]


@KINDS
@SCRIPTS
def test_crops_and_halves_are_parts_of_a_sentence(kind: str, script: str) -> None:
    maker, parts = Crop(shape=shape(kind)), Halves(shape=shape(kind))
    (piece,) = maker.pieces([TEXTS[script]])
    crops = [maker.cropped(piece, np.random.default_rng(seed)) for seed in range(20)]
    assert all(0 < len(crop) < len(piece.ids) for crop in crops)
    assert len({tuple(crop) for crop in crops}) > 3
    _, (left,), (right,) = parts([TEXTS[script]])
    assert [*left, *right] == piece.ids
    assert left
    assert right


@SCRIPTS
def test_hidden_characters_are_whole_with_their_marks(script: str) -> None:
    text = TEXTS[script] * 2
    made = CharSpanMask(5, 20, False, shape=shape("bytes"), needs=frozenset())
    for seed in range(30):
        place = made.place(text, np.random.default_rng(seed))
        first, end = place
        visible = regex.findall(r"\X", text[:first]) + regex.findall(r"\X", text[end:])
        assert len(regex.findall(r"\X", text[first:end])) == 5
        assert len(visible) == len(regex.findall(r"\X", text)) - 5


@SCRIPTS
def test_documents_are_as_long_as_their_words(script: str) -> None:
    options = {"anchors": 2, "shortest": 8}
    check_documents([" ".join([TEXTS[script]] * 4)], options)
    with pytest.raises(BadData, match=r"fewer than 32 words \(2 x 2 anchors x 8 tokens\)"):
        check_documents([TEXTS[script][:25]], options)


def test_foreign_words_in_a_latin_sentence_do_not_change_its_words() -> None:
    text = "the Pagan Kingdom of ผู้ชายคนหนึ่ง was large"
    (piece,) = word_pieces(tokenizer("sentencepiece"), [text])
    assert len(piece.starts) == 7


ENGLISH = ["what is the capital of norway", "a man is playing a guitar", "He said they had not seen it before."] * 6
GERMAN = "Der Hund läuft durch den Park und spielt mit einem Ball, den er gestern im Garten gefunden hat."
SPANISH = "El hombre toca la guitarra en el parque y canta una canción antigua que aprendió de su abuela."


@pytest.mark.parametrize("text", [*TEXTS.values(), GERMAN, SPANISH])
def test_other_languages_are_told_from_english(text: str) -> None:
    assert looks_english(ENGLISH)
    assert looks_english(SENTENCES)
    assert not looks_english([text] * 6)


@pytest.mark.parametrize(
    ("method", "part"),
    [
        ("sncse", "negated_prompts"),
        ("compcse", None),
        ("compcse+halves(extra=subsuming)", "halves"),
        ("compcse+unit_halves(file='units.tsv')", None),
    ],
)
def test_parts_for_english_say_so_and_are_remarked_on_other_text(method: str, part: str | None) -> None:
    resolved = parse_method(method).at(1.0)
    assert resolved.english_parts() == ([part] if part else [])
    assert corpus_remarks([resolved], pack("en.txt", SENTENCES)) == []
    german = pack("de.txt", [f"{GERMAN} {number}" for number in range(5)])
    remarks = [f"de.txt is not English, and {part} is made for English; take another part"] if part else []
    assert corpus_remarks([resolved, resolved], german) == remarks
    assert part is None or "English only" in show(part)
