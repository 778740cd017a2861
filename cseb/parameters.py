"""Define the parameters of commands: type, default, help text and allowed values of each, once.

A command is a typed function. Python calls it, `cseb.commands.command_line` builds its options from the signature, and
the documentation lists its parameters. Settings that a benchmark file has too are defined here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args, get_origin

from cseb.errors import BadBenchmark, BadSpec, number, one_of, shortened, whole

P = ParamSpec("P")
R = TypeVar("R")
MOST = 10**9  # of a count, such as sentences or steps
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Examples|Yields):$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """The definition of a parameter besides its type and default."""

    help: str  # what the parameter does, with its unit and an example
    choices: tuple[str, ...] = ()  # the allowed values; () for any
    least: int = 0  # the smallest allowed number
    most: int = MOST  # the largest allowed number
    numbers: type[int] | type[float] | None = None  # the type of a list of numbers with commas between them
    flag: str = ""  # the name on the command line, where it is not that of the parameter
    metavar: str = ""  # the word that stands for a value in `--help`
    envvar: str = ""  # the environment variable that gives the default
    argument: bool = False  # whether the command line takes it by position

    def read(self, name: str, value: Any, kind: type) -> Any:
        """Return the value as the command needs it. Raises: BadBenchmark, BadSpec."""
        what = f"`{name}`"
        if self.numbers is not None:
            return numbers(value, self.numbers, name)
        if self.choices:
            return one_of(("", *self.choices), value, what)
        if kind is bool and not isinstance(value, bool):
            raise BadSpec(f"{what} is {shortened(value)}; True or False is needed")
        if kind is int:
            if (count := whole(self.least, value, what)) > self.most:
                raise BadSpec(f"{what} is {shortened(value)}; it must be at most {self.most}")
            return count
        if kind is float:
            return number(value, what)
        if kind is str and not isinstance(value, str | Path):
            raise BadSpec(f"{what} is {shortened(value)}; text is needed")
        return str(value) if kind is str else value


def option(help: str, **details: Any) -> Parameter:
    """Return a parameter that the command line takes as `--name`."""
    return Parameter(help, **details)


def argument(help: str, **details: Any) -> Parameter:
    """Return a parameter that the command line takes by position."""
    return Parameter(help, argument=True, **details)


def numbers(given: str | float | Iterable[float], kind: type[int] | type[float], name: str) -> tuple[Any, ...]:
    """Return fractions (float) or counts (int) of one or several numbers, or text with commas. Raises: BadBenchmark."""
    such = "0.001,0.01, where 0.001 is 0.1 %" if kind is float else "100,1000, without commas inside a number"
    if isinstance(given, str):
        pieces: list[Any] = [piece.strip() for piece in given.split(",") if piece.strip()]
    else:
        pieces = list(given) if isinstance(given, Iterable) else [given]
    values: list[Any] = []
    for piece in pieces:
        try:
            values.append(kind(piece.replace("_", "") if isinstance(piece, str) else piece))
        except (TypeError, ValueError, OverflowError):
            continue
    grouped = kind is int and any(isinstance(piece, str) and re.fullmatch("0[0-9]*", piece) for piece in pieces)
    changed = any(not isinstance(piece, str) and piece != value for piece, value in zip(pieces, values, strict=False))
    outside = any(not 0 < value <= (1 if kind is float else MOST) for value in values)
    if grouped or changed or outside or len(values) < len(pieces):
        needed = "fractions in (0, 1]" if kind is float else "numbers of sentences"
        raise BadBenchmark(f"`{name}` is {shortened(given)}; {needed} with commas between are needed, such as {such}")
    return tuple(values)


def sizes_and_fractions(given: str | float | Iterable[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return numbers of sentences and fractions in a list of training set sizes: `100,0.01`. Raises: BadBenchmark."""
    values = given.split(",") if isinstance(given, str) else given if isinstance(given, Iterable) else [given]
    texts = [str(value) for value in values]
    fractions = [text for text in texts if "." in text or "e-" in text]
    counts = [text for text in texts if text not in fractions]
    return numbers(",".join(counts), int, "sizes"), numbers(",".join(fractions), float, "sizes")


@dataclass(frozen=True, slots=True)
class Definition:
    """A parameter of a command. kind: bool, int, float, str, Path or list, which the command line reads."""

    name: str
    parameter: Parameter
    kind: type
    default: Any
    annotation: Any

    @property
    def typed(self) -> str:
        """Return the name on the command line, such as `--data-dir`."""
        parameter = self.parameter
        return self.name.upper() if parameter.argument else parameter.flag or f"--{self.name.replace('_', '-')}"


