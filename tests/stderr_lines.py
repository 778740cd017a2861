"""Standard error without progress, which a slow machine adds, and without a remark on small vocabularies of tests."""

import re

TIME = r"[\d.,]+ (s|min|h)"
WORK = rf".*\b{TIME} so far(, about {TIME} left)?"  # as `cseb.commands.screen.Work.line` has it
GRID = rf"\d+ of \d+ done(, \d+ failed)?(; about {TIME} left, until \d\d:\d\d)?"  # as `cseb.commands.progress` has it
VOCABULARY = "the encoder's vocabulary does not fit the texts"
PROGRESS = re.compile(rf"cseb: ({WORK}|{GRID})")


def without_progress(stderr: str) -> list[str]:
    """Return the lines of standard error without progress and without the remark on the vocabulary."""
    return [line for line in stderr.splitlines() if not PROGRESS.fullmatch(line) and VOCABULARY not in line]
