"""Decoder-only encoders of two layers: poolers, padding, prompts, training, and the exported folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cseb
from cseb.data.weights import locate
from cseb.encoder.interface import States
from cseb.encoder.loading import shape_of
from cseb.encoder.packing import outputs
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts.poolers import EndPrompt, Last, WeightedMean
from cseb.training.build import check
from tests.conftest import SENTENCES, WORDS
from tests.training.small_runs import by_library
from tests.training.small_runs import encoder_in as encoder

FAMILIES = ["opt", "llama", "qwen3", "gpt_neox", "gpt2"]
Decoder = Callable[[str], Path]


def save_tokenizer(folder: Path, *, begins: bool = True) -> int:
    """A tokenizer as small decoders have it: perhaps a beginning, an end, and neither padding nor a mask."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<s>", "</s>", "<unk>", *WORDS, "cat", "This", "sentence", "means", "one", "word", ":", '"']
    vocabulary = {word: row for row, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", model_max_length=64
    ).save_pretrained(folder)
    return len(vocabulary)


def config_of(family: str, vocabulary: int) -> Any:
    import transformers as t

    ids = {"vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None}
    common = ids | {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 80}
    wide = {"intermediate_size": 48}
    return {
        "opt": lambda: t.OPTConfig(**common, ffn_dim=48, word_embed_proj_dim=32),
        "llama": lambda: t.LlamaConfig(**common, **wide),
        "qwen3": lambda: t.Qwen3Config(**common, **wide, head_dim=16, num_key_value_heads=1),
        "gpt_neox": lambda: t.GPTNeoXConfig(**common, **wide),
        "gpt2": lambda: t.GPT2Config(**ids, n_embd=32, n_layer=2, n_head=2, n_positions=80),
    }[family]()


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            from transformers import AutoModelForCausalLM

            path = tmp_path_factory.mktemp(family)
            with torch.random.fork_rng():
                torch.manual_seed(0)
                AutoModelForCausalLM.from_config(config_of(family, save_tokenizer(path))).save_pretrained(path)
            made[family] = path
        return made[family]

    return folder


STATES = torch.tensor(
    [[[1.0, 0.0], [0.5, 0.5], [-0.2, 0.8], [9.0, 9.0]], [[0.3, -0.4], [0.7, 0.1], [0.2, 0.2], [0.6, -0.9]]]
)


def test_poolers_by_hand() -> None:
    given = States((STATES,), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]), torch.tensor([1, 2]))
    assert torch.allclose(Last()(given), torch.tensor([[-0.2, 0.8], [0.6, -0.9]]))
    expected = [
        [(1 * 1.0 + 2 * 0.5 + 3 * -0.2) / 6, (2 * 0.5 + 3 * 0.8) / 6],
        [(0.3 + 2 * 0.7 + 3 * 0.2 + 4 * 0.6) / 10, (-0.4 + 2 * 0.1 + 3 * 0.2 + 4 * -0.9) / 10],
    ]
    assert torch.allclose(WeightedMean()(given), torch.tensor(expected))
    assert torch.equal(EndPrompt('"[X]" means')(given), torch.tensor([[0.5, 0.5], [0.2, 0.2]]))
    nothing = States((STATES,), torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, dtype=torch.long))
    assert not Last()(nothing).any()
    assert not WeightedMean()(nothing).any()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooler", ["last", "weighted_mean", "end_prompt", "mean"])
def test_every_family_embeds_alike_in_any_company(decoder: Decoder, family: str, pooler: str) -> None:
    model = encoder(decoder(family), f"mean+{pooler}" if pooler != "mean" else "mean")
    texts = [*SENTENCES[:5], "", "a"]
    together = model.embed(texts)
    assert together.shape == (7, 32)
    assert np.isfinite(together).all()
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.abs(together - alone).max() < 5e-6


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooler", ["last", "weighted_mean", "mean"])
def test_a_text_without_tokens_has_the_zero_vector(decoder: Decoder, family: str, pooler: str, tmp_path: Path) -> None:
    shutil.copytree(decoder(family), tmp_path / "bare")
    save_tokenizer(tmp_path / "bare", begins=False)
    model = encoder(tmp_path / "bare", f"mean+{pooler}" if pooler != "mean" else "mean")
    vectors = model.embed(["a man", "", "the dog is eating"])
    assert not vectors[1].any()
    assert vectors[[0, 2]].any(axis=1).all()
    assert np.isfinite(vectors).all()
    assert not model.embed([""]).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_parts_may_know_of_decoders(decoder: Decoder, family: str) -> None:
    shape = shape_of(decoder(family))
    assert (shape.width, shape.layers, shape.heads) == (32, 2, 2)
    assert shape.family.pooler == "last"
    assert shape.dropout == (0.1 if family in ("opt", "gpt2") else 0.0)
    for method, reason in (
        ("cls", "a decoder, trained with causal attention; take \\+last"),
        ("promptbert", r"no mask token"),
        ("simcse+last+mlm+recipe(dropout=0.1)", "no mask token"),
        ("simcse+last+embedding_edits(second=token_cutoff)", "an embedding layer that can be reached"),
    ):
        with pytest.raises(BadSpec, match=reason):
            check(parse_method(method).at(1.0), decoder(family))


