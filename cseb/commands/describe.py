"""List what is available and describe methods and parts, as plain text and without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cseb.data import shipped
from cseb.errors import CsebError
from cseb.methods.grammar import NOT_OFFERED, parse_method
from cseb.methods.part_facts import facts, is_part, slot_of
from cseb.methods.spec import SEVERAL, Method, Part, method_named, preset
from cseb.papers.scores import own_rows
from cseb.registry import METHODS, PRESETS, SLOTS, TASK_GROUPS, TASKS
from cseb.text import aligned, percent

Row = tuple[str, str]

# What `cseb show tasks` says of tasks that share their data with a task of mteb and not its protocol.
MTEB_NAMESAKES: Mapping[str, str] = {
    **{name: f"; mteb:{name.upper()} has the raw texts" for name in ("sts12", "sts13", "sts14", "sts15", "sts16")},
    "stsb": "; mteb:STSBenchmark has the raw texts",
    "sickr": "; mteb:SICK-R has the raw texts",
    "banking77": "; mteb:Banking77Classification is another protocol",
}


def show(text: str) -> str:
    """Describe a method: source, parts, deviations from the paper, published numbers. Raises: BadSpec, UnknownName."""
    name = text.strip()
    if name not in METHODS and is_part(name):
        return show_part(name)
    method = parse_method(text)
    resolved = method.at(1.0)
    seen = ", ".join(resolved.data_seen()) or "nothing is trained"
    blocks = [
        [str(method), f"  {method.source}"],
        ["data seen", f"  {seen}"],
        ["parts", *(f"  {line}" for line in aligned(_slots(resolved)))],
        _tuned(method),
        ["deviates from the paper", *(f"  - {line}" for line in method.deviations)] if method.deviations else [],
        _published(str(method)),
    ]
    shown = "\n\n".join("\n".join(block) for block in blocks if block)
    return f"{shown}\n\n{show_part(name)}" if is_part(name) else shown  # cls is a method, and a pooler


def show_part(name: str) -> str:
    """Describe a part or preset: its options, what it reads, where its code is. Raises: BadSpec, UnknownName."""
    part = preset(name)
    fact, values = facts(part.name), dict(part.options)
    alias = f", options of {part.name}" if name != part.name else ""
    rows = [("option", "value", "allowed")]
    for option in fact.options:
        value = repr(values[option.name]) if option.name in values else "to be given"
        rows.append((option.name, value, option.description or "see above"))
    own = "".join(f"; with {key}={value} the subset alone" for key, value in fact.own.items())
    roles = f", or the columns {', '.join(fact.roles)}" if fact.roles else ""
    package = f"of {fact.package} {fact.release}" if fact.third_party else "of cseb"
    about = [
        ("version", str(fact.version)),
        ("data seen", f"{fact.data_seen or 'subset'}{own}"),
        ("reads", ", ".join(f"{key} ({kind})" for key, kind in fact.external.items()) or "nothing else"),
        ("corpus", fact.columns and f"{' or '.join(map(str, fact.columns))} texts a line, joined by TABs{roles}"),
        ("needs", fact.requires),
        ("language", _english(fact.english)),
        ("source", fact.source or "not stated"),
        ("code", f"{fact.where}, {package}"),
    ]
    blocks = [
        [f"{name}: a part for the slot {fact.slot}{alias}", *(f"  {line}" for line in fact.text.splitlines())],
        ["options", *(f"  {line}" for line in aligned(rows))] if fact.options else ["no options"],
        ["about", *(f"  {line}" for line in aligned([(key, str(text)) for key, text in about if text]))],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks)


def _english(options: Mapping[str, Sequence[object]] | None) -> str:
    """Return in words for which options a part works for English only, "" if for none."""
    if options is None:
        return ""
    return "English only" + "".join(f", if {key} is {' or '.join(map(str, values))}" for key, values in options.items())


def _methods() -> list[Row]:
    """Return the methods that run, then those of the papers' tables that do not, with the reason."""
    return [
        *((name, _or_reason(lambda name=name: method_named(name).source)) for name in METHODS),  # type: ignore[misc]
        *((name, f"does not run: {reason}") for name, reason in NOT_OFFERED.items()),
    ]


