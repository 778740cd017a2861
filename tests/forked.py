"""Processes of their own that need not load torch again: forks of one that has done nothing but that.

Python's own end, with what it flushes and calls, is left out: where that matters, start a process.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

import pytest

LOADED = ["torch", "transformers", "accelerate", "pytest", "cseb.experiment.run_job", "cseb.commands"]
TOGETHER = pytest.mark.xdist_group("forked")  # in one process of pytest, which starts but one that forks


def start(said: Path, work: Callable[..., None], *given: object, **environment: str) -> BaseProcess:
    """A process that does this work. said: a folder for what it prints, the files stdout and stderr."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    process = context.Process(target=_printing, args=(said, environment, work, *given))
    process.start()
    return process


def forked(words: Sequence[str], folder: Path, path: Sequence[Path] = ()) -> CompletedProcess[str]:
    """`cseb` or `pytest` with its arguments, in a folder, with more places to import from, perhaps another cseb."""
    with TemporaryDirectory() as text:
        process = start(Path(text), _command, words, folder, path, COLUMNS="80")
        process.join()
        out, err = (Path(text, name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    return CompletedProcess(words, process.exitcode or 0, out, err)


def _printing(said: Path, environment: dict[str, str], work: Callable[..., None], *given: object) -> None:
    for number, name in enumerate(("stdout", "stderr"), start=1):
        os.dup2(os.open(said / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    os.environ.update(environment)
    work(*given)


def _command(words: Sequence[str], folder: Path, path: Sequence[Path]) -> None:
    os.chdir(folder)
    sys.path[:0] = map(str, path)
    sys.dont_write_bytecode = True  # a file that is changed within a second would be read as it was
    if any(Path(place, "cseb").is_dir() for place in path):
        for name in [each for each in sys.modules if each.partition(".")[0] == "cseb"]:
            del sys.modules[name]
    if words[0] == "pytest":
        sys.exit(pytest.main(["-p", "no:cacheprovider", *words[1:]]))
    from cseb.commands.application import main

    sys.argv = list(words)
    main()