def test_the_prompt_s_last_token_is_read_and_only_the_sentence_is_cut(decoder: Decoder) -> None:
    model = encoder(decoder("llama"), "mean+end_prompt")
    tokens = model.tokenise(["a man", " ".join(["dog"] * 50)], longest=8)
    batch = tokens.batch(np.array([0, 1]))
    for row, own in enumerate((["a", "man"], ["dog"] * 7)):  # 8 less the one special token
        words = model.tokenizer.convert_ids_to_tokens(batch.ids[row][batch.mask[row] == 1])
        ending = ['"', "means", "in", "one", "word", ":", '"']
        assert words == ["<s>", "This", "sentence", ":", '"', *own, *ending]
        assert batch.anchor[row] == len(words) - 1


@pytest.mark.parametrize("template", ["no place", "[X]", "[X] [X] means", "[X] means [MASK]"])
def test_templates_without_an_end_are_refused(template: str) -> None:
    with pytest.raises(BadSpec, match=r"it must contain \[X\] once"):
        EndPrompt(template)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_trains_and_opens_in_sentence_transformers(decoder: Decoder, family: str, tmp_path: Path) -> None:
    pooler = "weighted_mean" if family == "opt" else "last"
    scale = "recipe(batch_size=8,dropout=0.1,learning_rate=1e-3)"
    trained = cseb.train(f"simcse+{pooler}", SENTENCES, encoder=str(decoder(family)), steps=2, scale=scale)
    start = encoder(decoder(family), f"mean+{pooler}").embed(SENTENCES)
    vectors = trained.encode(SENTENCES)
    assert np.abs(vectors - start).max() > 1e-3
    trained.save(tmp_path / "saved")
    again = encoder(tmp_path / "saved", f"mean+{pooler}").embed(SENTENCES)
    assert np.abs(again - vectors).max() < 1e-6
    assert np.abs(by_library(tmp_path / "saved", SENTENCES) - vectors).max() < 1e-5


def test_attention_to_both_sides_trains_and_opens_in_sentence_transformers(decoder: Decoder, tmp_path: Path) -> None:
    start = f"bidirectional:{decoder('llama')}"
    method = "mntp+mntp(blank=a)+lora(rank=2)"
    trained = cseb.train(method, SENTENCES, encoder=start, steps=2, scale="recipe(batch_size=8,learning_rate=1e-2)")
    vectors = trained.encode(SENTENCES)
    assert np.abs(vectors - encoder(locate(start), "mean").embed(SENTENCES)).max() > 1e-3
    trained.save(tmp_path / "saved")
    assert np.abs(encoder(tmp_path / "saved", "mean").embed(SENTENCES) - vectors).max() < 1e-6
    assert np.abs(by_library(tmp_path / "saved", SENTENCES) - vectors).max() < 1e-5
    check(parse_method("llm2vec").at(1.0), tmp_path / "saved")  # the next stage starts from it
    with pytest.raises(BadSpec, match=r"a decoder, trained .*; take \+last"):  # with both sides too
        check(parse_method("cls").at(1.0), tmp_path / "saved")


def test_end_prompt_trains_and_is_not_offered_to_sentence_transformers(decoder: Decoder, tmp_path: Path) -> None:
    trained = cseb.train(
        "simcse+end_prompt+lora", SENTENCES, encoder=str(decoder("llama")), steps=2,
        scale="recipe(batch_size=8,dropout=0.1)",
    )  # fmt: skip
    trained.save(tmp_path / "saved")
    assert "saved_module" in (tmp_path / "saved" / "modules.json").read_text()  # it cannot append text
    assert "end_prompt" in json.loads((tmp_path / "saved" / "cseb.json").read_text())["pooler"]


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_no_keys_and_values_are_kept_for_a_next_token(decoder: Decoder, family: str) -> None:
    backbone = encoder(decoder(family)).backbone
    ids = torch.arange(12).view(2, 6)
    assert backbone(input_ids=ids).past_key_values is not None
    assert outputs(backbone, ids, torch.ones_like(ids)).past_key_values is None
