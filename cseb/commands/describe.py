"""List what is available and describe methods and parts, as plain text and without torch."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping

from cseb.data import shipped
from cseb.errors import CsebError, UnknownName
from cseb.methods.grammar import parse_method
from cseb.methods.not_offered import NOT_OFFERED
from cseb.methods.part_facts import Facts, Option, facts
from cseb.methods.spec import SEVERAL, Method, Part, method_named, preset
from cseb.papers.printed import Printed
from cseb.papers.scores import own_rows
from cseb.registry import METHODS, PRESETS, SLOTS, TASK_GROUPS, TASKS, is_part, slot_of
from cseb.reports.text_table import aligned
from cseb.text import percent

Row = tuple[str, str]


def listing(kind: str) -> list[Row]:
    """(name, what it is) for every name of a kind that `LISTINGS` knows. Raises: UnknownName."""
    if kind not in LISTINGS:
        raise UnknownName("list", kind, LISTINGS)
    return LISTINGS[kind]()


def show(text: str) -> str:
    """A method in full: its source, every option of every part, where it deviates from the paper, published numbers.

    text: a spec, such as micse or simcse+ami. Raises: BadSpec, UnknownName.
    """
    name = text.strip()
    if name not in METHODS and is_part(name):
        return show_part(name)
    method = parse_method(text)
    settled = method.at(1.0)
    settled.check()
    seen = ", ".join(settled.data_seen()) or "nothing is trained"
    blocks = [
        [str(method), f"  {method.source}"],
        ["data seen", f"  {seen}"],
        ["parts", *(f"  {line}" for line in aligned(_slots(settled)))],
        _tuned(method),
        ["deviates from the paper", *(f"  - {line}" for line in method.deviations)] if method.deviations else [],
        _published(str(method)),
    ]
    shown = "\n\n".join("\n".join(block) for block in blocks if block)
    return f"{shown}\n\n{show_part(name)}" if is_part(name) else shown  # cls is a method, and a pooler


def show_part(name: str) -> str:
    """A part in full: what it does and where that is from, its options, what it reads, where its code is.

    name: of a part, or of a preset such as moco. Raises: BadSpec, UnknownName.
    """
    meant = preset(name)
    known = facts(meant.name)
    values = dict(meant.options)
    alias = f", options of {meant.name}" if name != meant.name else ""
    rows = [
        ("option", "value", "allowed"),
        *((one.name, _value(values, one), one.description or "see above") for one in known.options),
    ]
    seen = known.data_seen or "subset"
    about = [
        ("version", str(known.version)),
        ("data seen", seen + "".join(f"; with {key}={value} the subset alone" for key, value in known.own.items())),
        ("reads", ", ".join(f"{key} ({kind})" for key, kind in known.external.items()) or "nothing else"),
        *(
            [("corpus", f"{' or '.join(map(str, known.columns))} texts a line, joined by TABs{_named(known)}")]
            if known.columns
            else []
        ),
        *([("needs", known.requires)] if known.requires else []),
        ("source", known.source or "not stated"),
        ("code", f"{known.where}, {_brought_by(known)}"),
    ]
    blocks = [
        [f"{name}: a part for the slot {known.slot}{alias}", *(f"  {line}" for line in known.text.splitlines())],
        ["options", *(f"  {line}" for line in aligned(rows))] if known.options else ["no options"],
        ["about", *(f"  {line}" for line in aligned(about))],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks)


def _named(known: Facts) -> str:
    return f", or the columns {', '.join(known.roles)}" if known.roles else ""


def _value(values: Mapping[str, object], option: Option) -> str:
    return repr(values[option.name]) if option.name in values else "to be given"


def _brought_by(known: Facts) -> str:
    return f"of {known.package} {known.release}" if known.third_party else "of cseb"


def folded(text: str) -> str:
    """Wrap long lines to the width of the terminal, indented to where their last column starts."""
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
    """What runs, then what the papers' tables have besides and why it does not."""
    return [
        *((name, _source(name)) for name in METHODS),
        *((name, f"does not run: {reason}") for name, reason in NOT_OFFERED.items()),
    ]


def _source(name: str) -> str:
    """Of another package's method that cannot be loaded: why."""
    try:
        return method_named(name).source
    except CsebError as error:
        return f"cannot be used: {error}"


def _parts() -> list[Row]:
    """What `+name` puts in, by slot."""
    parts = [(name, f"{slot}: {_with_options(name)}") for slot in SLOTS for name in SLOTS[slot]]
    return parts + [(name, f"{slot_of(PRESETS[name].name)}: {PRESETS[name]}") for name in PRESETS]


def _with_options(name: str) -> str:
    """A part with what its class presets, as far as the source text of another package's tells it."""
    try:
        known = facts(name)
    except CsebError as error:
        return f"cannot be used: {error}"
    return f"{Part(name, known.defaults())}{f' of {known.package} {known.release}' if known.third_party else ''}"


def _tasks() -> list[Row]:
    grouped = {name: group for group, names in TASK_GROUPS.items() for name in names}
    groups = [(group, f"the tasks {', '.join(names)}") for group, names in TASK_GROUPS.items()]
    known = [(name, f"in {grouped[name]}" if name in grouped else "in no group") for name in TASKS]
    return groups + known + [("FILE[:KIND]", "a .csv, .tsv, .json or .jsonl of your own; its columns tell the kind")]


def _encoders() -> list[Row]:
    return [
        *((name, one.what) for name, one in shipped.ENCODERS.items()),
        ("FOLDER", "config.json, tokenizer files and *.safetensors, as save_pretrained writes them"),
        ("static:SOURCE", "a table of token vectors: glove:6b-50d, glove:FILE, random-WIDTH:ENCODER or ENCODER"),
        ("bidirectional:ENCODER", "a decoder without its causal mask: every token attends to both sides"),
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
    """Options that a paper sets by the fraction of the corpus."""
    lines = [f"  up to {percent(bound)}: {', '.join(map(str, parts))}" for bound, parts in method.per_fraction]
    return ["options by fraction of the corpus", *lines] if lines else []


def _published(name: str) -> list[str]:
    """Averages that papers report for this method in exactly this form, each with its table."""
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
    return "untrained" if row.fraction is None else percent(row.fraction)
