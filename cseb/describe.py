"""What there is, and what a method is made of, as plain text. Works without torch, and without anything slow."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence

from cseb.data import shipped
from cseb.errors import UnknownName
from cseb.registry import METHODS, PRESETS, SLOTS, TASK_GROUPS, TASKS, slot_of
from cseb.results.published import Printed, own_rows
from cseb.spec import SEVERAL, Method, Part, parse_method

Row = tuple[str, str]


def listing(kind: str) -> list[Row]:
    """(name, what it is) for every name of a kind that `LISTINGS` knows. Raises: UnknownName."""
    if kind not in LISTINGS:
        raise UnknownName("list", kind, LISTINGS)
    return LISTINGS[kind]()


def show(text: str) -> str:
    """A method in full: its source, every option of every part, where it departs from the paper, printed numbers.

    text: a spec, such as micse or simcse+ami. Raises: BadSpec, UnknownName.
    """
    method = parse_method(text)
    settled = method.at(1.0)
    seen = ", ".join(settled.data_seen()) or "nothing is trained"
    blocks = [
        [str(method), f"  {method.source}"],
        ["data seen", f"  {seen}"],
        ["parts", *(f"  {line}" for line in aligned(_slots(settled)))],
        _tuned(method),
        ["departs from the paper", *(f"  - {line}" for line in method.deviations)] if method.deviations else [],
        _published(str(method)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of cells as lines whose columns start below each other."""
    held = list(rows)
    widths = [max(map(len, column)) for column in zip(*held, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in held]


def folded(text: str) -> str:
    """Long lines folded to the width of the terminal, their rest indented below where their last column starts."""
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=" " * _hang(line), break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )


def _hang(line: str) -> int:
    """Where the text of a list item, or behind the last gap of two or more spaces, starts."""
    if line.lstrip().startswith("- "):
        return line.index("- ") + 2
    return len(line) - len(line.rsplit("  ", 1)[-1].lstrip()) if "  " in line else 0


def _methods() -> list[Row]:
    return [(name, METHODS[name].source) for name in METHODS]


def _parts() -> list[Row]:
    """Presets first: what `+name` puts in. A part without one has the defaults of its own package."""
    presets = [(name, f"{slot_of(PRESETS[name].name)}: {PRESETS[name]}") for name in PRESETS]
    others = [(name, f"{slot}: options of its own package") for slot in SLOTS for name in SLOTS[slot]]
    return presets + [row for row in others if row[0] not in PRESETS]


def _tasks() -> list[Row]:
    grouped = {name: group for group, names in TASK_GROUPS.items() for name in names}
    groups = [(group, f"the tasks {', '.join(names)}") for group, names in TASK_GROUPS.items()]
    known = [(name, f"in {grouped[name]}" if name in grouped else "in no group") for name in TASKS]
    return groups + known + [("FILE[:KIND]", "a .csv, .tsv, .json or .jsonl of your own; its columns tell the kind")]


def _encoders() -> list[Row]:
    return [
        ("microworld", "the embedded tiny encoder, for trying cseb out; needs no network"),
        ("FOLDER", "config.json, tokenizer files and *.safetensors, as save_pretrained writes them"),
        ("ORG/NAME[@REVISION]", "from the Hugging Face hub or its cache, such as bert-base-uncased"),
    ]


def _benchmarks() -> list[Row]:
    """Read without the checks of `benchmark.load`, which would load pydantic."""
    import yaml

    folder = shipped.benchmarks()
    held = {name: yaml.safe_load((folder / f"{name}.yaml").read_text("utf-8")) for name in shipped.benchmark_names()}
    return [(name, str(fields.get("description", ""))) for name, fields in held.items()]


LISTINGS: dict[str, Callable[[], list[Row]]] = {
    "methods": _methods,
    "parts": _parts,
    "tasks": _tasks,
    "encoders": _encoders,
    "benchmarks": _benchmarks,
}


def _slots(method: Method) -> list[Row]:
    rows: list[Row] = []
    for slot in SLOTS:
        held: tuple[Part, ...] = getattr(method, slot) if slot in SEVERAL else (getattr(method, slot),)
        rows += [(slot, str(part) if part else "none") for part in held or (None,)]
    return rows


def _tuned(method: Method) -> list[str]:
    """Options that a paper sets by the share of the corpus."""
    lines = [f"  up to {100 * bound:g} %: {', '.join(map(str, parts))}" for bound, parts in method.per_fraction]
    return ["options by share of the corpus", *lines] if lines else []


def _published(name: str) -> list[str]:
    """Averages that papers print for this method in this very form, each with its table."""
    averages = [row for row in own_rows(name) if row.task.endswith("-avg")]
    lines = aligned(
        (
            row.encoder,
            _share(row),
            row.task,
            row.text + (f" +- {row.std_text} (n={row.n_seeds})" if row.std_text else ""),
            row.where + (f" [{row.flag}]" if row.flag else ""),
        )
        for row in averages
    )
    return ["published", *(f"  {line}" for line in lines)] if lines else []


def _share(row: Printed) -> str:
    """What the printed number was trained on."""
    if row.setting == "supervised":
        return "NLI"
    return "untrained" if row.fraction is None else f"{100 * row.fraction:g} %"
