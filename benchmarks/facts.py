"""Write cseb/methods/facts.json: what the built-in parts state of themselves, so that listing them needs no torch.

Run it in the root of the repository after a part has changed: python -m benchmarks.facts
"""

from __future__ import annotations

import json
from types import NoneType
from typing import Any, get_origin

from cseb.methods.part_facts import MISSING, STATED, TABLE, Facts, imported
from cseb.registry import SLOTS


def text() -> str:
    """Return the content of facts.json, read from the classes."""
    names = sorted(name for registry in SLOTS.values() for name in registry.builtin)
    return json.dumps({name: _row(imported(name)) for name in names}, indent=1, ensure_ascii=False) + "\n"


def _row(part: Facts) -> dict[str, Any]:
    """Return what a part states, without what every part has by default."""
    blank = Facts(name="", slot="", where="")
    stated = {name: getattr(part, name) for name in ("text", *STATED) if getattr(part, name) != getattr(blank, name)}
    options = [
        {"name": option.name, "kind": _spelled(option.kind)}
        | ({} if option.default is MISSING else {"default": option.default})
        for option in part.options
    ]
    return stated | ({"options": options} if options else {})


def _spelled(kind: Any) -> str | None:
    """Return the text of a type, as `option_types.from_text` reads it."""
    if kind is None or kind is NoneType:
        return "None" if kind is NoneType else None
    if isinstance(kind, type) and get_origin(kind) is None:
        return kind.__name__
    return repr(kind).replace("typing.", "").replace("collections.abc.", "").replace("NoneType", "None")


if __name__ == "__main__":
    TABLE.write_text("{}\n", encoding="utf-8")  # parts that import each other may ask for facts
    TABLE.write_text(text(), encoding="utf-8")
