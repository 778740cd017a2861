"""Benchmarks: read from a file, checked, overridden by options, and stored beside records."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from pydantic_core import ErrorDetails

from cseb.analysis.item_scores import Data, ItemScores
from cseb.data import shipped
from cseb.data.bounded import read_yaml
from cseb.errors import BadBenchmark, BadData, CsebError, UnknownName, did_you_mean
from cseb.experiment.tuning import Counts, Dev, Filled, Fractions, Layout, Line, Name, Texts, Tune, joined
from cseb.methods.grammar import labels, parse_scale
from cseb.parameters import (
    COLUMN,
    CORPUS,
    DATA_DIR,
    DEV,
    ENCODER,
    FRACTIONS,
    METHODS,
    MOST,
    SEEDS,
    SIZES,
    STEPS,
    TASKS,
    TUNE,
    option,
)
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task

JOBS = 200_000  # of a grid; listing them takes a minute
OPTIONS = "the command line"  # in place of a file name in messages
REPLACES = {"corpus": "column", "fractions": "sizes", "sizes": "fractions"}  # fields that a new value resets


class Cells(BaseModel):
    """Some cells of a grid; a field that is left out means all of the benchmark's own."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    methods: Annotated[Line, BeforeValidator(joined, json_schema_input_type=Line | list[Filled])] = ""
    fractions: Fractions = ()
    sizes: Counts = ()
    seeds: Annotated[int, Field(ge=1, le=10_000)] | None = None


def _search_of(value: object) -> object:
    """Return the search with its defaults for True and none for False, as the option `--tune` does."""
    return ({} if value else None) if isinstance(value, bool) else value


class Benchmark(BaseModel):
    """A grid of methods, training set sizes and seeds, and how its encoders are scored.

    The fields that `run` has as options, too, are defined in `cseb.parameters`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[Name, option("Name of the benchmark, part of file names.")]
    description: Annotated[str, option("One line for `cseb show benchmarks`.")] = ""
    methods: Annotated[Texts, METHODS]
    encoder: Annotated[Filled, ENCODER]
    corpus: Annotated[Filled, CORPUS]
    column: Annotated[Line, COLUMN] = ""
    fractions: Annotated[Fractions, FRACTIONS] = ()
    sizes: Annotated[Counts, SIZES] = ()
    seeds: Annotated[int, Field(ge=SEEDS.least, le=SEEDS.most), SEEDS]
    tasks: Annotated[Texts, TASKS]
    dev: Annotated[Dev, DEV] = ""
    data_dir: Annotated[Line, DATA_DIR] = ""
    scale: Annotated[Line, option("Options for all methods that have the part, such as queue(size=64).")] = ""
    per_method: Annotated[
        dict[Filled, Filled], option("Options for single methods, such as simcse: recipe(learning_rate=1e-4).")
    ] = {}
    steps: Annotated[Annotated[int, Field(ge=0, le=MOST)] | None, STEPS] = None
    tune: Annotated[Tune | None, BeforeValidator(_search_of, json_schema_input_type=Tune | bool | None), TUNE] = None
    table: Annotated[Layout, option("Kind of table: few-shot, tasks, ablation METHOD or sensitivity OPTION.")] = ""
    tolerance: Annotated[
        Annotated[FiniteFloat, Field(ge=0)] | None,
        option("Points by which an average may differ in `cseb check`."),
    ] = None
    check: Annotated[Cells, option("Cells that `cseb check` trains; all by default.")] = Cells()
    notes: Annotated[str, option("Remarks about the source of the table.")] = ""

    @model_validator(mode="after")
    def _one_axis(self) -> Self:
        if bool(self.fractions) == bool(self.sizes):
            raise ValueError(f"give fractions or sizes, {'not both' if self.fractions else 'one of them'}")
        if twice := sorted(each for each, count in Counter(self.fractions or self.sizes).items() if count > 1):
            raise ValueError(f"{'fractions' if self.fractions else 'sizes'} has {twice[0]} twice")
        return self


def load(ref: str) -> Benchmark:
    """Return the built-in benchmark of this name, or the one in this YAML file. Its methods may not be installed.

    Raises: BadBenchmark, UnknownName.
    """
    if ref in shipped.benchmark_names():
        path = shipped.benchmarks() / f"{ref}.yaml"
        return _own_methods(_checked(_mapping(path), str(path)), str(path))
    try:
        is_file = Path(ref).exists() and not Path(ref).is_dir()
    except OSError:  # such as a name that is too long
        is_file = False
    if is_file:
        return _own_methods(_checked(_mapping(Path(ref)), ref), ref)
    if Path(ref).suffix in (".yaml", ".yml") or len(Path(ref).parts) > 1:
        raise BadBenchmark(f"benchmark file {ref[:200]!r}: no such file")
    raise UnknownName("benchmark", ref[:200], shipped.benchmark_names())


def override(benchmark: Benchmark, **given: object) -> Benchmark:
    """Return the benchmark with other values of its fields; None and "" change nothing.

    Another corpus resets the column, fractions reset sizes and the other way round. Raises: BadBenchmark.
    """
    changes = {field: value for field, value in given.items() if value not in ("", None)}
    if "fractions" in changes and "sizes" in changes:
        raise BadBenchmark("both `fractions` and `sizes` are given; choose one")
    for field, other in REPLACES.items():
        if field in changes:
            changes.setdefault(other, Benchmark.model_fields[other].get_default())
    return _checked(benchmark.model_dump() | changes, OPTIONS) if changes else benchmark


def cells_to_check(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with only the cells that `cseb check` trains again, without tuning. Raises: BadBenchmark."""
    chosen = {name: value for name, value in benchmark.check if value}
    for name, value in chosen.items():
        whole = getattr(benchmark, name)
        if name == "seeds":
            other = [value] if value > whole else []
        else:
            cells, own = (labels(value), labels(whole)) if name == "methods" else (value, whole)
            other = [cell for cell in cells if cell not in own]
        if other:
            raise BadBenchmark(f"check of {benchmark.name}: its {name} have no {other[0]}; name cells of its own grid")
    return override(benchmark.model_copy(update={"tune": None}), **chosen)


