"""The plug-in with the tasks `toy-*` is importable."""

import tests.world  # noqa: F401
