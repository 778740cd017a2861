"""What methods say of themselves, against what papers and releases say: a table written out by hand."""

import pytest

from cseb.methods.spec import Method
from cseb.registry import METHODS

# Steps between two evaluations: the authors' commands, or the text where there is no code.
EVERY = {
    "syncse": 25,
    **dict.fromkeys(("promcse", "promcse-sup"), 125),
    **dict.fromkeys(("simcse", "simcse-sup", "simcse-positives", "msse", "msse-released", "msse-literal"), 125),
    **dict.fromkeys(("compcse", "compcse-large", "compcse-roberta", "informin-cl", "informin-cl-mlm"), 125),
    **dict.fromkeys(("iscse", "esimcse", "diffcse", "pcl", "pcl-released", "mixcse", "mixcse-paper", "dclr"), 125),
    **dict.fromkeys(("rankcse", "rankcse-released", "rankencoder", "distillcse", "sncse", "promptbert"), 125),
    **dict.fromkeys(("whitenedcse", "gcse", "infocse", "pt-bert", "pt-bert-released"), 125),
    "micse": 500,
    **dict.fromkeys(("continued", "entropy-model", "rcl", "rcl-literal", "rcl-unsup"), 431),  # a tenth of an epoch
    "scd": 250,
    **dict.fromkeys(("ct", "ct-sbert"), 500),
    "consert": 200,
    "l2p-csr": 50,
    "mocose": 100,
    "sg-opt": 50,
    "clsep-unsup": 111,
    "isbert": 1_000,
    "vascl": 500,
    "mntp": 100,
}
OURS = {  # no code was found, the authors' code chooses no checkpoint, or looks as often as its own steps ask
    *("arccse", "mirror", "mirror-avg", "crops", "gist", "gist-self", "cosent", "angle", "sbert-regression"),
    *("distil-l2", "distil-mse", "distil-relational", "skd", "congen", "sct", "declutr-sentence", "tsdae", "retromae"),
    *("multicsr", "llm2vec", "declutr", "setfit"),
}

# Released with half precision.
HALF = (
    *("promcse", "promcse-sup"),
    *("simcse", "simcse-sup", "simcse-positives", "compcse", "compcse-large", "compcse-roberta", "informin-cl"),
    *("informin-cl-mlm", "scd", "diffcse", "pcl", "pcl-released", "rankcse", "rankcse-released", "rankencoder"),
    *("distillcse", "whitenedcse", "promptbert", "consert", "mirror", "mirror-avg", "esimcse"),
    *("distil-l2", "distil-mse", "distil-relational", "skd", "congen", "sct", "infocse", "pt-bert", "pt-bert-released"),
    "declutr",
)
FULL = ("micse", "iscse", "mixcse", "mixcse-paper", "dclr", "sncse", "ct", "mocose", "sg-opt", "isbert", "vascl")

DECLARED = (
    ("msse", "head: the linear map behind the pooler"),
    ("msse", "a tenth of its file aside"),
    ("msse", "appendix A AdamW, 500 steps of warm-up"),
    ("msse-released", "a tenth of its file aside"),
    ("compcse", "at half of its tokens"),
    ("micse", "rho^2 is held at 1 - 1e-6"),
    ("micse", "500 are those of the authors' commands"),
    ("rcl", "algorithm 1 loops over negative phi"),
    ("rcl-unsup", "algorithm 1 loops over negative phi"),
    ("rcl", "entropy: hard negatives are columns of it"),
    ("rcl", "the appendix's batch of 64"),
    ("rankcse", "counts probabilities below 1e-7 as 1e-7"),
    ("rankcse-released", "lowest probability of 1e-7"),
    ("consert", "spares biases and layer normalisation"),
    ("isbert", "spares biases and layer normalisation"),
    ("mocose", "spares biases and layer normalisation"),
    ("whitenedcse", "are the README's command"),
    ("dclr", "the complementary model stays in training mode"),
    ("dclr", "loss is infinite at 1"),
    ("dclr", "of vectors behind the pre-trained pooler"),
    ("dclr", "attended to in training and on the dev set"),
)


def trained() -> dict[str, Method]:
    return {name: METHODS[name] for name in METHODS if METHODS[name].terms}


def options(method: Method) -> dict[str, object]:
    return dict(method.at(1.0).recipe.options)


def test_methods_look_at_the_dev_set_as_often_as_their_releases() -> None:
    assert {name: options(method)["eval_every"] for name, method in trained().items() if name not in OURS} == EVERY


@pytest.mark.parametrize("name", HALF)
def test_a_release_in_half_precision_is_declared(name: str) -> None:
    assert options(METHODS[name])["precision"] == "fp32"
    assert any("fp16" in each or "half precision" in each for each in METHODS[name].deviations)


@pytest.mark.parametrize("name", FULL)
def test_a_release_in_full_precision_declares_none(name: str) -> None:
    assert not any("fp16" in each or "half precision" in each for each in METHODS[name].deviations)


@pytest.mark.parametrize(("name", "words"), DECLARED)
def test_what_differs_from_the_release_is_declared(name: str, words: str) -> None:
    assert any(words in each for each in METHODS[name].deviations)


def test_no_method_declares_a_thing_twice() -> None:
    for name in METHODS:
        text = METHODS[name].deviations
        assert len(set(text)) == len(text), name
