"""Thousands of commands on inputs nobody should have: what each one may do, and how a breach is told."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import settings

from tests.stderr_lines import without_progress

ROOT = Path(__file__).parents[2]
SERVER = Path(__file__).with_name("server.py")
CODES = (0, 1, 2)
STOPPED = 130  # where Ctrl-C was pressed, which nobody does here, or questions have nobody who answers
SECONDS = 20.0
BYTES = 2 << 30
LINE = 3000  # characters of an error's line, at most: a list of all parts has two thousand
SHOWN = 8  # breaches that are told in full
FAILED = re.compile(r"\[\d+/\d+\] .*: failed: ")  # a job that was refused
BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "COLUMNS": "100",
               "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}  # fmt: skip


def seed() -> str:
    """The same inputs each time; others by CSEB_FUZZ_SEED, or with --hypothesis-profile=other."""
    derandomised = settings().derandomize
    return os.environ.get("CSEB_FUZZ_SEED") or ("0" if derandomised else str(random.SystemRandom().randrange(10**9)))


@dataclass(frozen=True, slots=True)
class Ended:
    """What one command did. told: what it tried outside its folder."""

    argv: Sequence[str]
    code: int
    late: bool
    seconds: float
    cpu: float
    bytes: int
    out: bytes
    err: bytes
    told: str

    @property
    def output(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def errors(self) -> str:
        return self.err.decode("utf-8", "surrogateescape")


class Server:
    """The process that runs the commands; see `server.py`. environment: its own, caches included."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = folder / "server"
        self.own.mkdir()
        home = {name: str(self.own) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "HF_HOME", "MPLCONFIGDIR")}
        self.environment = {**os.environ, **ENVIRONMENT, **home, "PYTHONPATH": str(ROOT)}
        with (self.own / "log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                cwd=self.own, env=self.environment,
            )  # fmt: skip
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server of the fuzz has ended:\n{(self.own / 'log').read_text()[-2000:]}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(
        self, folder: Path, argv: Sequence[str], *, code: bool = False, stdout: str = "", patience: float = SECONDS
    ) -> Ended:
        """One command in `folder`, killed when it has computed nothing for `patience` seconds.

        code: Python of that folder may be run. stdout: a file that takes the output.
        """
        files = {name: str(self.own / name) for name in ("stdout", "stderr", "told")}
        request = {"argv": list(argv), "cwd": str(folder), "folder": str(self.folder), "code": code}
        assert self.process.stdin is not None
        asked = request | files | {"stdout": stdout or files["stdout"], "seconds": patience}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = self._read()
        out, err, told = (Path(files[name]).read_bytes() for name in ("stdout", "stderr", "told"))
        return Ended(argv, out=b"" if stdout else out, err=err, told=told.decode(), **answer)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait(30)


def breaches(ended: Ended, folder: Path | None = None) -> list[str]:
    """What a command did that none may do."""
    found = []
    if ended.late or ended.cpu > SECONDS:
        found.append(f"slow: {ended.seconds:.0f} s, {ended.cpu:.0f} s of the CPU{', killed' if ended.late else ''}")
    if ended.bytes > BYTES:
        found.append(f"memory: {ended.bytes >> 20} MB")
    if ended.code >= 0 and ended.code not in (*CODES, *((STOPPED,) if "--ask" in ended.argv else ())):
        found.append(f"exit code {ended.code}")
    if ended.code < 0 and not found:
        found.append(f"exit code {ended.code}")
    if "Traceback (most recent call last)" in ended.errors + ended.output:
        lines = [line for line in ended.errors.splitlines() if line[:1].strip()]
        raised = [line for line in ended.errors.splitlines() if "/cseb/" in line]
        found.append(f"traceback: {lines[-1][:150] if lines else ''} at {raised[-1].strip() if raised else '?'}")
    elif re.search(r"\w+Warning: ", ended.errors):
        warned = next(line for line in ended.errors.splitlines() if "Warning: " in line)
        found.append(f"warning: {warned.rpartition('/')[2][:150]}")
    if ended.told:
        found.append(f"left its folder: {ended.told.splitlines()[0]}")
    return found + _said(ended)


def _said(ended: Ended) -> list[str]:
    """What is wrong with the lines that were printed."""
    found = []
    heard = without_progress(ended.errors)
    lines = [line for line in heard if line.startswith("cseb: ") or FAILED.match(line)]
    if ended.code == 2 and "Traceback" not in ended.errors:
        if len(lines) != 1 or heard[-1] != lines[0]:
            found.append(f"exit code 2 with {len(lines)} lines that say why")
        elif len(lines[0]) > LINE:
            found.append(f"a line of {len(lines[0])} characters")
    if ended.code == 1 and not (ended.out or ended.err):
        found.append("exit code 1 without a word")
    for where, text in (("standard output", _shown(ended)), ("standard error", ended.errors)):
        if marks := sorted({letter for letter in text if _steers(letter)}):
            found.append(f"{where} holds {', '.join(f'U+{ord(mark):04X}' for mark in marks[:5])}")
    if _asked(ended.argv, "json") and ended.code in (0, 1) and ended.out:
        try:
            json.loads(ended.output, parse_constant=_refuse)
        except ValueError as error:
            found.append(f"no JSON: {str(error)[:80]}")
    return found


