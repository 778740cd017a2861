"""What a command says on standard error, apart from how far it is: a slow machine adds such a line every 30 seconds."""

from __future__ import annotations

import re

TIME = r"[\d.,]+ (s|min|h)"
WORK = rf".*\b{TIME} so far(, about {TIME} left)?"  # as `cseb.commands.waiting.Work.line` has it
GRID = rf"\d+ of \d+ done(, \d+ failed)?(; about {TIME} left, until \d\d:\d\d)?"  # as `cseb.commands.progress` has it
PROGRESS = re.compile(rf"cseb: ({WORK}|{GRID})")


def without_progress(stderr: str) -> list[str]:
    """Lines of standard error without those of progress."""
    return [line for line in stderr.splitlines() if not PROGRESS.fullmatch(line)]
