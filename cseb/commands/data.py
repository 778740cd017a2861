"""Commands about data files: list, check and fetch them, make triples, draw a sample, find test texts in a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.command_line import Call, Out, add
from cseb.commands.schema import schema
from cseb.commands.screen import pour, say
from cseb.errors import BadBenchmark, BadData, shortened
from cseb.parameters import COLUMN, CORPUS_HELP, DATA_DIR, TASKS, argument, command, option, sizes_and_fractions
from cseb.progress import counted
from cseb.text import aligned, plain, quantity

if TYPE_CHECKING:
    from cseb.data.corpus import Corpus
    from cseb.data.manifest import DataFile, DataSet, FileCheck
    from cseb.data.overlap import Overlap


app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, check, fetch and prepare data files.")

Corpus_ = Annotated[str, argument(CORPUS_HELP)]
Names = Annotated[
    Sequence[str] | list[str], argument("Data sets, tasks or files, such as stsb, mr or wiki1m; all by default.")
]
DataDir = Annotated[str | Path, DATA_DIR]


@command
def list_files(names: Names = (), *, data_dir: DataDir = "") -> str:
    """List data sets with their size, licence and tasks, and whether they are here; of named ones, every file."""
    chosen, folder = _chosen(names, data_dir), _folder(data_dir)
    return "\n".join(_in_full(chosen, folder) if names else _overview(chosen, folder))


@command
def check_files(names: Names = (), *, data_dir: DataDir = "") -> list[FileCheck]:
    """Check files against the manifest: rows, labels and hash. The exit code is 1 if one is wrong or missing.

    Without names, data sets of which no file is here are left out.
    """
    from cseb.data.manifest import check, locate

    folder, chosen = _folder(data_dir), _chosen(names, data_dir)
    checks = [
        [check(file, locate(data, file, folder)) for file in files]
        for data, files in counted(chosen.items(), "checking data sets", len(chosen))
    ]
    present = [files for files in checks if names or any(file.state != "missing" for file in files)]
    if not present:
        raise BadData(f"{folder or 'the cache'} contains no file of the manifest; cseb data list shows what there is")
    return [file for files in present for file in files]


@command
def fetch(
    names: Annotated[Sequence[str] | list[str], argument("Data sets, tasks or files; senteval for the whole archive.")],
    *,
    to: Annotated[str | Path, option("Folder to copy the files into. By default they stay in the cache.")] = "",
) -> list[FileCheck]:
    """Download files from the Hugging Face hub and check them."""
    from cseb.data import manifest
    from cseb.data.manifest import check

    chosen, target = _chosen(names, ""), _folder(to)
    for data, files in counted(chosen.items(), "fetching data sets", len(chosen)):
        manifest.fetch(data, files, target)
    every = [(data, file) for data, files in chosen.items() for file in files]
    return [check(file, manifest.locate(data, file, target)) for data, file in counted(every, "checking", len(every))]


@command
def triples(
    pairs: Annotated[
        Sequence[str] | list[str], argument("Files of SNLI or MultiNLI, such as snli_1.0_train.jsonl; also .tsv, .csv.")
    ],
    *,
    out: Annotated[str | Path, option("File to write; a corpus for supervised methods.")],
) -> str:
    """Make (premise, entailment, contradiction) triples from the sentence pairs of inference corpora."""
    from cseb.data.lines import write_triples

    return f"{quantity(write_triples([Path(file) for file in pairs], Path(out), seed=0), 'triple')} in {out}"


@command
def sample(
    corpus: Corpus_,
    *,
    size: Annotated[
        str | float, option("Number of sentences such as 100, or fraction of the corpus such as 0.01.")
    ] = "",
    seed: Annotated[int, option("Seed that draws the sentences, as in `cseb run`.")] = 0,
    column: Annotated[str, COLUMN] = "",
    data_dir: DataDir = "",
) -> list[str]:
    """Draw the sentences that a run with this seed trains on.

    Returns:
        The sentences in the order drawn. A smaller sample is the beginning of a larger one.

    Raises:
        BadData: if the corpus cannot be read.
        BadBenchmark: if the corpus is too small.

    Examples:
        >>> import cseb
        >>> len(cseb.sample("wikipedia", size=10))
        10
    """
    from cseb.data.subset import draw

    sentences, count = _counted(corpus, column, size, data_dir)
    return sentences.take(draw(len(sentences), count, seed))


def print_sample(call: Call[list[str]], *, out: Out = None) -> None:
    """Print the sentences, or write them into a file with a manifest beside it."""
    from cseb.data.subset import write_subset

    if out is None:
        pour(call())
        return
    settings = {"size": "", "column": "", "data_dir": "", **call.checked()}
    seed = settings.pop("seed", 0)
    sentences, count = _counted(**settings)
    write_subset(out, sentences, count, seed)
    say(f"{count:,} of {quantity(len(sentences), 'sentence')} in {out}")


@dataclass(frozen=True, slots=True)
class OverlapReport:
    """Counts of the texts of tasks that a corpus contains.

    Attributes:
        corpus: its name.
        sentences: how many sentences it has.
        tasks: one entry for each task.
    """

    corpus: str
    sentences: int
    tasks: tuple[Overlap, ...]

    @property
    def any(self) -> bool:
        """Return whether the corpus contains a text of a task."""
        return any(task.exact or task.near for task in self.tasks)

    def __str__(self) -> str:
        """Return a table with one line for each task, then the examples."""
        rows = [(plain(task.task), f"{task.texts:,}", f"{task.exact:,}", f"{task.near:,}") for task in self.tasks]
        lines = [f"Texts of tasks among {quantity(self.sentences, 'sentence')} of {plain(self.corpus)}"]
        lines += aligned([("task", "texts", "exact", "near"), *rows])
        for task in self.tasks:
            for example in task.examples:
                lines += ["", f"{plain(task.task)}, {'exact' if example.exact else 'near'}"]
                lines += [f"  task      {plain(example.text)}", f"  training  {plain(example.sentence)}"]
        return "\n".join(lines)


@command
def overlap(
    corpus: Annotated[str | Path | Sequence[str], argument(CORPUS_HELP)],
    tasks: Annotated[str | Sequence[str], TASKS] = "sts",
    data_dir: DataDir = "",
    *,
    column: Annotated[str, COLUMN] = "",
    examples: Annotated[int, option("Number of examples to show for each task.")] = 0,
) -> OverlapReport:
    """Count the texts of tasks that a corpus contains, the same or nearly so.

    Case, punctuation, white space and forms of Unicode make no difference. Texts are near-duplicates if the Jaccard
    similarity of their words is 0.8 or more.

    Returns:
        For each task the number of distinct texts, how many of them the corpus contains (``exact``), and how many of
        the others nearly so (``near``). Dev sets and training parts of a task are texts of it.

    Raises:
        CsebError: if the corpus or a task cannot be read.

    Examples:
        >>> import cseb
        >>> report = cseb.overlap(["A man is cooking.", "Snow!"], tasks="clinc150")
        >>> report.tasks[0].task, report.any
        ('clinc150', False)
    """
    from cseb.commands.results import joined
    from cseb.commands.train import corpus_of
    from cseb.data.overlap import TaskTexts
    from cseb.tasks.evaluate import load_task
    from cseb.tasks.names import parse_tasks

    texts = TaskTexts.of(
        {task.name: load_task(task, _folder(data_dir)).sentences() for task in parse_tasks(joined(tasks))}
    )
    name = str(corpus) if isinstance(corpus, str | Path) else "the sentences given"
    sentences = corpus_of(corpus, column, data_dir)
    return OverlapReport(name, len(sentences), tuple(texts.overlap(sentences, examples)))


def print_checks(call: Call[list[FileCheck]]) -> None:
    """Print one line for each file and how many are in which state; exit with 1 if one is not right."""
    checks = call()
    for file in checks:
        say(f"{file.state:<8}{file.path or file.file.file}: {file.message}")
    counts = {state: sum(file.state == state for file in checks) for state in ("ok", "wrong", "missing")}
    say(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    if counts["ok"] < len(checks):
        raise typer.Exit(1)


add(app, list_files, name="list")
add(app, check_files, print_checks, name="check")
add(app, fetch, print_checks)
add(app, triples)
add(app, sample, print_sample)
add(app, overlap)
add(app, schema)


def _folder(data_dir: str | Path) -> Path | None:
    return Path(data_dir) if data_dir else None


def _chosen(names: Sequence[str], data_dir: str | Path) -> Mapping[DataSet, Sequence[DataFile]]:
    from cseb.data.manifest import existing, named

    if data_dir:
        existing(Path(data_dir))
    return named(names)


def _counted(corpus: str, column: str, size: str | float, data_dir: str | Path) -> tuple[Corpus, int]:
    """Return a corpus, and a number of its sentences."""
    from cseb.data.corpus import read_corpus
    from cseb.data.subset import size_of

    counts: tuple[int, ...] = ()
    fractions: tuple[float, ...] = ()
    with suppress(BadBenchmark):  # its message is about lists of sizes
        counts, fractions = sizes_and_fractions(size)
    if len(counts) + len(fractions) != 1:
        raise BadBenchmark(
            f"`size` is {'missing' if size == '' else shortened(size)}; give one number of sentences, such as 100, or "
            "a fraction of the corpus in (0, 1], such as 0.01"
        )
    sentences = read_corpus(corpus, column, str(data_dir))
    return sentences, counts[0] if counts else size_of(fractions[0], len(sentences))


def _overview(chosen: Mapping[DataSet, Sequence[DataFile]], data_dir: Path | None) -> list[str]:
    from cseb.data.manifest import locate

    rows = [("name", "rows", "here", "tasks", "licence")]
    for data, files in chosen.items():
        present = sum(locate(data, file, data_dir) is not None for file in files)
        complete = (
            "yes" if present == len(files) else f"{present} of {quantity(len(files), 'file')}" if present else "no"
        )
        partly = data.rated is not None and data.rated != data.rows
        count = f"{data.rated} of {data.rows} rated" if partly else str(data.rows)
        rows.append((data.name, count, complete, ",".join(data.tasks) or "-", data.licence))
    return aligned(rows)


def _in_full(chosen: Mapping[DataSet, Sequence[DataFile]], data_dir: Path | None) -> Iterator[str]:
    """Yield the origin of each data set and one line for each of its files."""
    from cseb.data.manifest import how_to_get, locate

    for data, files in chosen.items():
        yield from (f"{data.name}: {data.title}", f"licence: {data.licence}", f"homepage: {data.homepage}")
        yield from [f"hub: {data.hub.repository}, {data.hub.file}"] if data.hub else []
        yield from [data.note] if data.note else []
        places = {file.file: locate(data, file, data_dir) for file in files}
        if not all(places.values()):
            yield f"missing files: {how_to_get(data)}"
        rows = [("file", "rows", "labels", "sha256", "place")]
        for file in files:
            counts = ", ".join(f"{label} {count}" for label, count in file.counts.items())
            place = str(places[file.file] or "not here")
            rows.append((file.file, str(file.rows), counts or "-", file.sha256, place))
        yield from aligned(rows)
