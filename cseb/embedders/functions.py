"""`module:function`: a Python function of the user's that maps a list of strings to an array."""

from __future__ import annotations

import hashlib
import inspect
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cseb.embedders.interface import BATCH, Embedder
from cseb.errors import BadSpec, CsebError, first_line
from cseb.progress import counted
from cseb.records.record import Source
from cseb.tasks.task import Vectors
from cseb.text import quantity

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
PROBE = ("A man is playing a guitar.", "Where can I buy a ticket for the train to the airport?", "no")


def find(name: str) -> Embedder:
    """Return the function, imported from the current directory or from what is installed. Raises: BadSpec.

    Nobody can hash what a function does, so its sha256 is that of its module's file and of the vectors it gives for
    three sentences: weights that it loads from elsewhere are noticed when they change.
    """
    return embedder(_function(name), name)


def embedder(function: Callable[[list[str]], Any], name: str) -> Embedder:
    """Any function of a list of strings under this name. Raises: CsebError if it fails on three sentences."""
    probe = _call(function, name, PROBE)
    width = probe.shape[1]

    def embed(sentences: Sequence[str]) -> Vectors:
        found = np.zeros((len(sentences), width), dtype=np.float32)
        starts = range(0, len(sentences), BATCH)
        for at in counted(starts, f"encoding sentences, {BATCH:,} at a time", len(starts)):
            block = _call(function, name, sentences[at : at + BATCH])
            if block.shape[1] != width:
                raise CsebError(f"{name} returned vectors of {quantity(width, 'number')} and then of {block.shape[1]}")
            found[at : at + BATCH] = block
        return found

    try:
        held = Path(inspect.getsourcefile(function) or "").read_bytes()
    except (TypeError, OSError):  # an object that can be called, or a function that no file holds
        held = b""
    rounded = np.round(probe.astype(np.float64), 3) + 0.0  # -0.0 and 0.0 are one number
    sha256 = hashlib.sha256(held + repr(rounded.tolist()).encode()).hexdigest()
    notes = ("sha256: of the function's file and of its vectors for three sentences",)
    return Embedder(
        source=Source(name=name, sha256=sha256),
        method="function",
        resolved="function()@1",
        open=lambda: embed,
        notes=notes,
    )


def _function(name: str) -> Callable[[list[str]], Any]:
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = pkgutil.resolve_name(name)
    except ModuleNotFoundError as error:
        raise BadSpec(f"{name}: {error}; the module must be in {here} or installed") from None
    except AttributeError as error:
        raise BadSpec(f"{name}: {error}; write module:function") from None
    except (Exception, SystemExit) as error:  # the module is a stranger's code
        raise BadSpec(f"{name} cannot be imported: {_where(error)}") from error
    if not callable(found):
        raise BadSpec(f"{name} is a {type(found).__name__}; a function of a list of strings is needed")
    return found  # type: ignore[no-any-return]


def _call(function: Callable[[list[str]], Any], name: str, sentences: Sequence[str]) -> Vectors:
    try:
        found = np.asarray(function(list(sentences)))
    except (Exception, SystemExit) as error:  # the function is a stranger's code, or its rows have different lengths
        raise CsebError(f"{name} fails on {quantity(len(sentences), 'sentence')}: {_where(error)}") from error
    if found.ndim != 2 or len(found) != len(sentences) or 0 in found.shape[1:] or found.dtype.kind not in "iuf":
        raise CsebError(
            f"{name} returned {found.dtype} of shape {found.shape} for {quantity(len(sentences), 'sentence')}; "
            f"numbers of shape ({len(sentences)}, width) are needed"
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is answered as such
        return found.astype(np.float32)


def _where(error: BaseException) -> str:
    """Return the error with the place in the stranger's code that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {first_line(error)} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
