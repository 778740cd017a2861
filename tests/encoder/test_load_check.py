"""The check of an encoder before it is used: weights, tokenizer, independence of the batch, and length."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel

import cseb
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.encoder import load_check, passed
from cseb.encoder.families import network_class, position_limit
from cseb.encoder.loading import shape_of
from cseb.errors import BadData
from tests.command_line import call
from tests.conftest import ROOT, SENTENCES, save_tokenizer, script_of
from tests.world import WORLD

Tiny = Callable[[str], Path]


@pytest.fixture(autouse=True)
def new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no encoder have passed before."""
    monkeypatch.setattr(passed, "user_cache_path", lambda name: tmp_path / name)
    load_check._check.cache_clear()


@pytest.fixture
def families() -> Any:
    return script_of("families")


def copied(folder: Path, to: Path, **config: object) -> Path:
    shutil.copytree(folder, to)
    file = to / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **config}))
    return to


def add_weights(folder: Path, **weights: torch.Tensor) -> None:
    file = folder / "model.safetensors"
    stored = load_file(file)
    save_file({**stored, **{name.replace("__", "."): weight for name, weight in weights.items()}}, file)


def test_an_encoder_is_loaded_and_checked_once(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []
    check = load_check._load_and_check
    monkeypatch.setattr(load_check, "_load_and_check", lambda *given: (loaded.append(given[0]), check(*given)))
    shape_of(tiny("bert"))
    load_check._check.cache_clear()  # as in another process
    shape_of(tiny("bert"))
    assert loaded == [tiny("bert")]


def test_vectors_that_depend_on_the_batch_are_refused_by_every_command(families: Any, tmp_path: Path) -> None:
    folder = families.made("fnet", tmp_path)
    message = "its vectors depend on the other sentences of a batch"
    for command in (
        ("eval", folder, "--pooler", "mean", "--tasks", "toy-captions", "--results", tmp_path / "r"),
        ("run", WORLD, "--encoder", folder, "--methods", "mean", "--sizes", 16, "--seeds", 1, "--results", tmp_path),
        ("run", WORLD, "--encoder", folder, "--methods", "mean", "--sizes", "16", "--seeds", "1", "--dry-run"),
    ):
        result = call(*command)
        assert (result.exit_code, message in result.stderr) == (2, True), (command, result.output)
    with pytest.raises(BadData, match=message):
        cseb.train("simcse+mean", SENTENCES, encoder=str(folder))


def test_a_tokenizer_that_is_read_otherwise_is_refused(families: Any, tmp_path: Path) -> None:
    """transformers takes the class of Qwen2's own tokenizer whatever tokenizer.json contains."""
    folder = families.made("qwen2", tmp_path)
    shape_of(folder)
    save_tokenizer(folder)
    with pytest.raises(BadData, match=r"as \d+ tokens?, not as the \d+ of tokenizer.json; correct tokenizer_class"):
        shape_of(folder)


def test_weights_that_are_not_used_are_named_and_heads_are_not(tiny: Tiny, tmp_path: Path) -> None:
    folder = copied(tiny("bert"), tmp_path / "bert")
    add_weights(folder, classifier__weight=torch.ones(2, 16), bert__pooler__dense__weight=torch.ones(16, 16))
    shape_of(folder)
    add_weights(folder, bert__encoder__layer__0__attention__self__distance_embedding__weight=torch.ones(9, 8))
    with pytest.raises(BadData, match=r"does not use 1 weight \(.*distance_embedding.weight\) of its files"):
        shape_of(folder)


def test_weights_that_are_missing_are_named(tiny: Tiny, tmp_path: Path) -> None:
    folder = copied(tiny("bert"), tmp_path / "bert")
    stored = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in stored.items() if "layer.1.output" not in name}
    save_file(kept, folder / "model.safetensors")
    with pytest.raises(BadData, match=r"its files lack 4 weights \(encoder.layer.1.output.LayerNorm.bias, "):
        shape_of(folder)


def test_projected_states_are_refused(families: Any, tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"have the shape \(\d+, 64\), and its hidden_size is 32"):
        shape_of(families.made("reformer", tmp_path))


def test_a_decoder_that_stays_causal_is_refused(families: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(families.made("llama", tmp_path), tmp_path / "both", is_causal=False)
    shape_of(folder)
    causal = families.made("llama", tmp_path)

    class Ignoring(torch.nn.Module):
        """A causal model whose configuration says that it is not."""

        def __init__(self, config: Any) -> None:
            super().__init__()
            self.model, self.config = AutoModel.from_pretrained(causal), config

        def forward(self, **inputs: Any) -> Any:
            return self.model(**inputs)

    load = lambda kind, folder, config, **options: (Ignoring(config), [], [])
    monkeypatch.setattr(load_check, "load_pretrained", load)
    with pytest.raises(BadData, match=r"is_causal: false, which transformers .* ignores; install a newer version"):
        load_check._load_and_check(folder, False)


def test_of_encoder_decoders_t5_alone_is_used(families: Any, tmp_path: Path) -> None:
    with pytest.raises(BadData, match="bart is an encoder-decoder, whose encoder cannot be loaded alone"):
        shape_of(families.made("bart", tmp_path))
    folder = families.made("t5", tmp_path)
    assert "mean" in find(str(folder), EncoderOptions()).method
    trained = cseb.train("simcse+mean", SENTENCES, encoder=str(folder), steps=2, scale="recipe(batch_size=8)")
    trained.save(tmp_path / "saved")
    again = find(str(tmp_path / "saved"), EncoderOptions()).open()(SENTENCES)
    np.testing.assert_allclose(again, trained.encode(SENTENCES), atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "camembert", "mpnet", "opt", "roberta", "nystromformer", "xlm-roberta"])
def test_sentences_are_cut_at_the_positions_of_the_network(families: Any, tmp_path: Path, family: str) -> None:
    """Positions start after the padding id (0 here) in some families; a longer sentence would have none."""
    folder = families.made(family, tmp_path)
    config = AutoConfig.from_pretrained(folder)
    network = network_class(config).from_pretrained(folder)
    skipped = {"camembert": 1, "mpnet": 2, "roberta": 1, "xlm-roberta": 1}.get(family, 0)
    assert position_limit(network) == 80 - skipped
    ids = torch.full((1, position_limit(network)), 7)
    assert network(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state.isfinite().all()
    if skipped:
        longer = torch.full((1, 80), 7)
        with pytest.raises((IndexError, RuntimeError)):
            network(input_ids=longer, attention_mask=torch.ones_like(longer))


@pytest.mark.slow
def test_the_list_of_families_in_the_docs_is_what_the_check_says(families: Any, tmp_path: Path) -> None:
    page = (ROOT / families.PAGE).read_text(encoding="utf-8")
    assert families.family_list(tmp_path) in page, "run python -m benchmarks.families"
