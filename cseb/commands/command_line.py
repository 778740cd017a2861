"""Build a command of the command line from the typed function that Python users call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import typer
from typer.core import TyperCommand

from cseb.commands.screen import say, telling
from cseb.errors import BadBenchmark, CsebError, shortened
from cseb.parameters import Definition, definitions, described, option

R = TypeVar("R")
T = TypeVar("T")
Quiet = Annotated[bool, option("Print nothing but errors and the result.", flag="--quiet,-q")]
Out = Annotated[Path | None, option("File to write instead of the screen.")]


class Command(TyperCommand):
    """Refuse an empty option or argument, such as a variable of a script that nobody has set.

    Without this check, the command would train or show something else than was meant.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line. Raises: BadBenchmark."""
        typed, _, _ = self.make_parser(ctx).parse_args(list(args))
        for param in self.params:
            value = typed.get(param.name or "")
            if value == "" or (isinstance(value, list | tuple) and "" in value):
                hint = "give a value" if param.required else "give a value, or leave it out"
                raise BadBenchmark(f"{param.opts[0]} is empty; {hint}")
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            value = typed.get(error.param.name or "") if error.param else None
            if error.param is None or value is None:  # one is missing
                raise
            kind = "whole number" if "integer" in error.message else "number"
            raise BadBenchmark(f"{error.param.opts[0]} is {shortened(value)}; a {kind} is needed") from None


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A function with the settings that were typed; the others keep their defaults."""

    function: Callable[..., R]
    settings: dict[str, Any]
    quiet: bool = False

    def __call__(self) -> R:
        """Call the function and show its progress on standard error."""
        return self.of(self.function, **self.settings)

    def of(self, function: Callable[..., T], **settings: Any) -> T:
        """Call another function in the same way."""
        with telling(self.quiet):
            return function(**settings)

    def checked(self) -> dict[str, Any]:
        """Return the settings as the function would receive them. Raises: CsebError."""
        defined = definitions(self.function)
        return {
            name: defined[name].parameter.read(name, value, defined[name].kind) for name, value in self.settings.items()
        }


def print_result(call: Call[object]) -> None:
    """Print what the function returns."""
    say(str(call()))


def add(
    app: typer.Typer, function: Callable[..., R], screen: Callable[..., None] = print_result, *, name: str = ""
) -> None:
    """Add a command to the command line.

    function: what Python users call; its parameters are the options. screen: prints the result; it is given the `Call`
    and its own parameters, such as `quiet`. name: of the command, where it is not that of the function.
    """
    settings, shown = definitions(function), definitions(screen, skip=1)
    every = {**settings, **shown}

    def run(**values: Any) -> None:
        typed = {key: value for key, value in values.items() if value != _default(every[key])}
        own = {key: value for key, value in typed.items() if key in settings}
        try:
            presentation = {
                key: each.parameter.read(key, typed[key], each.kind) for key, each in shown.items() if key in typed
            }
            screen(Call(function, own, bool(typed.get("quiet"))), **presentation)
        except CsebError as error:
            raise CsebError(as_typed(str(error), every)) from error

    run.__signature__ = inspect.Signature([_parameter(each, every) for each in every.values()])  # type: ignore[attr-defined]
    run.__doc__ = as_typed(described(function), every)
    app.command(name=name or function.__name__, cls=Command)(run)


def as_typed(message: str, defined: Mapping[str, Definition]) -> str:
    """Return a message of the library with `checkpoint` as `--checkpoint`, the way it is typed."""

    def typed(match: re.Match[str]) -> str:
        return defined[match[1]].typed.partition(",")[0] if match[1] in defined else match[0]

    return re.sub(r"`([a-z_]+)`", typed, message)


def _default(defined: Definition) -> Any:
    """Return the default on the command line, where the text "" stands for an empty list."""
    if defined.default is inspect.Parameter.empty:
        return ...
    if defined.kind is list:
        return None
    return "" if defined.default == () else defined.default


def _annotation(defined: Definition, every: Mapping[str, Definition]) -> Any:
    parameter, kind = defined.parameter, defined.kind
    choices = f" One of {', '.join(parameter.choices)}." if parameter.choices else ""
    details: dict[str, Any] = {
        "help": as_typed(f"{parameter.help}{choices}", every),
        "envvar": parameter.envvar or None,
    }
    read: Any = list[str] if kind is list else str if kind is object else kind
    if defined.default is None or (kind is list and defined.default == ()):
        read |= None
    if parameter.metavar:
        details["metavar"] = parameter.metavar
    if parameter.argument:
        return Annotated[read, typer.Argument(**details)]
    return Annotated[read, typer.Option(*defined.typed.split(","), **details)]


def _parameter(defined: Definition, every: Mapping[str, Definition]) -> inspect.Parameter:
    default = _default(defined)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        defined.name,
        kind,
        annotation=_annotation(defined, every),
        default=inspect.Parameter.empty if default is ... else default,
    )
