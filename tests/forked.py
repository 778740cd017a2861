"""Commands in processes of their own that need not load torch again: forks of one that has done nothing but that.

Python's own end, with what it flushes and calls, is left out: where that matters, start a process.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

import pytest

LOADED = ["torch", "transformers", "accelerate", "pytest", "cseb.experiment.run_job", "cseb.cli"]
TOGETHER = pytest.mark.xdist_group("forked")  # in one process, which starts but one that forks


def forked(words: Sequence[str], folder: Path, path: Sequence[Path] = ()) -> CompletedProcess[str]:
    """`cseb` or `pytest` with its arguments, in a folder, with more places to import from, perhaps another cseb."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    with TemporaryDirectory() as held:
        written = [Path(held, name) for name in ("stdout", "stderr")]
        child = context.Process(target=_child, args=(words, folder, path, written))
        child.start()
        child.join()
        said, complained = (file.read_text(encoding="utf-8") for file in written)
    return CompletedProcess(words, child.exitcode or 0, said, complained)


def _child(words: Sequence[str], folder: Path, path: Sequence[Path], written: Sequence[Path]) -> None:
    for number, file in enumerate(written, start=1):
        os.dup2(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    os.chdir(folder)
    os.environ["COLUMNS"] = "80"
    sys.path[:0] = map(str, path)
    sys.dont_write_bytecode = True  # a file that is changed within a second would be read as it was
    if any(Path(place, "cseb").is_dir() for place in path):
        for name in [one for one in sys.modules if one.partition(".")[0] == "cseb"]:
            del sys.modules[name]
    if words[0] == "pytest":
        import pytest

        sys.exit(pytest.main(["-p", "no:cacheprovider", *words[1:]]))
    from cseb.cli import main

    sys.argv = list(words)
    main()
