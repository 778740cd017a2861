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

from cseb.encoder.encoder import DROPOUTS
from cseb.encoder.loading import shape_of
from cseb.errors import BadData, BadSpec
from cseb.methods.grammar import parse_method
from cseb.training.build import build, check
from cseb.training.loop import train
from tests.conftest import SENTENCES

FAMILIES = ["bert", "roberta", "mpnet", "distilbert", "modernbert"]
Tiny = Callable[[str], Path]


def encoder(folder: Path, method: str = "mean"):
    return build(parse_method(method).at(1.0), folder, seed=0).encoder


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["cls", "mean", "first_last", "mean+last2", "mean+padded_mean", "mean+mask_prompt"])
def test_every_family_and_pooler_embeds_alike_in_any_company(tiny: Tiny, family: str, method: str) -> None:
    one = encoder(tiny(family), method)
    together = one.embed([*SENTENCES[:9], "", "a"])
    assert together.shape == (11, 16)
    assert together.dtype == np.float32
    alone = np.concatenate([one.embed([sentence]) for sentence in [*SENTENCES[:9], "", "a"]])
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


def test_mlm_is_refused_where_the_files_hold_no_language_head(tiny: Tiny, tmp_path: Path) -> None:
    headless = encoder(tiny("bert"))
    headless.save(tmp_path)
    assert shape_of(tiny("bert")).language
    assert not shape_of(tmp_path).language
    with pytest.raises(BadSpec, match="no masked-LM head"):
        check(parse_method("informin-cl-mlm").at(1.0), tmp_path)


def test_prompt_stands_around_the_sentence_and_its_mask_survives_cutting(tiny: Tiny) -> None:
    one = encoder(tiny("bert"), "mean+mask_prompt")
    tokens = one.tokenise(["a man", " ".join(["dog"] * 50)], longest=8)
    batch = tokens.batch(np.array([0, 1]))
    words = [one.tokenizer.convert_ids_to_tokens(row) for row in batch.ids]
    assert words[0][:9] == ["[CLS]", '"', "a", "man", '"', *words[0][5:9]]
    for row in range(2):
        assert words[row][batch.anchor[row]] == "[MASK]"
    assert [words[1][i] for i in np.flatnonzero(batch.content[1])] == ["dog"] * 6  # 8 without the two special tokens
    assert [words[0][i] for i in np.flatnonzero(batch.content[0])] == ["a", "man"]
    literal = one.tokenise(["a [MASK] man"], longest=16)
    anchor = literal.batch(np.array([0])).anchor[0]
    assert anchor > int(np.flatnonzero(literal.flat == one.tokenizer.mask_token_id)[0])  # the prompt's, not the text's


def test_training_only_parts_do_not_reach_test_embeddings(tiny: Tiny) -> None:
    plain, trained = encoder(tiny("bert"), "cls"), encoder(tiny("bert"), "micse+ami(layers=(0,1))")
    assert np.abs(plain.embed(SENTENCES) - trained.embed(SENTENCES)).max() < 1e-5


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
    one, sentences = encoder(tiny("bert")), SENTENCES * 4
    before = one.embed(sentences)
    tried = run_out(one, times=1)
    assert np.allclose(one.embed(sentences), before, atol=1e-6)
    assert one.reduction == 4
    assert tried[1] == -(-tried[0] // 4)  # numpy splits into parts that differ by one
    run_out(one, times=1)
    with pytest.raises(torch.OutOfMemoryError):
        one.embed(sentences)


def test_two_threads_encode_batches_in_parallel_to_equal_bits(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cseb.encoder.encoder.TOKENS_PER_BATCH", {"cpu": 16})
    one, before, seen = encoder(tiny("bert")), torch.get_num_threads(), set[tuple[int, int]]()
    whole = one.pool

    def pool(*given: Any) -> Any:
        time.sleep(0.01)  # so that no thread takes all batches
        seen.add((threading.get_ident(), torch.get_num_threads()))
        return whole(*given)

    one.pool = pool  # type: ignore[method-assign]
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            seen.clear()
            found.append(one.embed(SENTENCES * 4))
            assert len(seen) == threads
            assert {number for _, number in seen} == {1}
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*found)


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


def test_missing_weights_are_named(tiny: Tiny, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(tiny("bert"), broken)
    weights = load_file(broken / "model.safetensors")
    gone = [name for name in weights if "layer.1.attention.self.query" in name]
    save_file(
        {name: value for name, value in weights.items() if name not in gone},
        broken / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(BadData, match=r"its files lack 2 weights \(encoder\.layer\.1\.attention\.self\.query"):
        encoder(broken)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_damaged_files_are_one_clear_line(tiny: Tiny, tmp_path: Path, name: str) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(tiny("bert"), broken)
    (broken / name).write_bytes(b"{ not what it was")
    with pytest.raises(BadData, match="broken") as caught:
        encoder(broken)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_without_a_language_head_says_so(tiny: Tiny, tmp_path: Path) -> None:
    from transformers import AutoModel

    bare = tmp_path / "bare"
    shutil.copytree(tiny("bert"), bare)
    AutoModel.from_pretrained(tiny("bert")).save_pretrained(bare)
    built = build(parse_method("msse+reconstruct(layers=1,inner=16)").at(1.0), bare, seed=0)
    assert built.notes[0].startswith("MLM head: the checkpoint has none")
    assert built.encoder.language is not None
    assert built.encoder.language(torch.zeros(3, 16)).shape == (3, built.encoder.config.vocab_size)


def test_poolers_ask_for_weights_that_must_be_there(tiny: Tiny) -> None:
    with pytest.raises(BadSpec, match="no pre-trained pooler"):
        check(parse_method("cls+cls_pooler").at(1.0), tiny("bert"))  # a masked-LM checkpoint has none


def test_saved_encoders_give_the_same_token_states(tiny: Tiny, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    one = encoder(tiny("bert"))
    one.save(tmp_path / "saved")
    model = AutoModel.from_pretrained(tmp_path / "saved").eval()
    inputs = AutoTokenizer.from_pretrained(tmp_path / "saved")(SENTENCES[:4], padding=True, return_tensors="pt")
    states = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
    weight = inputs["attention_mask"].unsqueeze(-1)
    mean = (states * weight).sum(dim=1) / weight.sum(dim=1)
    assert np.abs(mean.detach().numpy() - one.embed(SENTENCES[:4])).max() < 1e-6
