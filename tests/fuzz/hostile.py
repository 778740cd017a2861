"""What strangers send: values, texts, damaged bytes, altered JSON, and things that stand where a file should."""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import socket
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HUGE = 10**400
NUMBERS = (
    *("0", "-1", "1", "2", "3", "0.5", "1e308", "-1e308", "1e400", "1e-320", "nan", "inf", "-inf", "NaN", "Infinity"),
    *("9" * 400, "-" + "9" * 400, "9" * 5000, "0x10", "1_000", "1e3", "True", "None", "1j", "007", "1.", ".5", "+1"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616", "1/2", "½", "٣", "1e", "1,5", "--1", "0b1"),
)
TEXTS = (
    *("", " ", "\t", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202egnihton", "\u2066x\u2069", "\u200b", "a\nb"),
    *("a\rb", "\ufeff", "\udcff", "é" * 300, "x" * 300, "x" * 5000, "../../../../etc/passwd", "-", "--", "=1+1"),
    *("@SUM(1)", "+1", "%s%n%d", "{0}", "{x}", "${HOME}", "$(id)", "`id`", "ｓｉｍｃｓｅ", "ѕimcse", "\x85", "\u2028"),
    *("~", "~root", ".", "..", "/", "a,b", ",", "'", '"', "\\", "[bold]red[/bold]", "[/]", "\x7f", "\x9b31m", "🎉"),
    *("<script>", "\\frac{", "&amp;", "|", "#", "a:b", ":", "hub:", "hub:a", "wikipedia:", "wikipedia:-1", "st:"),
    *("wikipedia:1", "wikipedia:x", "\ud800", "\0", "a\0b", "None", "null", "true", "*", "?", "\u0301" * 50),
)
Json = Any


def number(rng: random.Random) -> str:
    """A number as it may be typed, or what looks like one."""
    return (
        rng.choice(NUMBERS)
        if rng.random() < 0.8
        else str(rng.choice((1, -1)) * rng.randrange(10 ** rng.randrange(1, 30)))
    )


def text(rng: random.Random) -> str:
    """Letters, marks and codes."""
    if rng.random() < 0.7:
        return rng.choice(TEXTS)
    kinds = (
        "abc xyz",
        "\x1b\x07\x08\r\n\t\0",
        "\u202e\u2066\u200f",
        "-+()=,.'\"\\:/@",
        "éüñ漢字🎉",
        "0123456789",
        "\udcff\ud800",
    )
    return "".join(rng.choice(rng.choice(kinds)) for _ in range(rng.randrange(1, 40)))


def word(rng: random.Random, known: Sequence[str]) -> str:
    """A known word, one near to it, or anything."""
    chosen = rng.choice(list(known))
    roll = rng.random()
    if roll < 0.45:
        return chosen
    if roll < 0.75:
        at = rng.randrange(len(chosen) + 1)
        return rng.choice(
            (chosen[:at] + chosen[at + 1 :], chosen[:at] + text(rng)[:9] + chosen[at:], chosen.upper(), chosen * 2)
        )
    return text(rng) if roll < 0.9 else number(rng)


def value(rng: random.Random) -> Json:
    """Anything JSON can hold, and some that only Python's JSON can."""
    return rng.choice(
        (
            *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63) - 1, HUGE, -HUGE, 0.5, -0.0, 1e308, -1e308, 5e-324),
            *(float("nan"), float("inf"), float("-inf"), "", [], {}, [[]], {"": {}}, [None] * 3, list(range(2000))),
            *(text(rng), text(rng), number(rng), nested(rng.choice((30, 400))), ["x"] * 40, {text(rng): text(rng)}),
        )
    )


def nested(depth: int) -> Json:
    """A list in a list in a list."""
    found: Json = []
    for _ in range(depth):
        found = [found]
    return found


