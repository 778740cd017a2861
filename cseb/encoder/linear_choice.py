"""Which library computes linear layers here: what was asked for, or the one that is faster on this machine.

Both are timed once for each processor, version of PyTorch and number of threads, in a fraction of a second; the answer
stays in the user's cache folder. No torch here before something has to be timed.
"""

from __future__ import annotations

import contextlib
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from platformdirs import user_cache_path

from cseb.data.bounded import read_object
from cseb.data.files import write_whole
from cseb.errors import BadData, BadSpec, one_of
from cseb.processor import processor

if TYPE_CHECKING:
    from cseb.encoder.linear import Library

AUTO = "auto"
LIBRARIES = ("blas", "onednn")
SIZES = ((384, 1536), (1536, 384), (768, 768))  # in and out, of layers of common encoders
ROWS = 256  # tokens; the libraries keep their order from a few hundred tokens on
ROUNDS = 2
MARGIN = 1.1  # times that oneDNN has to be faster: near a tie the noise of a day must not decide
KEPT = 64  # answers in the file, the oldest go


def resolved(asked: str, threads: int, device: str = "cpu") -> Library:
    """The library to take with so many threads. Raises: BadSpec if it is unknown, or oneDNN cannot be had here."""
    one_of((AUTO, *LIBRARIES), asked, "`linear`")
    if device != "cpu" or asked == "blas":
        return "blas"
    if asked == "onednn":
        from cseb.encoder.linear import available

        if not available():
            raise BadSpec("`linear` onednn: this PyTorch cannot be told to take oneDNN; take `linear` auto or blas")
        return "onednn"
    place, name = user_cache_path("cseb") / "linear.json", f"{processor()}, torch {version('torch')}, {threads} threads"
    known = _known(place)
    if name not in known:
        known |= {name: _faster(threads)}
        with contextlib.suppress(OSError):  # the cache saves time and nothing else
            write_whole(place, [json.dumps(dict(list(known.items())[-KEPT:]), indent=1).encode()])
    return known[name]


def _known(place: Path) -> dict[str, Library]:
    """Answers of before; none if the file is missing or damaged."""
    try:
        held = read_object(place)
    except BadData:
        return {}
    return {name: cast("Library", found) for name, found in held.items() if found in LIBRARIES}


def _faster(threads: int) -> Library:
    """The library that takes less time for layers of common sizes, forward and backward."""
    import torch

    from cseb.encoder.linear import available

    if not available():
        return "blas"
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        seconds = timed()
    finally:
        torch.set_num_threads(before)
    return "onednn" if seconds["onednn"] * MARGIN < seconds["blas"] else "blas"


def timed() -> dict[Library, float]:
    """Seconds of each library for all SIZES, the best of ROUNDS in turn, with the threads that torch has."""
    import torch
    import torch.nn.functional as F

    from cseb.encoder.linear import chosen, taking

    total: dict[Library, float] = {"blas": 0.0, "onednn": 0.0}
    draws = torch.Generator().manual_seed(0)  # whoever calls may be in the middle of a stream of random numbers
    for width, out in SIZES:
        shapes = ((ROWS, width), (out, width), (out,))
        x, weight, bias = (torch.randn(shape, generator=draws).requires_grad_() for shape in shapes)
        best = dict.fromkeys(total, float("inf"))
        for turn in range(ROUNDS + 1):  # the first one warms up
            for library in total:
                start = time.perf_counter()
                with taking(library), chosen():
                    found = F.linear(x, weight, bias)
                torch.autograd.grad(found, (x, weight, bias), torch.ones_like(found))
                if turn:
                    best[library] = min(best[library], time.perf_counter() - start)
        total = {library: total[library] + best[library] for library in total}
    return total
