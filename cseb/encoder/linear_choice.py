"""Select the library for linear layers: the requested one, or the faster one on this machine.

Both are timed once per processor, version of PyTorch and number of threads, in a fraction of a second; the result is
stored in the user's cache folder. torch is imported only for timing.
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
ROWS = 256  # tokens; with more of them the order of the libraries is the same
ROUNDS = 2
MARGIN = 1.1  # oneDNN must be faster by this factor, so that noise does not decide


def resolved(option: str, threads: int, device: str = "cpu") -> Library:
    """Return the library for this option. Raises: BadSpec if it is unknown or not available."""
    one_of((AUTO, *LIBRARIES), option, "`linear`")
    if device != "cpu" or option == "blas":
        return "blas"
    if option == "onednn":
        from cseb.encoder.linear import available

        if not available():
            raise BadSpec(
                "`linear` onednn: this PyTorch has no oneDNN operator for linear layers; use `linear` auto or blas"
            )
        return "onednn"
    file, name = user_cache_path("cseb") / "linear.json", f"{processor()}, torch {version('torch')}, {threads} threads"
    results = _stored(file)
    if name not in results:
        results[name] = _faster(threads)
        with contextlib.suppress(OSError):
            write_whole(file, [json.dumps(results, indent=1).encode()])
    return results[name]


def _stored(file: Path) -> dict[str, Library]:
    """Return the stored results; none if the file is missing or damaged."""
    try:
        content = read_object(file)
    except BadData:
        return {}
    return {name: cast("Library", library) for name, library in content.items() if library in LIBRARIES}


def _faster(threads: int) -> Library:
    """Return the library that is faster for layers of common sizes, forward and backward."""
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
    """Return the seconds of each library for all SIZES, the best of ROUNDS, with torch's current threads."""
    import torch
    import torch.nn.functional as F

    from cseb.encoder.linear import chosen, taking

    total: dict[Library, float] = {"blas": 0.0, "onednn": 0.0}
    generator = torch.Generator().manual_seed(0)  # the global generator must not change
    for width, out in SIZES:
        shapes = ((ROWS, width), (out, width), (out,))
        x, weight, bias = (torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)
        best = dict.fromkeys(total, float("inf"))
        for turn in range(ROUNDS + 1):  # the first round is a warm-up
            for library in total:
                start = time.perf_counter()
                with taking(library), chosen():
                    output = F.linear(x, weight, bias)
                torch.autograd.grad(output, (x, weight, bias), torch.ones_like(output))
                if turn:
                    best[library] = min(best[library], time.perf_counter() - start)
        total = {library: total[library] + best[library] for library in total}
    return total
