"""Tests of the vocabulary."""

from benchmarks.pretrain.wordpiece import train_tokenizer


def test_rare_characters_take_no_pieces() -> None:
    texts = ["the cat sat on the mat"] * 100_000 + ["a 猫 sat", "the naïve cat"]
    tokenizer = train_tokenizer(texts, 200, 64)
    assert "猫" not in tokenizer.get_vocab()
    assert tokenizer.tokenize("the 猫 sat") == ["the", "[UNK]", "sat"]
    assert tokenizer.tokenize("naïve") == tokenizer.tokenize("naive")
