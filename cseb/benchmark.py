"""A benchmark is a file: which methods, on what, how often. Read, checked, and overridden by options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from pydantic.types import StringConstraints
from pydantic_core import ErrorDetails

from cseb.data import shipped
from cseb.errors import BadBenchmark, CsebError, UnknownName, did_you_mean
from cseb.spec import parse_methods, parse_scale

LONGEST = 1 << 20  # bytes of a file
OPTIONS = "the command line"  # stands where a file's name stands in messages


def _joined(value: object) -> object:
    """A list of texts as one text with commas, which is how the command line writes it."""
    return ",".join(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value


def _numbers(value: object) -> object:
    """`0.001,0.01`, a single number, or a list; YAML reads 1e-3 as text, so texts are read as numbers here."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return tuple(_number(item) for item in items)


def _number(item: object) -> object:
    for kind in (int, float):
        try:
            return kind(item) if isinstance(item, str) else item
        except ValueError:
            continue
    return item


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]  # part of a file name
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]*$")]
Filled = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$")]
Texts = Annotated[Filled, BeforeValidator(_joined)]
Layout = Annotated[str, StringConstraints(pattern=r"^(few-shot|tasks|(ablation|sensitivity)( \S+)?)?$")]
Shares = Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], BeforeValidator(_numbers)]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_numbers)]


class Benchmark(BaseModel):
    """A grid of methods x shares of one corpus x seeds, and how its encoders are scored.

    methods, scale: spec grammar; `scale` updates the parts that a method has, such as "queue(size=64)". steps: the
    length of every method that trains, its warm-up shortened or stretched in proportion, of each model it trains first,
    and of a flow; what a method's own text says wins over both.
    fractions or sizes: shares of the corpus, or numbers of sentences. seeds: how many, counted from 0. dev: the rated
    pairs that choose the `best` checkpoint, or "". tolerance: points an average may move in
    `cseb check`, for methods whose repeats were not measured (`cseb check --calibrate`).
    table: how `cseb report` lays it out: few-shot, tasks, ablation METHOD or sensitivity OPTION.
    For `--on`: elsewhere, the methods of a grid that moves, where `methods` has sizes or budgets that fit its own
    encoder and corpus alone; triples, the corpus of a stage for methods that train on labelled pairs or triples.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Name
    description: str = ""
    methods: Texts
    encoder: Filled
    corpus: Filled
    column: Line = ""
    fractions: Shares = ()
    sizes: Counts = ()
    seeds: Annotated[int, Field(ge=1, le=10_000)]
    tasks: Texts
    dev: Line = ""
    data_dir: Line = ""
    scale: Line = ""
    steps: Annotated[int, Field(ge=0)] | None = None
    elsewhere: Annotated[Line, BeforeValidator(_joined)] = ""
    triples: Line = ""
    table: Layout = ""
    tolerance: Annotated[FiniteFloat, Field(ge=0)] | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _one_axis(self) -> Self:
        if bool(self.fractions) == bool(self.sizes):
            raise ValueError(f"give fractions or sizes, {'not both' if self.fractions else 'one of them'}")
        axis = self.fractions or self.sizes
        if twice := sorted({share for share in axis if axis.count(share) > 1}):
            raise ValueError(f"{'fractions' if self.fractions else 'sizes'} has {twice[0]} twice")
        return self


def load(ref: str) -> Benchmark:
    """The built-in benchmark of this name, or the one in this YAML file. Raises: BadBenchmark, UnknownName."""
    if ref in shipped.benchmark_names():
        path = shipped.benchmarks() / f"{ref}.yaml"
        return _checked(_mapping(path), str(path))
    try:
        found = Path(ref).is_file()
    except OSError:  # such as a name longer than any file system takes
        found = False
    if found:
        return _checked(_mapping(Path(ref)), ref)
    if Path(ref).suffix in (".yaml", ".yml") or len(Path(ref).parts) > 1:
        raise BadBenchmark(f"benchmark file {ref[:200]!r}: no such file")
    raise UnknownName("benchmark", ref[:200], shipped.benchmark_names())


def override(
    benchmark: Benchmark,
    *,
    methods: str = "",
    encoder: str = "",
    corpus: str = "",
    column: str = "",
    fractions: str = "",
    sizes: str = "",
    seeds: int | None = None,
    tasks: str = "",
    dev: str = "",
    data_dir: str = "",
    steps: int | None = None,
) -> Benchmark:
    """The benchmark with the options that are given in place of its fields; an empty one leaves the field alone.

    Another corpus drops the file's column, fractions drop sizes and the other way round, and dev "none" chooses
    nothing. Raises: BadBenchmark.
    """
    given: dict[str, Any] = {"methods": methods, "encoder": encoder, "corpus": corpus, "column": column, "tasks": tasks}
    given |= {"dev": dev, "data_dir": data_dir, "fractions": fractions, "sizes": sizes, "seeds": seeds, "steps": steps}
    changes = {field: value for field, value in given.items() if value not in ("", None)}
    if dev == "none":
        changes["dev"] = ""
    if corpus:
        changes["column"] = column
    if fractions and sizes:
        raise BadBenchmark("both --fractions and --sizes are given; choose one")
    if fractions or sizes:
        changes["sizes" if fractions else "fractions"] = []
    return _checked(benchmark.model_dump() | changes, OPTIONS) if changes else benchmark


def moved(benchmark: Benchmark, stage: Benchmark) -> Benchmark:
    """The grid of `benchmark` (methods, shares, seeds) with the encoder, corpus, tasks and scale of `stage`.

    How the table of a paper runs in miniature: `cseb run msse-table4 --on demo`. Methods that learn from labels take
    the stage's triples, and keep their own corpus where it has none. Raises: BadBenchmark.
    """
    borrowed = ("encoder", "corpus", "column", "tasks", "dev", "data_dir", "scale", "steps")
    changes = {field: getattr(stage, field) for field in borrowed}
    changes |= {"methods": benchmark.elsewhere or benchmark.methods, "elsewhere": ""}
    if any("labels" in method.at(1.0).data_seen() for method in parse_methods(changes["methods"])):
        kept = {"corpus": benchmark.corpus, "column": benchmark.column}
        changes |= {"corpus": stage.triples, "column": ""} if stage.triples else kept
    return _checked(benchmark.model_dump() | changes | {"name": f"{benchmark.name}-on-{stage.name}"}, stage.name)


def text(benchmark: Benchmark) -> str:
    """The benchmark as YAML that `load` reads back to the same benchmark."""
    return yaml.safe_dump(benchmark.model_dump(mode="json", exclude_defaults=True), sort_keys=False, width=110)


def expected(ref: str, name: str) -> Path:
    """Where the records lie that `cseb check` expects: in the folder `expected` beside the benchmark's file."""
    built_in = ref in shipped.benchmark_names()
    return (shipped.benchmarks() if built_in else Path(ref).parent) / "expected" / name


