"""A command as `cseb` has them: what is given on its line says something."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from cseb.errors import BadBenchmark


class Command(TyperCommand):
    """Refuses an option or argument that is empty, as a variable of a script is that nobody has set.

    Taken as not given, it would train or show something else than was meant, and as a folder it would be this one.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line. Raises: BadBenchmark."""
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        for param in self.params:
            value = given.get(param.name or "")
            if value == "" or (isinstance(value, list | tuple) and "" in value):
                hint = "give a value" if param.required else "give a value, or leave it out"
                raise BadBenchmark(f"{param.opts[0]} is empty; {hint}")
        return super().parse_args(ctx, args)