def _or_reason(text: Callable[[], str]) -> str:
    """Return the text, or why another package's method or part cannot be loaded."""
    try:
        return text()
    except CsebError as error:
        return f"cannot be used: {error}"


def _parts() -> list[Row]:
    """Return what `+name` adds, by slot."""
    parts = [
        (name, f"{slot}: {_or_reason(lambda name=name: _with_options(name))}")  # type: ignore[misc]
        for slot in SLOTS
        for name in SLOTS[slot]
    ]
    return parts + [(name, f"{slot_of(PRESETS[name].name)}: {PRESETS[name]}") for name in PRESETS]


def _with_options(name: str) -> str:
    fact = facts(name)
    return f"{Part(name, fact.defaults())}{f' of {fact.package} {fact.release}' if fact.third_party else ''}"


def _tasks() -> list[Row]:
    group_of = {name: group for group, names in TASK_GROUPS.items() for name in names}
    return [
        *((group, f"the tasks {', '.join(names)}") for group, names in TASK_GROUPS.items()),
        *(
            (name, (f"in {group_of[name]}" if name in group_of else "in no group") + MTEB_NAMESAKES.get(name, ""))
            for name in TASKS
        ),
        ("shotsK:NAME", "a classification task with K labelled examples of each class, such as shots8:banking77"),
        ("setfitK:NAME", "the same after SetFit, which fine-tunes the encoder on these examples: setfit8:banking77"),
        ("firstD:NAME", "a task on the first D numbers of every vector, such as first64:stsb"),
        ("FILE[:KIND]", "a table of your own (.csv, .tsv, .json, .jsonl, .parquet); its columns tell the kind"),
    ]


def _encoders() -> list[Row]:
    return [
        *((name, encoder.what) for name, encoder in shipped.ENCODERS.items()),
        ("FOLDER", "config.json, tokenizer files and *.safetensors, as save_pretrained writes them"),
        ("bidirectional:ENCODER", "a decoder without its causal mask: every token attends to both sides"),
        ("ORG/NAME[@REVISION]", "from the Hugging Face hub or its cache, such as bert-base-uncased"),
    ]


def _benchmarks() -> list[Row]:
    """Return names and descriptions, without the checks of `benchmark.load`, which would load pydantic."""
    import yaml

    files = {name: shipped.benchmarks() / f"{name}.yaml" for name in shipped.benchmark_names()}
    return [(name, str(yaml.safe_load(file.read_text("utf-8")).get("description", ""))) for name, file in files.items()]


LISTINGS: dict[str, Callable[[], list[Row]]] = {  # (name, description) for every name of a kind
    "methods": _methods,
    "parts": _parts,
    "tasks": _tasks,
    "encoders": _encoders,
    "benchmarks": _benchmarks,
}


def _slots(method: Method) -> list[Row]:
    rows: list[Row] = []
    for slot in SLOTS:
        parts: tuple[Part, ...] = getattr(method, slot) if slot in SEVERAL else (getattr(method, slot),)
        rows += [(slot, str(part) if part else "none") for part in parts or (None,)]
    return rows


def _tuned(method: Method) -> list[str]:
    """Return the options that a paper sets by the fraction of the corpus."""
    lines = [f"  up to {percent(bound)}: {', '.join(map(str, parts))}" for bound, parts in method.per_fraction]
    return ["options by fraction of the corpus", *lines] if lines else []


def _published(name: str) -> list[str]:
    """Return the averages that papers report for exactly this method, each with its table."""
    rows = []
    for row in own_rows(name):
        if row.task.endswith("-avg"):
            untrained = "untrained" if row.fraction is None else percent(row.fraction)
            spread = f" +- {row.std_text} (n={row.n_seeds})" if row.std_text else ""
            flag = f" [{row.flag}]" if row.flag else ""
            trained_on = "NLI" if row.setting == "supervised" else untrained
            rows.append((row.encoder, trained_on, row.task, f"{row.text}{spread}", f"{row.where}{flag}"))
    return ["published", *(f"  {line}" for line in aligned(rows))] if rows else []
