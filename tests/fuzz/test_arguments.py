from __future__ import annotations

import random

import pytest

from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import number, text, word

pytestmark = pytest.mark.slow

SHOWN = ("--methods", "--fractions", "--sizes", "--tasks", "--checkpoint", "--spread")
# What each command takes: its arguments as they may stand, and its options with sound values ("" for a flag).
COMMANDS: dict[str, tuple[tuple[tuple[str, ...], ...], dict[str, tuple[str, ...]]]] = {
    "run": (
        (("../sound/small.yaml",) * 9 + ("demo", "few-shot", "msse-table4"),),
        {
            "--on": ("../sound/small.yaml",), "--methods": ("simcse", "cls,mean"), "--encoder": ("cseb-tiny",
            "../sound/tiny"),
            "--corpus": ("wikipedia:200", "../sound/corpus.txt", "../sound/corpus.csv"), "--column": ("text", "other"),
            "--data-dir": ("../sound", "."), "--tasks": ("toy-captions", "../sound/pairs.tsv"), "--dev": ("toy-dev",
            "none"),
            "--fractions": ("0.5,1", "0.01"), "--sizes": ("16,32", "1"), "--seeds": ("1", "10000"), "--steps": ("0",
            "1"),
            "--seed-scope": ("all", "init"),
            "--track": ("toy-alignment",), "--results": ("results", "../sound/results"),
            "--save-models": ("",), "--workers": ("auto", "1"), "--launcher": ("local",),
            "--slurm": ("partition=cpu", "time=1"), "--time-limit": ("90s",
            "2h"),
            "--jobs-per-gpu": ("1",), "--processes": ("1", "2"), "--threads": ("1", "2"), "--device": ("cpu", "auto"),
            "--quiet": ("",), "--fresh": ("",), "--retry-failed": ("",),
        },
    ),
    "status": ((("../sound/results",),), {}),
    "report": (
        (("../sound/results",) * 5 + ("../sound/demo",),),
        {
            "--benchmark": ("demo",), "--format": ("terminal", "markdown", "latex", "csv", "json", "html"),
            "--table": ("few-shot", "tasks", "ablation", "ablation simcse", "sensitivity infonce.temperature"),
            "--by": ("method", "encoder", "fraction", "task"), "--methods": ("simcse,micse", "cls"),
            "--fractions": ("0.001,0.01",), "--sizes": ("100,1000", "16"), "--tasks": ("open", "toy-captions"),
            "--checkpoint": ("best", "last", "both"), "--spread": ("std", "ci95", "sem", "range"),
            "--baseline": ("simcse",),
            "--option": ("infonce.temperature", "recipe.steps"), "--against": ("published",), "--mixed": ("",),
            "--mark": ("seeds", "examples", "none"), "--learning-curve": ("",),
            "--data-dir": (".",), "--out": ("table.txt", "nowhere/table.txt"),
        },
    ),
    "plot": (
        (("../sound/results",) * 5 + ("../sound/demo",),),
        {
            "--kind": ("curves", "gain", "seeds", "training", "sensitivity", "geometry"),
            "--out": ("plot.svg", "plot.png", "plot.pdf", "nowhere/plot.svg"), "--methods": ("simcse,micse",),
            "--fractions": ("0.001,0.01",), "--sizes": ("100,1000",), "--tasks": ("open", "toy-captions"),
            "--checkpoint": ("best", "last"), "--spread": ("std", "ci95", "sem", "range"),
            "--baseline": ("simcse", "cls"),
            "--option": ("infonce.temperature",), "--mixed": ("",),
        },
    ),
    "compare": (
        (("../sound/results",) * 5 + ("../sound/demo",),),
        {
            "--baseline": ("simcse", "cls"), "--all-pairs": ("",), "--methods": ("simcse,micse",),
            "--margin": ("0.5", "0"),
            "--fractions": ("0.001,0.01",), "--tasks": ("open", "toy-captions"), "--checkpoint": ("best", "last"),
            "--detail": ("",), "--learning-curve": ("",),
            "--data-dir": (".",),
            "--format": ("terminal", "markdown", "latex", "csv", "json"),
        },
    ),
    "show": ((("simcse", "infonce", "methods", "tasks", "0123456789abcdef", "../sound/results/runs"),),
    {"--results": ("../sound/results",)}),
    "data sample": (
        (("wikipedia:100", "../sound/corpus.txt", "../sound/corpus.jsonl"),),
        {"--fraction": ("0.1", "1"), "--size": ("5", "48"), "--seed": ("0", "7"), "--column": ("text",),
        "--out": ("few.txt",)},
    ),
    "eval": (
        (("cseb-tiny", "../sound/tiny", "../sound/st", "glove:../sound/glove.txt", "words:tf-idf", "words:random"),),
        {
            "--tasks": ("../sound/pairs.tsv", "toy-captions", "../sound/labels.csv"), "--pooler": ("mean", "cls",
            "first_last(first=0)"),
            "--data-dir": ("../sound",), "--results": ("results",), "--cache": ("cache",), "--dtype": ("fp32", "bf16"),
            "--threads": ("1",), "--device": ("cpu",), "--fresh": ("",),
        },
    ),
    "check": (
        (("demo",),),
        {
            "--against": ("published",), "--results": ("../sound/demo", "../sound/results"),
            "--threads": ("1",), "--device": ("cpu",), "--quiet": ("",),
        },
    ),
    "verify": ((("../sound/results",) * 5 + ("../sound/demo",),), {"--data-dir": ("../sound",)}),
    "rerun": ((("0123456789abcdef",),), {"--results": ("../sound/results",), "--data-dir": ("../sound",),
    "--column": ("text",)}),
    "data list": ((("stsb", "mr"),), {"--data-dir": ("../sound",)}),
    "data check": ((("stsb", "senteval"),), {"--data-dir": ("../sound",)}),
    "data fetch": ((("stsb", "mr", "senteval"),), {"--from": ("../sound",), "--to": ("copied",)}),
}  # fmt: skip
ALWAYS = {"run": ("--dry-run",), "check": ("--results", "../sound/demo")}  # nothing here may train for long


def test_arguments_are_taken_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("arguments", 600, _make)


def _make(case: Case) -> None:
    rng = case.rng
    command = rng.choice(list(COMMANDS))
    places, options = COMMANDS[command]
    argv: list[str] = [_argument(rng, known) for known in places if rng.random() < 0.95]
    chosen = rng.sample(sorted(options), min(len(options), rng.choice((0, 1, 1, 2, 2, 3, 5))))
    for option in chosen:
        sound = options[option]
        argv.append(word(rng, [option]) if rng.random() < 0.03 else option)
        if sound != ("",) or rng.random() < 0.05:
            argv.append(_argument(rng, sound, 0.5))
    if rng.random() < 0.05:
        argv.insert(rng.randrange(len(argv) + 1), text(rng))
    name = word(rng, [command]).split() if rng.random() < 0.02 else command.split()
    case.then(*name, *argv, *ALWAYS.get(command, ()))


def _argument(rng: random.Random, known: tuple[str, ...], sound: float = 0.8) -> str:
    roll = rng.random()
    if roll < sound:
        return rng.choice(known)
    return rng.choice((number, text, lambda one: word(one, known)))(rng)