def definitions(function: Callable[..., object], skip: int = 0) -> dict[str, Definition]:
    """Return the parameters that a signature defines by `option` or `argument`, by name, without the first `skip`.

    Their annotations are evaluated, so their types are imported where the function is written.
    """
    found: dict[str, Definition] = {}
    written = inspect.unwrap(function)
    for name, each in list(inspect.signature(written).parameters.items())[skip:]:
        annotation = each.annotation
        if isinstance(annotation, str):
            annotation = eval(annotation, written.__globals__)  # noqa: S307 (our own source text)
        metadata = [item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, Parameter)]
        if metadata:
            kind = _kind(annotation.__origin__)
            found[name] = Definition(name, metadata[0], kind, each.default, annotation.__origin__)
    return found


def _kind(annotation: Any) -> type:
    """Return the type that the command line reads: the only plain type of a union, else text."""
    kinds: list[type] = [kind for kind in (get_args(annotation) or (annotation,)) if kind is not type(None)]
    if get_origin(annotation) is list or any(get_origin(kind) is list for kind in kinds):
        return list
    if len(kinds) == 1 and kinds[0] in (bool, int, float, Path):
        return kinds[0]
    return str if kinds == [str] else object


def command(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a command by the definitions in its signature, and write them into its docstring."""
    signature, defined = inspect.signature(function), definitions(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs)
        for name, value in given.arguments.items():
            if name in defined and value is not defined[name].default:
                given.arguments[name] = defined[name].parameter.read(name, value, defined[name].kind)
        return function(*given.args, **given.kwargs)

    checked.__doc__ = _with_arguments(inspect.cleandoc(function.__doc__ or ""), defined)
    checked.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            each.replace(annotation=defined[name].annotation) if name in defined else each
            for name, each in signature.parameters.items()
        ]
    )
    return checked


def described(function: Callable[..., object]) -> str:
    """Return what the docstring of a command says before its sections."""
    return SECTION.split(inspect.getdoc(function) or "", maxsplit=1)[0].strip()


def _with_arguments(text: str, defined: Mapping[str, Definition]) -> str:
    lines = [f"    {name}: {each.parameter.help}{_allowed(each.parameter)}" for name, each in defined.items()]
    before = SECTION.split(text, maxsplit=1)[0].rstrip()
    return "\n".join([before, "", "Args:", *lines, "", text[len(before) :].lstrip()]).rstrip()


def _allowed(parameter: Parameter) -> str:
    return f" One of {', '.join(map(repr, parameter.choices))}." if parameter.choices else ""


# ---- settings of a run, which a benchmark file has too ----
BENCHMARK = argument("A benchmark: a YAML file, or a name that `cseb show benchmarks` lists.")
METHODS = option("Methods, such as simcse,micse+recipe(steps=500). Quote the list in a shell.")
ENCODER = option("Encoder to start from: a folder, a hub name, cseb-tiny or cseb-mini.")
CORPUS_HELP = "Training sentences: a file, wikipedia, data:FILE or hub:OWNER/NAME/FILE."
CORPUS = option(CORPUS_HELP)
COLUMN = option("Column of a table's sentences, or several: anchor=title,positive=body.")
DATA_DIR = option("Folder of task and corpus files in SentEval's layout.", envvar="CSEB_DATA_DIR")
TASKS = option("Tasks or groups of tasks, such as sts or stsb,sickr, or a file of your own.")
DEV = option("Dev set, a task or a file, that selects the best checkpoint; none for no selection.")
FRACTIONS = option("Fractions of the corpus in (0, 1], such as 0.001,0.01.", numbers=float)
SIZES = option("Numbers of training sentences, such as 100,1000, in place of fractions.", numbers=int)
SEEDS = option("Number of seeds, counted from 0.", least=1, most=10_000)
TUNE = option("Tune options of every method on the dev set before the run; by default the learning rate.")
STEPS = option("Optimiser steps of every method that trains, in place of the method's own.")

# ---- arithmetic, which decides the last bits ----
DEVICE = option("Device.", choices=("auto", "cpu", "cuda"))
THREADS = option("CPU threads of each job. The last bits of scores depend on it.", least=1, most=1024)
LINEAR = option("Library of linear layers on a CPU; auto takes the faster one.", choices=("auto", "blas", "onednn"))
DETERMINISTIC = option("Use only deterministic algorithms on a GPU: slower, and a repeated job gives the same bits.")
TRUST_REMOTE_CODE = option("Run Python code that comes with the encoder.")

# ---- choices of records to read ----
RESULTS = argument("Folder of records.")
CHECKPOINT_HELP = "Checkpoint: best on the dev set, or last. By default best where there is a dev set."
SHOW_METHODS = option("Methods to show, in this order.")
SHOW_SIZES = option("Training set sizes to show: sentences such as 100,1000, or fractions of the corpus such as 0.01.")
SHOW_TASKS = option("Tasks or groups of tasks to show or average, in this order.")
WORKERS = option("Jobs at a time; auto is one for each core or GPU.")
# `FORMATS` has the allowed values; it is not imported here, so that `--help` stays fast.
FORMAT = option("Output format: terminal, markdown, latex, csv or json.", flag="--format,-f")
LEARNING_CURVE = option("Also show learning curves: the gain from larger training sets.")
MIXED = option("Let one table mix devices, versions and task lists.")
