"""Reading of untrusted YAML: bounded in size, and without aliases, which can expand without bound."""

from __future__ import annotations

from pathlib import Path

import yaml

from cseb.data.bounded import read_bytes, shown
from cseb.errors import BadData

LONGEST = 1 << 17  # bytes; a benchmark has some two thousand


class _Loader(yaml.SafeLoader):
    """A loader that refuses aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed; write the value again")
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> object:
    """Return the content of a YAML file: mappings, lists, texts, numbers. Raises: BadData."""
    try:
        return yaml.load(read_bytes(path, LONGEST).decode(), _Loader)  # noqa: S506 (it is a safe loader)
    except RecursionError:
        raise BadData(f"{shown(path)}: not readable as YAML: brackets inside brackets") from None
    except (yaml.YAMLError, ValueError, OverflowError, TypeError, AttributeError) as error:
        text = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadData(f"{shown(path)}: not readable as YAML: {text}") from None
