"""Specs: real methods and parts put together at random, with options that are right, nearly right and wrong."""

from __future__ import annotations

import random

from cseb.methods.spec import preset
from cseb.registry import METHODS, PRESETS, SLOTS
from tests.fuzz.hostile import number, text, word

PARTS = [*PRESETS.builtin, *(name for registry in SLOTS.values() for name in registry.builtin)]
OUTSIDE = ("back_translation", "paraphrase", "unit_halves", "rtd")
SIGNS = ("+", "+", "+", "-", "~", "", "++", "*", " + ", ",")
SHARES = ("1e-4", "0.001", "0.1", "1", "1.0")


def spec(rng: random.Random) -> str:
    """One method with up to four edits, or several of them."""
    roll = rng.random()
    if roll < 0.04:
        return text(rng)
    if roll < 0.08:
        return nested(rng)
    methods = [_method(rng) for _ in range(1 if roll < 0.9 else rng.randrange(2, 5))]
    return rng.choice((",", ", ", ",,", ";")).join(methods) if len(methods) > 1 else methods[0]


def nested(rng: random.Random) -> str:
    """Brackets in brackets, long chains, long names and long numbers."""
    deep = rng.choice((10, 100, 3000))
    return rng.choice(
        (
            "(" * deep + "simcse" + ")" * deep,
            "simcse+ami(layers=" + "(" * deep + ",)" * deep + ")",
            "simcse" + "+ami" * deep,
            "simcse" + "-ami" * deep,
            "-" * deep + "simcse",
            "simcse+recipe(steps=" + "-" * deep + "1)",
            "simcse+ami(layers=(" + "1," * deep + "))",
            "simcse+" + "a" * deep,
            "a." * deep + "b",
            f"simcse+infonce(temperature={'1' * deep})",
            f"simcse+infonce(negatives='{'x' * deep}')",
        )
    )


def sound(rng: random.Random) -> str:
    """A method with an edit or two whose names and options exist and whose values are small."""
    method = rng.choice(list(METHODS.builtin))
    parts = [name for name in PARTS if name not in OUTSIDE]  # models from elsewhere are not here
    for _ in range(rng.choice((0, 1, 1, 2))):
        method += "+" + part(rng, rng.choice(parts), wild=0.0, modest=True)
    return method


def _method(rng: random.Random) -> str:
    found = word(rng, list(METHODS.builtin)) if rng.random() < 0.3 else rng.choice(list(METHODS.builtin))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 4))):
        name = word(rng, PARTS) if rng.random() < 0.15 else rng.choice(PARTS)
        sign = rng.choice(SIGNS) if rng.random() < 0.15 else rng.choice("+++-")
        found += sign + (name if sign == "-" and rng.random() < 0.9 else part(rng, name))
    return found


def part(rng: random.Random, name: str, wild: float = 0.2, modest: bool = False) -> str:
    """A part with some of its options. wild: how often one of them is not sound. modest: values stay small."""
    known = dict(preset(name).options) if name in PARTS else {"weight": 1.0}
    chosen = rng.sample(sorted(known), min(len(known), rng.choice((0, 1, 1, 2))))
    options = []
    for option in chosen:
        typed = word(rng, sorted(known)) if rng.random() < wild / 2 else option
        options.append(f"{typed}={_value(rng, known.get(option), wild, modest)}")
    if rng.random() < wild / 4:
        options.append(
            rng.choice(("1", "*a", "**b", "weight=1,weight=2", "weight:=1", "x=1", "weight=lambda: 1", text(rng)))
        )
    return f"{name}({','.join(options)})" if options or rng.random() < 0.1 else name


def _value(rng: random.Random, default: object, wild: float, modest: bool) -> str:
    roll = rng.random()
    if roll < wild:
        return rng.choice(
            (number(rng), number(rng), repr(text(rng)), text(rng), "(1,2)", "()", "[]", "none", "{}", "1+1")
        )
    if roll < wild + 0.3 or modest:
        return _near(rng, default)
    return rng.choice((number(rng), repr(default), "true", "0", "-1", "1e-3", "(0, 1)", "none", "auto", "'auto'"))


def _near(rng: random.Random, default: object) -> str:
    """A value of the same type: what a sweep would try."""
    if isinstance(default, bool):
        return rng.choice(("true", "false"))
    if isinstance(default, int):
        return str(rng.choice((0, 1, 2, 3, 5, 8, 16)))
    if isinstance(default, float):
        return rng.choice(("0", "0.0", "1e-9", "0.05", "0.3", "0.5", "0.999", "1", "2.5", "-0.5", "100.0"))
    if isinstance(default, tuple):
        return rng.choice(("()", "(1,)", "(1, 2)", "(0.1, 0.2)", "('shuffle', 'delete')", "1"))
    return repr(default) if rng.random() < 0.5 else rng.choice(("'batch'", "none", "'self'", "'h'", "auto", "''"))