def _shown(ended: Ended) -> str:
    """Standard output as far as it is for people: data go through as they are."""
    formats = ("json", "csv", "html", "latex")
    data = ended.argv[:2] == ["data", "sample"] or any(_asked(ended.argv, name) for name in formats)
    return "" if data else ended.output


def _asked(argv: Sequence[str], name: str) -> bool:
    return any(pair in (("--format", name), ("-f", name)) for pair in pairwise(argv))


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _steers(letter: str) -> bool:
    """Whether a terminal obeys it, or cannot show it at all."""
    return letter in BIDI or (letter not in "\n\t" and unicodedata.category(letter) in ("Cc", "Cs"))


def special(folder: Path) -> dict[str, int]:
    """What is no regular file below a folder, and what it is instead."""
    found = {}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            kind = stat.S_IFMT((Path(here) / name).lstat().st_mode)
            if kind not in (stat.S_IFREG, stat.S_IFDIR):
                found[os.path.relpath(Path(here) / name, folder)] = kind
    return found


@dataclass(slots=True)
class Case:
    """One input: a random choice of its own, an empty folder, and the commands that are to be run in it.

    number: counts the inputs of a kind. data: the session's sound files. code, stdout: see `Server.run`.
    owned: cseb may replace whatever lies in the folder, such as a cache of its own.
    """

    number: int
    rng: random.Random
    folder: Path
    data: Path
    commands: list[list[str]] = field(default_factory=list)
    code: bool = False
    stdout: str = ""
    owned: bool = False
    notes: list[str] = field(default_factory=list)

    def then(self, *argv: object) -> None:
        """One more command; what no command line can hold is left out of it."""
        self.commands.append([_typeable(str(each)) for each in argv])


def _typeable(text: str) -> str:
    """NUL ends an argument, and of halves of surrogates only those that stand for bytes come from a shell."""
    return "".join(c for c in text.replace("\0", "") if not 0xD800 <= ord(c) <= 0xDFFF or 0xDC80 <= ord(c) <= 0xDCFF)


Check = Callable[[Case, list[Ended]], list[str]]


@dataclass(slots=True)
class Fuzz:
    """Runs generators of cases; `seed` and a number give the same input again."""

    server: Server
    data: Path
    seed: str

    def restore(self) -> None:
        """Make the sound files again as the session made them: commands may write to folders of results."""
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.data.with_name("pristine"), self.data, symlinks=True)

    def run(self, kind: str, count: int, make: Callable[[Case], None], check: Check | None = None) -> None:
        """`count` inputs of a kind; fails with what went wrong in any. check: what else holds for its commands."""
        self.restore()
        wrong: list[str] = []
        only = os.environ.get("CSEB_FUZZ_ONLY", "").removeprefix(f"{kind}:")
        for number in [int(only)] if only.isdigit() else range(count):
            wrong += self._one(kind, number, make, check)
        told = "\n".join(wrong[:SHOWN])
        assert not wrong, f"{len(wrong)} of {count} inputs, seed {self.seed}:\n{told}"

    def _one(self, kind: str, number: int, make: Callable[[Case], None], check: Check | None) -> list[str]:
        folder = self.server.folder / f"{kind}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        case = Case(number, random.Random(f"{kind} {number} {self.seed}"), folder, self.data)
        make(case)
        wrong, all_ended = [], []
        for argv in case.commands:
            before = special(folder)
            ended = self.server.run(folder, argv, code=case.code, stdout=case.stdout)
            all_ended.append(ended)
            found = breaches(ended)
            lost = [] if case.owned else [name for name in before if special(folder).get(name) != before[name]]
            if lost:
                found.append(f"{lost[0]} was a device, pipe or link and is no longer")
            if found:
                wrong.append(_report(kind, number, self.seed, case, ended, found))
        if not wrong and check is not None and (found := check(case, all_ended)):
            wrong.append(_report(kind, number, self.seed, case, all_ended[-1], found))
        if keep := os.environ.get("CSEB_FUZZ_KEEP"):
            with (Path(keep) / f"{kind}.txt").open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.writelines(f"{text}\n\n" for text in wrong)
                log.writelines(
                    f"# {kind} {number} {e.code} {e.seconds:.2f} {e.cpu:.2f} {_typed(e.argv)[:300]}\n"
                    for e in all_ended
                )
        if not os.environ.get("CSEB_FUZZ_ONLY"):
            shutil.rmtree(folder, ignore_errors=True)
        return wrong


def _typed(argv: Sequence[str]) -> str:
    return " ".join(shlex.quote(each) if each.isprintable() else f"$'{_ansi(each)}'" for each in argv)


def _ansi(text: str) -> str:
    return "".join(c if c.isprintable() and c not in "'\\" else "".join(f"\\x{b:02x}" for b in _raw(c)) for c in text)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _report(kind: str, number: int, chosen: str, case: Case, ended: Ended, found: Sequence[str]) -> str:
    said = (ended.errors.strip() or ended.output.strip())[-1200:]
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    lines = [
        f"== {kind} {number}: {'; '.join(found)}",
        f"   again: CSEB_FUZZ_SEED={chosen} CSEB_FUZZ_ONLY={kind}:{number} pytest -m slow {test}",
        f"   in {case.folder}: cseb {_typed(ended.argv)[:1500]}",
        *(f"   {note}" for note in case.notes),
        f"   exit code {ended.code}; {said!r}",
    ]
    return "\n".join(lines)
