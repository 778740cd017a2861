"""The fuzz itself: it notices what it looks for, in commands that do it on purpose."""

from __future__ import annotations

import pytest

from tests.fuzz.harness import Fuzz, breaches

pytestmark = pytest.mark.slow
WORST = """
import os, sys, time
class Odd(BaseException): pass
def traceback(sentences): raise Odd("on purpose")
def memory(sentences): sentences.append(bytearray(b"x") * (2 << 30)); return [[1.0]]
def waits(sentences): time.sleep(1000)
def works(sentences):
    while True: pass
def leaves(sentences): os._exit(3)
def interrupted(sentences): raise KeyboardInterrupt
def steers(sentences): print("\\x1b[31mred"); return [[1.0]] * len(sentences)
def bidi(sentences): print("\\u202ered", file=sys.stderr); return [[1.0]] * len(sentences)
def warns(sentences): import warnings; warnings.warn("odd"); return [[1.0]] * len(sentences)
def writes(sentences): open("/tmp/fuzz-was-here", "w"); return [[1.0]] * len(sentences)
def removes(sentences): os.remove(__file__.replace("worst.py", "../../../../../etc/hostname")); return [[1.0]]
def asks(sentences): import socket; socket.create_connection(("127.0.0.1", 9)); return [[1.0]] * len(sentences)
def starts(sentences): os.system("true"); return [[1.0]] * len(sentences)
def fine(sentences): return [[float(len(one)), 1.0] for one in sentences]
"""
NOTICED = {
    "traceback": "traceback: worst.Odd: on purpose", "memory": "memory: ", "waits": "slow: ", "leaves": "exit code 3",
    "interrupted": "exit code 130", "steers": "standard output holds U+001B", "bidi": "standard error holds U+202E",
    "warns": "warning: ", "writes": "left its folder: open /tmp/fuzz-was-here",
    "removes": "left its folder: os.remove /",
    "asks": "left its folder: socket.connect", "starts": "left its folder: os.system",
}  # fmt: skip


@pytest.mark.parametrize("name", [*NOTICED, "fine"])
def test_a_breach_is_noticed(fuzz: Fuzz, name: str) -> None:
    folder = fuzz.server.folder / f"worst-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "worst.py").write_text(WORST)
    ended = fuzz.server.run(folder, ["eval", f"worst:{name}", "--tasks", "../sound/pairs.tsv"], code=True, patience=1)
    found = breaches(ended)
    assert any(each.startswith(NOTICED[name]) for each in found) if name in NOTICED else not found, (
        found,
        ended.errors,
    )


def test_code_of_a_folder_is_noticed(fuzz: Fuzz) -> None:
    folder = fuzz.server.folder / "worst-code"
    folder.mkdir(exist_ok=True)
    (folder / "worst.py").write_text(WORST)
    found = breaches(fuzz.server.run(folder, ["eval", "worst:fine", "--tasks", "../sound/pairs.tsv"]))
    assert any(each.startswith("left its folder: exec ") and "worst.py" in each for each in found)


def test_a_seed_gives_the_same_inputs(fuzz: Fuzz) -> None:
    import random

    from tests.fuzz import grammar, hostile

    for make in (grammar.spec, hostile.text, hostile.number):
        assert [make(random.Random(str(n))) for n in range(50)] == [make(random.Random(str(n))) for n in range(50)]
