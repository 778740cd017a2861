"""One encoder class for every family: tokens, prompts, batches, missing weights, saved folders."""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, processors
from transformers import PreTrainedTokenizerFast

from cseb.encoder.encoder import DROPOUTS
from cseb.encoder.loading import shape_of
from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method
from cseb.training.build import build, check
from cseb.training.loop import train
from tests.conftest import SENTENCES
from tests.training.small_runs import encoder_in as encoder

FAMILIES = ["bert", "roberta", "mpnet", "distilbert", "modernbert"]
Tiny = Callable[[str], Path]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["cls", "mean", "first_last", "mean+last2", "mean+padded_mean", "mean+mask_prompt"])
def test_every_family_and_pooler_embeds_alike_in_any_company(tiny: Tiny, family: str, method: str) -> None:
    model = encoder(tiny(family), method)
    together = model.embed([*SENTENCES[:9], "", "a"])
    assert together.shape == (11, 16)
    assert together.dtype == np.float32
    alone = np.concatenate([model.embed([sentence]) for sentence in [*SENTENCES[:9], "", "a"]])
    assert np.abs(together - alone).max() < 2e-6
    assert np.isfinite(together).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "method",
    ["simcse", "informin-cl-mlm", "micse+ami(layers=(0,1))+queue(size=8)", "msse+reconstruct(layers=1,inner=16)"],
)
def test_every_family_trains_with_every_method(tiny: Tiny, family: str, method: str) -> None:
    settled = parse_method(f"{method}+recipe(steps=3,warmup=0,batch_size=8,eval_every=2,dropout=0.1)").at(1.0)
    check(settled, tiny(family))
    built = build(settled, tiny(family), seed=0)
    trained = train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    assert [step for step, _, _ in trained.curve] == [2, 3]
    assert all(np.isfinite(loss) for _, loss, _ in trained.curve)
    assert not built.notes  # every tiny checkpoint has its masked-LM head


def test_prompt_stands_around_the_sentence_and_its_mask_survives_cutting(tiny: Tiny) -> None:
    model = encoder(tiny("bert"), "mean+mask_prompt")
    tokens = model.tokenise(["a man", " ".join(["dog"] * 50)], longest=8)
    batch = tokens.batch(np.array([0, 1]))
    words = [model.tokenizer.convert_ids_to_tokens(row) for row in batch.ids]
    assert words[0][:9] == ["[CLS]", '"', "a", "man", '"', *words[0][5:9]]
    for row in range(2):
        assert words[row][batch.anchor[row]] == "[MASK]"
    assert [words[1][i] for i in np.flatnonzero(batch.content[1])] == ["dog"] * 6  # 8 without the two special tokens
    assert [words[0][i] for i in np.flatnonzero(batch.content[0])] == ["a", "man"]
    literal = model.tokenise(["a [MASK] man"], longest=16)
    anchor = literal.batch(np.array([0])).anchor[0]
    assert anchor > int(
        np.flatnonzero(literal.flat == model.tokenizer.mask_token_id)[0]
    )  # the prompt's, not the text's


