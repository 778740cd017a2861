"""Names that other installed packages put under "cseb.<kind>". Their metadata is read, their code is not."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass

GROUP = "cseb."  # how the groups of entry points begin


@dataclass(frozen=True, slots=True)
class Offer:
    """A name that another package puts under "cseb.<kind>". fault: why it cannot be used, "" if it can."""

    kind: str
    name: str
    value: str  # module:attribute
    package: str
    release: str
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.package} {self.release} is left out: {self.fault}"


def offers() -> Iterable[Offer]:
    """Return every name that installed packages offer."""
    from importlib.metadata import distributions  # a fifth of what `registry` takes to load

    found: dict[tuple[str, str, str], Offer] = {}
    for package in distributions():
        for point in package.entry_points:
            if point.group.startswith(GROUP):
                kind = point.group.removeprefix(GROUP)
                offer = Offer(kind, point.name, point.value, package.name, package.version)
                found.setdefault((kind, point.name, package.name), offer)  # the first on the path is the one imported
    return found.values()


def unspeakable(offer: Offer) -> str:
    """Return why the grammar cannot read a name; "" if it can."""
    if offer.kind == "task":
        return "" if re.fullmatch("[A-Za-z0-9_-]+", offer.name) else "a name is of letters, digits, _ and -"
    pieces = offer.name.split("-") if offer.kind in ("method", "launcher") else [offer.name]
    if not all(piece.isascii() and piece.isidentifier() and not keyword.iskeyword(piece) for piece in pieces):
        plain = re.sub("[^A-Za-z0-9_]+", "_", offer.name)
        such = plain if plain[:1].isalpha() else f"my_{plain}"
        return f"a spec cannot name it; letters, digits and _ are needed, a letter first, such as {such}"
    return ""
