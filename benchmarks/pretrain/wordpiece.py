"""Train a WordPiece vocabulary that is the same every time."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
CLS, SEP = 2, 3
RARE = 1e-6  # fraction of all characters


def train_tokenizer(texts: Iterable[str], pieces: int, positions: int) -> PreTrainedTokenizerFast:
    """Return an uncased WordPiece tokenizer with at most `pieces` pieces, the five special ones first.

    Words with rare characters become [UNK]. Otherwise a large text fills half of a small vocabulary with characters of
    other scripts.
    """
    names, characters = list(SPECIAL.values()), Counter[str]()
    texts = list(texts)
    for text in texts:
        characters.update(text)
    fewest = RARE * characters.total()
    rare = {ord(letter): " " for letter, count in characters.items() if count < fewest}
    texts = [text.translate(rare) for text in texts]
    scratch = tokenizers.Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"]))
    scratch.normalizer = normalizers.BertNormalizer(lowercase=True)
    scratch.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # The trainer numbers inner letters in the order of a hash table and breaks ties by these numbers. Naming them
    # beforehand makes the vocabulary the same every time; the second tokenizer does not know them as special.
    alphabet = string.ascii_lowercase + string.digits
    met = set(scratch.normalizer.normalize_str(" ".join(sorted(set().union(*texts))))) - set(alphabet)
    beyond = [letter for letter in sorted(met) if _pieces(scratch, f"a{letter}") == [f"a{letter}"]]
    inner = [f"##{letter}" for letter in (*alphabet, *beyond)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=pieces,
        special_tokens=names + inner,
        initial_alphabet=list(alphabet + string.punctuation),
        show_progress=False,
    )
    scratch.train_from_iterator(texts, trainer)
    core = tokenizers.Tokenizer(models.WordPiece(scratch.get_vocab(), unk_token=SPECIAL["unk"]))
    core.normalizer, core.pre_tokenizer = scratch.normalizer, scratch.pre_tokenizer
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    core.decoder = decoders.WordPiece()
    special = {f"{role}_token": name for role, name in SPECIAL.items()}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core, model_max_length=positions, **special
    )


def _pieces(tokenizer: tokenizers.Tokenizer, text: str) -> list[str]:
    return [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
