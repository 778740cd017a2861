"""A saved model gives the vectors that were scored, whatever loads it; a folder that would not is not written."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import cseb
from cseb.embedders import find
from cseb.embedders.folders import saved_encoder
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadResults
from cseb.experiment.export import _texts, check_saved
from tests.conftest import SENTENCES, script_of
from tests.training.small_runs import Tiny, by_library

TEXTS = ["a man", *SENTENCES, " ".join(SENTENCES)]
SCALE = "recipe(batch_size=8,learning_rate=1e-2,dropout=0.1)"


def trained(method: str, encoder: Path, to: Path) -> np.ndarray:
    """Train and save a model; return its vectors of TEXTS."""
    model = cseb.train(method, SENTENCES, encoder=str(encoder), steps=2, scale=SCALE)
    model.save(to)
    return model.encode(TEXTS)


def changed(file: Path, **values: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


@pytest.mark.parametrize("side", ["padding_side", "truncation_side"])
@pytest.mark.parametrize("pooler", ["last", "mean", "weighted_mean"])
def test_a_decoder_whose_tokenizer_pads_or_cuts_on_the_left(tmp_path: Path, pooler: str, side: str) -> None:
    folder = script_of("families").made("gpt2", tmp_path)
    changed(folder / "tokenizer_config.json", **{side: "left"})
    vectors = trained(f"simcse+{pooler}", folder, tmp_path / "saved")
    np.testing.assert_allclose(by_library(tmp_path / "saved", TEXTS), vectors, atol=1e-5)


@pytest.mark.parametrize(
    "method", ["simcse+first_last", "simcse+mask_prompt", "simcse+whiten(dimensions=6)", "simcse+mlp(keep=true)"]
)
def test_a_pooling_that_the_library_lacks_is_a_module_of_cseb(tiny: Tiny, tmp_path: Path, method: str) -> None:
    vectors = trained(method, tiny("bert"), tmp_path / "saved")
    np.testing.assert_allclose(by_library(tmp_path / "saved", TEXTS, trust_remote_code=True), vectors, atol=1e-5)
    with pytest.raises(ValueError, match="trust_remote_code"):
        by_library(tmp_path / "saved", TEXTS)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_maximum_length_and_lower_casing_of_a_finished_model_are_kept(tiny: Tiny, tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "bert")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    upper = [text.upper() for text in TEXTS]
    cased = find(str(folder), EncoderOptions(pooler="mean"))
    assert np.abs(cased.open()(TEXTS) - cased.open()(upper)).max() > 1e-3
    (folder / f"sentence_{kind}_config.json").write_text('{"max_seq_length": 9, "do_lower_case": true}')
    lower = find(str(folder), EncoderOptions(pooler="mean"))
    assert lower.source.sha256 != cased.source.sha256
    np.testing.assert_array_equal(lower.open()(TEXTS), lower.open()(upper))
    vectors = trained("simcse+mean", folder, tmp_path / "saved")
    assert saved_encoder(tmp_path / "saved").limit() == 9
    np.testing.assert_allclose(by_library(tmp_path / "saved", TEXTS), vectors, atol=1e-5)


def test_a_folder_with_other_vectors_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    trained("simcse+mean", tiny("bert"), tmp_path / "saved")
    encoder = saved_encoder(tmp_path / "saved")
    check_saved(encoder, tmp_path / "saved")
    file = tmp_path / "saved" / "1_Pooling" / "config.json"
    whole = file.read_text()
    changed(file, pooling_mode_mean_tokens=False, pooling_mode_cls_token=True)
    with pytest.raises(BadResults, match=r"loaded by sentence-transformers, its vectors have a cosine of 0\.\d+"):
        check_saved(encoder, tmp_path / "saved")
    file.write_text(whole)
    changed(tmp_path / "saved" / "sentence_bert_config.json", max_seq_length=5)
    with pytest.raises(BadResults, match="loaded by sentence-transformers"):
        check_saved(encoder, tmp_path / "saved")
    changed(tmp_path / "saved" / "cseb.json", pooler="cls")
    with pytest.raises(BadResults, match="loaded by cseb"):
        check_saved(encoder, tmp_path / "saved")


def test_a_saved_model_is_compared_in_float32(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = trained("simcse+mean", tiny("bert"), tmp_path / "saved")
    encoder = saved_encoder(tmp_path / "saved")
    encoder.eval_precision = "bf16"
    assert not np.array_equal(encoder.embed(TEXTS), vectors)
    compared: list[np.ndarray] = []
    monkeypatch.setattr("cseb.experiment.export._compare", lambda loader, expected, encode: compared.append(expected))
    check_saved(encoder, tmp_path / "saved")
    encoder.eval_precision = "fp32"
    np.testing.assert_array_equal(compared[0], encoder.embed(_texts(encoder)))
