"""Which option of which part differs between the methods of a study, read from what their records resolved to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from cseb.analysis.study import Study
from cseb.errors import BadResults, did_you_mean
from cseb.records.method_text import Stated
from cseb.text import plain

Options = Mapping[str, object]  # such as "infonce.temperature" to 0.05


@dataclass(frozen=True, slots=True)
class Varied:
    """option: such as infonce.temperature. values: method as typed to its value, rising. others: what moves with it.

    numbers: method to value where all values are numbers, else empty.
    """

    option: str
    values: Mapping[str, str]
    others: tuple[str, ...]
    numbers: Mapping[str, float]


def varied(study: Study, option: str = "") -> Varied:
    """The one option that differs between the methods at every size, or the one asked for.

    Raises: BadResults when methods differ in parts, in no option, in several without one being asked for, or when two
    of them have the same value.
    """
    held = {method: found for method in study.methods if (found := _by_size(study, method))}
    if not held:
        raise BadResults("these methods have no options; take `table` few-shot")
    first, *rest = held
    for method in rest:
        if set(held[method]) != set(held[first]):
            parts = sorted({name.partition(".")[0] for name in set(held[method]) ^ set(held[first])})
            raise BadResults(
                f"{plain(first)} and {plain(method)} differ in parts ({', '.join(parts)}), not in an option; "
                "choose methods with `methods`, or take `table` ablation"
            )
    differing = [name for name in held[first] if len({repr(found[name]) for found in held.values()}) > 1]
    if option and option not in held[first]:
        raise BadResults(f"these methods have no option {option!r}; {did_you_mean(option, held[first])}")
    if not option and len(differing) != 1:
        what = f"{len(differing)} options ({', '.join(differing)})" if differing else "no option"
        raise BadResults(f"the methods differ in {what}; this table shows one: choose with `option` or `methods`")
    name = option or differing[0]
    raw = {method: found[name] for method, found in held.items()}
    numbers = {
        method: number for method, one in raw.items() if len(one) == 1 and (number := _number(one[0])) is not None
    }
    place = numbers.__getitem__ if len(numbers) == len(raw) else lambda method: 0.0
    values = {method: " / ".join(map(_shown, raw[method])) for method in sorted(raw, key=place)}
    for method, value in values.items():
        twin = next(other for other, same in values.items() if same == value)
        if twin != method:
            raise BadResults(f"{plain(twin)} and {plain(method)} both have {name}={value}; choose with `methods`")
    others = tuple(one for one in differing if one != name)
    return Varied(name, values, others, numbers if len(numbers) == len(raw) else {})


def _by_size(study: Study, method: str) -> dict[str, tuple[object, ...]]:
    """Option to its value at each size that has a record; options may be tuned by the fraction of the corpus."""
    found = [
        options(next(iter(runs.values())).stated()) for size in study.sizes if (runs := study.runs.get((method, size)))
    ]
    names = dict.fromkeys(name for each in found for name in each)
    return {name: tuple(dict.fromkeys(each.get(name) for each in found)) for name in names}


@lru_cache(maxsize=4096)
def options(parts: tuple[Stated, ...]) -> Options:
    """`infonce(temperature=0.05)@1 recipe(steps=50)@2` as {"infonce": 1, "infonce.temperature": 0.05, ...}."""
    found: dict[str, object] = {}
    for one in parts:
        found[one.part.name] = str(one.version)
        found |= {f"{one.part.name}.{name}": value for name, value in one.part.options}
    return found


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _shown(value: object) -> str:
    return plain(f"{value:g}" if isinstance(value, float) else str(value))
