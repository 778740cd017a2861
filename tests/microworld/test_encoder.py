"""The tiny encoder loads as any other and is small; nothing else of the world needs torch."""

import json
import subprocess
import sys

import pytest

import cseb.microworld as mw
from tests.conftest import script_of


def test_importing_the_world_loads_neither_torch_nor_numpy() -> None:
    code = "import sys, cseb.microworld; print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_folder_is_small() -> None:
    assert (mw.ENCODER / "model.safetensors").stat().st_size < 2e6
    assert sum(path.stat().st_size for path in mw.ENCODER.parent.rglob("*.*") if "__pycache__" not in path.parts) < 4e6


def test_the_facts_of_its_making_are_beside_it() -> None:
    # made before the script moved to benchmarks/; the folder's digest stands in records, so it stays as it is
    facts = json.loads((mw.ENCODER / "training.json").read_text(encoding="utf-8"))
    assert facts["command"].startswith("python -m cseb.microworld.pretrain --out ")
    assert facts["masked_accuracy"] > 0.4
    assert len(facts["corpus_sha256"]) == 64


def test_it_loads_without_missing_weights() -> None:
    torch = pytest.importorskip("torch")
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(mw.ENCODER)
    batch = tokenizer(["A dog chased the cat.", "Who is it?"], padding=True, return_tensors="pt")
    assert tokenizer.mask_token_id == 4
    assert batch["input_ids"][1, -1] == tokenizer.pad_token_id == 0
    model, info = AutoModel.from_pretrained(mw.ENCODER, add_pooling_layer=False, output_loading_info=True)
    assert not info["missing_keys"]
    assert model.config.hidden_dropout_prob == model.config.attention_probs_dropout_prob == 0.1
    assert model.config.max_position_embeddings >= 64
    assert next(model.parameters()).dtype == torch.float32
    full, info = AutoModelForMaskedLM.from_pretrained(mw.ENCODER, output_loading_info=True)
    assert not info["missing_keys"]
    assert full.get_input_embeddings().weight is full.get_output_embeddings().weight


def test_the_vocabulary_is_whole_words_mostly_and_reads_any_text() -> None:
    pytest.importorskip("torch")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(mw.ENCODER)
    assert 2000 <= len(tokenizer) <= 4000
    pieces = [tokenizer.tokenize(text) for text in mw.sentences(200)]
    assert sum(map(len, pieces)) < 1.4 * sum(len(text.split()) for text in mw.sentences(200))
    assert tokenizer.unk_token not in tokenizer.tokenize("It's 2024 (x-ray): #1!")


def test_training_the_vocabulary_twice_gives_the_same() -> None:
    pytest.importorskip("torch")

    train_tokenizer = script_of("microworld/pretrain").train_tokenizer
    texts = list(mw.general_sentences(1000))
    one, other = (train_tokenizer(texts, 600).get_vocab() for _ in range(2))
    assert one == other
    assert len(one) == 600
    foreign = [" ".join("øæœßдшьиヤンス") + " øæœß дшьи ヤンス" for _ in range(3)]  # all letters equally often
    one, *others = (train_tokenizer([*texts, *foreign], 700).get_vocab() for _ in range(8))
    assert all(other == one for other in others)
    assert {"##ш", "##ン"} <= one.keys()
    assert {"æ", "œ", "ß", "ヤ"} <= one.keys()
