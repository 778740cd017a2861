"""Reading of untrusted YAML: bounded in size, depth and alias expansion before any of it is built."""

from __future__ import annotations

from pathlib import Path

import yaml

from cseb.data.bounded import DEPTH, read_bytes, shown
from cseb.errors import BadData

LONGEST = 1 << 17  # bytes; a benchmark has some two thousand
NODES = 20_000  # keys, values and lists, each counted as often as aliases and merges repeat it
DIGITS = 100  # of a number


def read_yaml(path: Path) -> object:
    """Return the content of a YAML file: mappings, lists, texts, numbers. Raises: BadData."""
    content = read_bytes(path, LONGEST)
    try:
        loader = yaml.SafeLoader(content.decode())
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _count(node, 0, {})
            value: object = loader.construct_document(node)
            return value
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        text = " ".join(str(error).split())[:200] or type(error).__name__
        text = "brackets inside brackets" if isinstance(error, RecursionError) else text
        raise BadData(f"{shown(path)}: not readable as YAML: {text}") from None


def _count(node: yaml.Node, depth: int, totals: dict[int, int]) -> int:
    """Return the number of nodes once aliases are followed, each alias counted in full. Raises: ValueError."""
    if depth > DEPTH:
        raise ValueError(f"more than {DEPTH} levels deep, or an alias that contains itself")
    if isinstance(node, yaml.ScalarNode):
        if node.tag.endswith((":int", ":float")) and len(node.value) > DIGITS:
            raise ValueError(f"a number of {len(node.value)} digits")
        return 1
    if id(node) not in totals:
        parts = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,))]
        total = 1
        for part in parts:
            total += _count(part, depth + 1, totals)
            if total > NODES:
                raise ValueError(f"aliases and merges expand to more than {NODES:,} values")
        totals[id(node)] = total
    return totals[id(node)]
