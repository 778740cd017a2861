"""The option of a part that differs between the methods of a study, read from the method texts of the records."""

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
class VariedOption:
    """An option and its value in each method.

    option: such as infonce.temperature. values: shown value by method, rising. others: options that differ too.
    numbers: value by method where all values are numbers, else empty.
    """

    option: str
    values: Mapping[str, str]
    others: tuple[str, ...]
    numbers: Mapping[str, float]


def varied(study: Study, option: str = "") -> VariedOption:
    """Return the one option that differs between the methods at every size, or `option`.

    Raises: BadResults if methods differ in parts, in no option, in several without one being named, or if two of them
    have the same value.
    """
    by_method = {method: values for method in study.methods if (values := _by_size(study, method))}
    if not by_method:
        raise BadResults("these methods have no options; take `table` few-shot")
    first, *rest = by_method
    for method in rest:
        if parts := sorted({name.partition(".")[0] for name in set(by_method[method]) ^ set(by_method[first])}):
            raise BadResults(
                f"{plain(first)} and {plain(method)} differ in parts ({', '.join(parts)}), not in an option; "
                "choose methods with `methods`, or take `table` ablation"
            )
    differing = [name for name in by_method[first] if len({repr(values[name]) for values in by_method.values()}) > 1]
    if option and option not in by_method[first]:
        raise BadResults(f"these methods have no option {option!r}; {did_you_mean(option, by_method[first])}")
    if not option and len(differing) != 1:
        names = f"{len(differing)} options ({', '.join(differing)})" if differing else "no option"
        raise BadResults(
            f"the methods differ in {names}; this table shows one: choose with sensitivity:PART.OPTION or `methods`"
        )
    name = option or differing[0]
    raw = {method: values[name] for method, values in by_method.items()}
    numbers = {method: number for method, values in raw.items() if (number := _number(values)) is not None}
    numbers = numbers if len(numbers) == len(raw) else {}
    shown = {
        method: plain(" / ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in raw[method]))
        for method in sorted(raw, key=lambda key: numbers.get(key, 0.0))
    }
    for method, value in shown.items():
        twin = next(other for other, same in shown.items() if same == value)
        if twin != method:
            raise BadResults(f"{plain(twin)} and {plain(method)} both have {name}={value}; choose with `methods`")
    return VariedOption(name, shown, tuple(other for other in differing if other != name), numbers)


def _by_size(study: Study, method: str) -> dict[str, tuple[object, ...]]:
    """Return the values of each option at the sizes that have a record; options may be tuned by the size."""
    sizes = [
        options(next(iter(runs.values())).parts) for size in study.sizes if (runs := study.runs.get((method, size)))
    ]
    names = dict.fromkeys(name for each in sizes for name in each)
    return {name: tuple(dict.fromkeys(each.get(name) for each in sizes)) for name in names}


@lru_cache(maxsize=4096)
def options(parts: tuple[Stated, ...]) -> Options:
    """Return `infonce(temperature=0.05)@1 recipe(steps=50)@2` as {"infonce": 1, "infonce.temperature": 0.05, ...}."""
    values: dict[str, object] = {}
    for part in parts:
        values[part.part.name] = str(part.version)
        values |= {f"{part.part.name}.{name}": value for name, value in part.part.options}
    return values


def _number(values: tuple[object, ...]) -> float | None:
    value = values[0]
    return float(value) if len(values) == 1 and isinstance(value, int | float) and not isinstance(value, bool) else None
