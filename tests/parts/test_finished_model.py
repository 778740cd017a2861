"""Finished models of sentence-transformers: their modules as a head, and what is said of what is left out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cseb
from cseb.advice.conclusion import AS_IT_IS
from cseb.commands.trials import Trials
from cseb.data.corpus import pack
from cseb.data.finished_models import left_out
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadSpec
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.plan import plan
from cseb.experiment.train_job import JobTraining
from cseb.methods.grammar import parse_method
from cseb.training.build import build, check
from tests.command_line import call
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, by_library, encoder_in
from tests.world import WORLD

SCALE = "recipe(batch_size=8,learning_rate=1e-2,eval_every=1,dropout=0.1)"


@pytest.fixture
def finished(tiny: Tiny, tmp_path: Path) -> Path:
    """A model with mean pooling, a dense layer from 16 to 4, a layer norm and unit vectors."""
    library: Any = pytest.importorskip("sentence_transformers")
    m: Any = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        transformer = m.Transformer(str(tiny("bert")))
        modules = [transformer, m.Pooling(16, "mean"), m.Dense(16, 4), m.LayerNorm(4), m.Normalize()]
        library.SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "finished"))
    return tmp_path / "finished"


def with_prompt(folder: Path, prompt: str) -> None:
    content = {"prompts": {"query": prompt}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(content))


def encoded(folder: Path, method: str) -> np.ndarray:
    return encoder_in(folder, method).embed(SENTENCES)


def test_mean_with_its_own_modules_is_the_model_as_it_came(finished: Path) -> None:
    as_it_came = find(str(finished), EncoderOptions()).open()(SENTENCES)
    assert as_it_came.shape == (len(SENTENCES), 4)
    np.testing.assert_allclose(encoded(finished, "mean+own_modules"), as_it_came, atol=1e-6)
    assert encoded(finished, "mean").shape == (len(SENTENCES), 16)


@pytest.mark.parametrize("prompt", ["", "query: "])
def test_a_pooler_may_name_the_own_modules(finished: Path, prompt: str) -> None:
    """They were dropped, under their name."""
    with_prompt(finished, prompt)
    found = find(str(finished), EncoderOptions(pooler="mean+own_modules"))
    assert "own_modules()" in found.resolved and not found.notes
    as_it_came = find(str(finished), EncoderOptions()).open()(SENTENCES)
    np.testing.assert_allclose(found.open()(SENTENCES), as_it_came, atol=1e-6)
    with pytest.raises(BadSpec, match="names the head mlp, whose weights only training gives"):
        find(str(finished), EncoderOptions(pooler="mean+mlp(keep=true)"))


def test_its_modules_are_trained_and_saved_for_sentence_transformers(finished: Path, tmp_path: Path) -> None:
    trained = cseb.train("simcse+mean+own_modules", SENTENCES, encoder=str(finished), steps=2, scale=SCALE)
    vectors = trained.encode(SENTENCES)
    assert not trained.notes
    assert np.abs(vectors - encoded(finished, "mean+own_modules")).max() > 1e-3
    trained.save(tmp_path / "saved")
    np.testing.assert_allclose(by_library(tmp_path / "saved", SENTENCES), vectors, atol=1e-5)
    np.testing.assert_allclose(find(str(tmp_path / "saved"), EncoderOptions()).open()(SENTENCES), vectors, atol=1e-6)


def test_what_is_left_out_is_said_on_the_terminal_and_in_the_record(finished: Path, tmp_path: Path) -> None:
    with_prompt(finished, "query: ")
    message = (
        "the encoder is a finished model, used without its modules Dense, LayerNorm, Normalize and its prompt "
        "'query: '; +own_modules keeps them; cseb eval scores it as it came"
    )
    arguments = ("--methods", "mean", "--sizes", "16", "--seeds", "1", "--results", tmp_path / "results")
    result = call("run", WORLD, "--encoder", finished, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr.count(message) == 1
    assert [record.trace.notes for record in cseb.load(tmp_path / "results")] == [(message,)]
    assert message in find(str(finished), EncoderOptions(pooler="mean")).notes
    assert left_out(finished, own_modules=True) == ""
    assert left_out(finished, own_modules=True, template='"[X]" means [MASK].') == (
        "the encoder is a finished model, used without its prompt 'query: '; cseb eval scores it as it came"
    )


@pytest.mark.parametrize("pooler", ["mean", "first_last"])  # one that sentence-transformers has, one that it lacks
def test_its_prompt_is_used_in_training_and_saved(finished: Path, tmp_path: Path, pooler: str) -> None:
    without = encoded(finished, f"{pooler}+own_modules")
    with_prompt(finished, "query: ")
    start = encoded(finished, f"{pooler}+own_modules")
    assert np.abs(start - without).max() > 1e-3
    if pooler == "mean":
        np.testing.assert_allclose(start, find(str(finished), EncoderOptions()).open()(SENTENCES), atol=1e-6)
    trained = cseb.train(f"simcse+{pooler}+own_modules", SENTENCES, encoder=str(finished), steps=2, scale=SCALE)
    assert not trained.notes
    trained.save(tmp_path / "saved")
    again = by_library(tmp_path / "saved", SENTENCES, trust_remote_code=True)
    np.testing.assert_allclose(again, trained.encode(SENTENCES), atol=1e-5)


def test_a_model_that_pools_without_its_prompt_is_refused(finished: Path) -> None:
    with_prompt(finished, "query: ")
    file = finished / "1_Pooling" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "include_prompt": False}))
    with pytest.raises(BadSpec, match="pools without the tokens of its prompt 'query: '"):
        build(parse_method("mean+own_modules").at(1.0), finished, 0)


def test_a_prompt_is_cut_with_the_sentence_at_test_and_is_no_token_of_it_in_training(finished: Path) -> None:
    with_prompt(finished, "query: ")
    encoder = encoder_in(finished, "mean+own_modules")
    prompt = encoder.tokenizer("query:", add_special_tokens=False)["input_ids"]
    assert encoder.limit() == encoder.tokenizer.model_max_length - len(prompt)
    for text in ("a b c", encoder.tokenizer("a b c", add_special_tokens=False)["input_ids"]):
        tokens = encoder.tokenise([text], 4)  # room for two tokens of the sentence
        joined = encoder.tokenizer("query: a b")["input_ids"]
        assert tokens.flat.tolist() == joined
        assert tokens.prefix == 1 + len(prompt)


def test_other_encoders_have_no_modules_of_their_own(tiny: Tiny, finished: Path) -> None:
    assert left_out(tiny("bert")) == ""
    with pytest.raises(BadSpec, match="modules after the pooling are none; Dense, LayerNorm, Normalize are possible"):
        built_of(tiny, "mean+own_modules")
    listed = json.loads((finished / "modules.json").read_text())
    listed[2]["type"] = "sentence_transformers.models.CNN"
    (finished / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(BadSpec, match="are CNN, LayerNorm, Normalize; Dense"):
        build(parse_method("mean+own_modules").at(1.0), finished, 0)


def test_recommend_trains_its_own_modules_where_the_model_as_it_came_is_the_baseline(finished: Path) -> None:
    settings = Trials("corpus", "", str(finished), 1, None, 1, {"trust_remote_code": False})
    names = settings.methods(AS_IT_IS)
    assert names == [f"{name}+own_modules" for name in ("crops", "simcse+mean", "esimcse+mean", "skd+own_teacher")]
    assert not any("own_modules" in name for name in settings.methods("mean pooling"))
    for name in names:
        check(parse_method(name).at(1.0), finished)
    config = finished / "2_Dense" / "config.json"
    other = {**json.loads(config.read_text("utf-8")), "activation_function": "torch.nn.modules.activation.Softmax"}
    config.write_text(json.dumps(other))
    assert not any("own_modules" in name for name in settings.methods(AS_IT_IS))


def test_the_own_teacher_is_the_model_as_it_came(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES))
    grid = {"methods": f"skd+own_teacher+{SCALE}", "fractions": (1.0,), "seeds": 1, "tasks": "toy-mixed"}
    [job] = plan(Benchmark(name="mine", corpus=str(tmp_path / "corpus.txt"), encoder=str(finished), **grid))
    built = JobTraining.of(job, pack("mine", SENTENCES)).built
    assert built.outside is not None and built.teacher is not None
    targets, _ = built.outside.targets(built.teacher, [SENTENCES])
    as_it_came = find(str(finished), EncoderOptions()).open()(SENTENCES)
    np.testing.assert_allclose(targets.numpy(), np.pad(as_it_came, ((0, 0), (0, 12))), atol=1e-6)