def test_special_tokens_of_a_tokenizer_that_knows_no_latin_letter(tiny: Tiny, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "bert")
    tokenizer = Tokenizer(models.BPE({"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "天": 3, "气": 4}, []))  # drops other letters
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", model_max_length=64
    ).save_pretrained(folder)
    tokens = encoder(folder).tokenise(["天气", "a"], longest=8)
    assert tokens.flat.tolist() == [1, 3, 4, 2, 1, 2]
    assert (tokens.prefix, tokens.suffix) == (1, 1)


def test_a_head_that_is_kept_is_part_of_the_embedding(tiny: Tiny) -> None:
    dropped, kept = encoder(tiny("bert"), "simcse"), encoder(tiny("bert"), "simcse+mlp(keep=true)")
    assert np.abs(dropped.embed(["a man"]) - kept.embed(["a man"])).max() > 1e-3


def test_no_sentences_give_no_rows(tiny: Tiny) -> None:
    assert encoder(tiny("bert")).embed([]).shape == (0, 16)


def run_out(encoder: Any, times: int) -> list[int]:
    """Let the next `times` batches run out of memory, as on a GPU; returns the sizes of those that are tried."""
    whole, tried = encoder.pool, list[int]()

    def pool(backbone: Any, ids: Any, mask: Any, anchor: Any) -> Any:
        tried.append(len(ids))
        if len(tried) <= times:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return whole(backbone, ids, mask, anchor)

    encoder.pool = pool
    return tried


def test_when_memory_runs_out_smaller_batches_are_tried_once(tiny: Tiny) -> None:
    model, sentences = encoder(tiny("bert")), SENTENCES * 4
    before = model.embed(sentences)
    tried = run_out(model, times=1)
    assert np.allclose(model.embed(sentences), before, atol=1e-6)
    assert model.reduction == 4
    assert tried[1] == -(-tried[0] // 4)  # numpy splits into parts that differ by one
    run_out(model, times=1)
    with pytest.raises(torch.OutOfMemoryError):
        model.embed(sentences)


def test_two_threads_encode_batches_in_parallel_to_equal_bits(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cseb.encoder.encoder.TOKENS_PER_BATCH", {"cpu": 16})
    model, before, seen = encoder(tiny("bert")), torch.get_num_threads(), set[tuple[int, int]]()
    whole = model.pool

    def pool(*given: Any) -> Any:
        time.sleep(0.01)  # so that no thread takes all batches
        seen.add((threading.get_ident(), torch.get_num_threads()))
        return whole(*given)

    model.pool = pool
    vectors = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            seen.clear()
            vectors.append(model.embed(SENTENCES * 4))
            assert len(seen) == threads
            assert {number for _, number in seen} == {1}
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*vectors)


def test_sentences_longer_than_the_positions_are_cut(tiny: Tiny) -> None:
    for family in FAMILIES:
        long = encoder(tiny(family)).embed([" ".join(["dog"] * 1000)])
        assert np.isfinite(long).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_dropout_of_the_recipe_reaches_every_rate(tiny: Tiny, family: str) -> None:
    built = build(parse_method("simcse+recipe(dropout=0.25)").at(1.0), tiny(family), seed=0)
    config = built.encoder.config
    assert {getattr(config, name) for name in DROPOUTS if hasattr(config, name)} == {0.25}
    assert shape_of(tiny(family), 0.25).dropout == 0.25


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_damaged_files_are_one_clear_line(tiny: Tiny, tmp_path: Path, name: str) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(tiny("bert"), broken)
    (broken / name).write_bytes(b"{ not what it was")
    with pytest.raises(BadData, match="broken"):
        encoder(broken)


def test_a_checkpoint_without_a_language_head_says_so(tiny: Tiny, tmp_path: Path) -> None:
    from transformers import AutoModel

    bare = shutil.copytree(tiny("bert"), tmp_path / "bare")
    AutoModel.from_pretrained(tiny("bert")).save_pretrained(bare)
    assert (shape_of(tiny("bert")).language, shape_of(bare).language) == (True, False)
    with pytest.raises(BadSpec, match="no masked-LM head"):
        check(parse_method("informin-cl-mlm").at(1.0), bare)
    built = build(parse_method("msse+reconstruct(layers=1,inner=16)").at(1.0), bare, seed=0)
    assert built.notes[0].startswith("MLM head: the checkpoint has none")
    assert built.encoder.language(torch.zeros(3, 16)).shape == (3, built.encoder.config.vocab_size)


def test_saved_encoders_give_the_same_token_states(tiny: Tiny, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    original = encoder(tiny("bert"))
    original.save(tmp_path / "saved")
    model = AutoModel.from_pretrained(tmp_path / "saved").eval()
    inputs = AutoTokenizer.from_pretrained(tmp_path / "saved")(SENTENCES[:4], padding=True, return_tensors="pt")
    states = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
    weight = inputs["attention_mask"].unsqueeze(-1)
    mean = (states * weight).sum(dim=1) / weight.sum(dim=1)
    assert np.abs(mean.detach().numpy() - original.embed(SENTENCES[:4])).max() < 1e-6