def altered(rng: random.Random, held: Json, times: int = 0) -> Json:
    """A copy of JSON with one to three places changed: taken away, doubled, renamed, of another type or value."""
    held = copy.deepcopy(held)
    for _ in range(times or rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(held))
        if not places:
            return value(rng)
        inside, key = rng.choice(places)
        roll = rng.random()
        if roll < 0.6:
            inside[key] = value(rng)
        elif roll < 0.75:
            del inside[key]
        elif roll < 0.85 and isinstance(inside, dict):
            inside[word(rng, [str(key)])] = inside.pop(key)
        elif isinstance(inside, list):
            inside[key:key] = [inside[key]] * rng.choice((1, 3, 50))
        else:
            others = [each for each in places if each[0] is not inside]
            there, which = rng.choice(others or places)
            inside[key] = copy.deepcopy(there[which])
    return held


def _places(held: Json) -> list[tuple[Any, Any]]:
    """Every container with a key of it."""
    found: list[tuple[Any, Any]] = []
    waiting = [held]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(min(len(one), 50)) if isinstance(one, list) else ()
        found += [(one, key) for key in keys]
        waiting += [one[key] for key in keys]
    return found


def dumped(rng: random.Random, held: Json) -> bytes:
    """JSON in the ways it is written."""
    return json.dumps(held, ensure_ascii=rng.random() < 0.7, indent=rng.choice((None, 2))).encode(
        "utf-8", "surrogatepass"
    )


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Bytes that were cut, overwritten, doubled, put into another encoding or replaced."""
    at = rng.randrange(len(content) + 1)
    to = min(len(content), at + rng.randrange(1, 40))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: content[:at],
        lambda: content[at:],
        lambda: content[:at] + rng.randbytes(to - at) + content[to:],
        lambda: content[:at] + content[to:],
        lambda: content[:at] + content[at:to] * rng.choice((2, 100)) + content[to:],
        lambda: content[:at] + text(rng).encode("utf-8", "surrogatepass") + content[at:],
        lambda: content[:at] + number(rng).encode() + content[to:],
        lambda: content * 2,
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.decode("utf-8", "replace").encode("utf-16"),
        lambda: content.decode("utf-8", "replace").encode("latin-1", "replace"),
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"\n", b"\r"),
        lambda: content.replace(b" ", b"\0"),
        lambda: b"",
        lambda: b"\n" * 50,
        lambda: b"[" * 100_000,
        lambda: b'{"a":' * 100_000,
        lambda: rng.randbytes(200),
        lambda: b"\0" * 5000,
        lambda: content + b"\n" + rng.randbytes(30),
        lambda: gzip.compress(content),
        lambda: b"\x80\x04\x95" + content,
    )
    return rng.choice(ways)()


ODD = ("pipe", "folder", "nowhere", "loop", "zero", "full", "null", "socket", "empty", "sparse", "random", "tty")


def odd(rng: random.Random, path: Path, kinds: Sequence[str] = ODD) -> str:
    """Put something else in the place of a file. Returns what."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        path.rename(path.with_name(f"{path.name}-away"))
    chosen = rng.choice(list(kinds))
    links = {"nowhere": "not-here", "loop": path.name, "zero": "/dev/zero", "full": "/dev/full", "null": "/dev/null"}
    links |= {"random": "/dev/urandom", "tty": "/dev/tty"}
    if chosen in links:
        path.symlink_to(links[chosen])
    elif chosen == "pipe":
        os.mkfifo(path)
    elif chosen == "folder":
        path.mkdir()
    elif chosen == "socket":
        _socket(path)
    else:
        with path.open("wb") as file:
            file.truncate(5 << 30 if chosen == "sparse" else 0)
    return chosen


def _socket(path: Path) -> None:
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as one:
        os.chdir(path.parent)  # its address is short, a path may not be
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


def gz_of_one_line(path: Path, size: int = 300 << 20) -> None:
    """A small file that unpacks to one line of `size` bytes."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(size >> 20):
            file.write(b"a" * (1 << 20))


def zip_bomb(path: Path, names: Sequence[str], size: int = 5 << 29) -> None:
    """A small .npz whose arrays of 32-bit numbers say, and hold, `size` bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in names:
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size // 4},), }}".ljust(117) + "\n"
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
                for _ in range(size >> 24):
                    file.write(bytes(1 << 24))
