from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fuzz import grammar
from tests.fuzz.harness import Case, Fuzz
from tests.fuzz.hostile import HUGE, altered, damaged, number, odd, text, value
from tests.world import WORLD

pytestmark = pytest.mark.slow
SOUND = Path(WORLD)


def bomb(widths: int, levels: int, merged: bool) -> bytes:
    """Aliases of aliases: a few lines that stand for `widths` to the power of `levels` values."""
    first = "{name: x}" if merged else "[x]"
    lines = [f"a0: &a0 {first}"]
    for level in range(1, levels):
        names = ", ".join([f"*a{level - 1}"] * widths)
        lines.append(f"a{level}: &a{level} " + (f"{{<<: [{names}]}}" if merged else f"[{names}]"))
    lines.append(f"methods: *a{levels - 1}")
    return "\n".join(lines).encode()


ODDITIES = (
    bomb(10, 8, merged=True), bomb(10, 9, merged=False), bomb(2, 30, merged=True), b"<<: &a {<<: *a}", b"&a [*a]",
    b"? [1]\n: 2",
    b"!!python/object/apply:os.system [id]", b"name: !!binary abc", b"seeds: !!int abc", b"seeds: 0o9",
    b"seeds: 1:60:60",
    b"name: !!timestamp x", b"name: 9999-99-99", b"---\na: 1\n---\nb: 2", b"%YAML 9.9\n---\n", b"%TAG ! x\n",
    b"name: *nothing",
    b"seeds: " + b"9" * 5000, b"seeds: 0x" + b"f" * 400_000, b"seeds: " + b"1:" * 20_000 + b"1",
    b"a: " + b"{a: " * 5000, b"- " * 20_000,
    b"[" * 50_000, b"a: >-\n" + b"  x\n" * 200_000, b"\t: 1", b"name: \x80", b"? " * 5000, b"!!set {a, b}",
    b"name: 'x\ny'",
    b"!!float 1", b"=: 1", b"<<: 1", b"name: !!null", b"seeds: .inf", b"fractions: [.nan]", b"sizes: [1e999]",
    b"seeds: -0",
    b'name: "\\ud800"', b'name: "\\x1b[31m"', b"name: \xe2\x80\xae", b"methods: ['\\']", b"!!omap [a: 1]",
    b"!!pairs [a: 1]",
)  # fmt: skip


def test_benchmark_files_are_planned_or_refused(fuzz: Fuzz) -> None:
    fuzz.run("benchmarks", 300, _make)


def _make(case: Case) -> None:
    rng = case.rng
    path = case.folder / rng.choice(("b.yaml", "b.yaml", "b.yml", "b.txt", "b", "-b.yaml", "é\u202e.yaml"))
    held = {**yaml.safe_load(SOUND.read_bytes()), "corpus": "wikipedia:500", "sizes": [64], "seeds": 1}
    del held["fractions"]
    roll = rng.random()
    if case.number < len(ODDITIES):
        path.write_bytes(ODDITIES[case.number])
    elif roll < 0.5:
        path.write_bytes(_written(rng, _changed(rng, held)))
    elif roll < 0.8:
        path.write_bytes(damaged(rng, _written(rng, held)))
    elif roll < 0.95:
        path.write_bytes(rng.choice(ODDITIES) + rng.choice((b"", b"\n" + _written(rng, held))))
    else:
        case.notes.append(odd(rng, path))
    case.then("run", f"./{path.name}", "--dry-run")
    if rng.random() < 0.2:
        case.then(*rng.choice((("check", f"./{path.name}", "--results", "../sound/demo"),
                               ("report", "../sound/demo", "--benchmark", f"./{path.name}"),
                               ("run", "msse-table4", "--on", f"./{path.name}", "--dry-run"))))  # fmt: skip


def _changed(rng: random.Random, held: dict[str, Any]) -> Any:
    if rng.random() < 0.5:
        return altered(rng, held)
    field = rng.choice([*held, "column", "data_dir", "scale", "elsewhere", "tolerance", "notes", "sizes", "fractions"])
    wanted = {"methods": grammar.spec, "elsewhere": grammar.spec, "scale": _scale}
    return {**held, field: wanted.get(field, lambda one: one.choice((value, number, text))(one))(rng)}


def _scale(rng: random.Random) -> str:
    return ", ".join(grammar.part(rng, rng.choice(("recipe", "queue", "infonce", "ami", "flow"))) for _ in range(2))


def _written(rng: random.Random, held: Any) -> bytes:
    """YAML; 400 digits are text to the library that writes it."""
    if isinstance(held, dict):
        held = {key: f"{HUGE}" if one in (HUGE, -HUGE) else one for key, one in held.items()}
    try:
        return yaml.safe_dump(held, allow_unicode=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, RecursionError):
        return repr(held).encode("utf-8", "surrogatepass")