def _mapping(path: Path) -> dict[str, Any]:
    """What a YAML file holds. Whatever its bytes, what goes wrong is a BadBenchmark."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(LONGEST + 1)
        if len(raw) > LONGEST:
            raise BadBenchmark(f"{path}: more than {LONGEST} bytes; that is no benchmark file")
        found = yaml.safe_load(raw.decode())
    except OSError as error:
        raise BadBenchmark(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        raise BadBenchmark(f"{path}: not readable as YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise BadBenchmark(f"{path}: a benchmark is a mapping of fields; known: {', '.join(Benchmark.model_fields)}")
    return found


def _checked(values: dict[str, Any], where: str) -> Benchmark:
    """Fields, then the two that have a grammar of their own."""
    try:
        benchmark = Benchmark.model_validate(values)
    except ValidationError as error:
        first, *others = (_explained(detail) for detail in error.errors(include_url=False))
        raise BadBenchmark(f"{where}: {first}{f' (and {len(others)} more)' if others else ''}") from None
    for field, parse in (("methods", parse_methods), ("elsewhere", parse_methods), ("scale", parse_scale)):
        if not getattr(benchmark, field):
            continue
        try:
            parse(getattr(benchmark, field))
        except CsebError as error:
            raise BadBenchmark(f"{where}: {field}: {error}") from error
    return benchmark


def _explained(detail: ErrorDetails) -> str:
    """One finding of pydantic in our words: field, what was found, what belongs there."""
    field = ".".join(str(step)[:40] for step in detail["loc"])
    found = detail["input"]
    if detail["type"] == "extra_forbidden":
        return f"no field is called {field!r}; {did_you_mean(field, Benchmark.model_fields)}"
    if detail["type"] == "missing":
        return f"the field {field} is missing"
    if not field:
        return str(detail["msg"]).removeprefix("Value error, ")
    shown = repr(found)[:60] if isinstance(found, str | int | float | None) else type(found).__name__
    return f"{field} is {shown}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