def text(benchmark: Benchmark) -> str:
    """Return the benchmark as YAML that `load` reads."""
    return yaml.safe_dump(benchmark.model_dump(mode="json", exclude_defaults=True), sort_keys=False, width=110)


def expected(ref: str, name: str) -> Path:
    """Return the folder of expected records: `expected/NAME` beside the benchmark's file."""
    built_in = ref in shipped.benchmark_names()
    return (shipped.benchmarks() if built_in else Path(ref).parent) / "expected" / name


def _mapping(path: Path) -> dict[str, Any]:
    """Return the fields in a YAML file. Raises: BadBenchmark."""
    try:
        fields = read_yaml(path)
    except BadData as error:
        raise BadBenchmark(str(error)) from None
    if not isinstance(fields, dict) or not all(isinstance(key, str) for key in fields):
        raise BadBenchmark(f"{path}: a benchmark is a mapping of fields; known: {', '.join(Benchmark.model_fields)}")
    return fields


def _checked(values: dict[str, Any], where: str) -> Benchmark:
    """Return the benchmark with these fields. Raises: BadBenchmark."""
    try:
        benchmark = Benchmark.model_validate(values)
    except ValidationError as error:
        details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
        first, *others = map(_explained, details)  # a misspelt field may be why another is missing
        raise BadBenchmark(f"{where}: {first}{f' (and {len(others)} more)' if others else ''}") from None
    for field, read in (("methods", labels), ("scale", parse_scale)):
        if not getattr(benchmark, field):
            continue
        try:
            read(getattr(benchmark, field))
        except CsebError as error:
            raise BadBenchmark(f"{where}: {field}: {error}") from error
    for method, options in benchmark.per_method.items():
        try:
            parse_scale(options)
            labelled = labels(method)
        except CsebError as error:
            raise BadBenchmark(f"{where}: per_method {method}: {error}") from error
        if labelled != [method]:
            raise BadBenchmark(f"{where}: per_method has {method!r}; write it as tables do: {', '.join(labelled)}")
    if benchmark.tune is not None:
        try:
            benchmark.tune.check(benchmark.dev)
        except CsebError as error:
            raise BadBenchmark(f"{where}: tune: {error}") from error
    axis = benchmark.fractions or benchmark.sizes
    if (jobs := len(labels(benchmark.methods)) * len(axis) * benchmark.seeds) > JOBS:
        raise BadBenchmark(
            f"{where}: methods x fractions x seeds are {jobs:,} jobs; at most {JOBS:,} can be planned at once"
        )
    return benchmark


def _own_methods(benchmark: Benchmark, where: str) -> Benchmark:
    """Return the benchmark of a file. Raises: BadBenchmark if it has options for a method that it lacks."""
    methods = labels(benchmark.methods) if benchmark.methods else ()
    tuned = benchmark.tune.per_method if benchmark.tune is not None else {}
    for field, named in (("per_method", benchmark.per_method), ("tune: per_method", tuned)):
        if other := [name for name in named if methods and name not in methods]:
            near = did_you_mean(other[0], methods)
            raise BadBenchmark(f"{where}: {field} names {other[0]!r}, which is not among its methods; {near}")
    return benchmark


def _explained(detail: ErrorDetails) -> str:
    """Return an error of pydantic as text: the field, its value, what is allowed."""
    field = ".".join(str(step)[:40] for step in detail["loc"])
    value = detail["input"]
    if detail["type"] == "extra_forbidden":
        return f"no field is called {field!r}; {did_you_mean(field, Benchmark.model_fields)}"
    if detail["type"] == "missing":
        return f"the field {field} is missing"
    if not field:
        return str(detail["msg"]).removeprefix("Value error, ")
    try:
        shown = repr(value)[:60] if isinstance(value, str | int | float | None) else type(value).__name__
    except ValueError:  # an integer of thousands of digits
        shown = "an endless number"
    return f"{field} is {shown}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def load_item_scores(store: Store, records: Iterable[Record]) -> ItemScores:
    """Return the scores per example of records, with the data of their tasks.

    Task files are read from CSEB_DATA_DIR, or where the runs had them, or from the caches.
    """
    names = sorted({record.benchmark for record in records})
    benchmarks = (stored_benchmark(store.folder, name) for name in names)
    folders = (benchmark.data_dir for benchmark in benchmarks if benchmark and benchmark.data_dir)
    folder = os.environ.get("CSEB_DATA_DIR") or next(folders, "")

    def load(name: str) -> Data:
        return load_task(name, Path(folder) if folder else None)

    return ItemScores(store.read_items, load)


def stored_benchmark(folder: Path, name: str) -> Benchmark | None:
    """Return the benchmark that `cseb run` stored beside its records; None if it is missing. Raises: BadBenchmark."""
    path = folder / f"benchmark-{name}.yaml"
    return _checked(_mapping(path), str(path)) if path.is_file() else None  # `--methods` may have left some out
