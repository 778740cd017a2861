"""The commands about data files: what there is, fetch it, check it, say where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.cli.options import Hushed
from cseb.cli.screen import say
from cseb.cli.waiting import telling
from cseb.errors import BadBenchmark, BadData
from cseb.progress import counted

if TYPE_CHECKING:
    from cseb.data.manifest import DataFile, DataSet
    from cseb.data.verify import Verdict

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, fetch and check the files of tasks and corpora; make triples.",
)

Names = Annotated[
    list[str] | None, typer.Argument(help="Data sets, tasks or files, such as stsb, mr or wiki1m; all if none.")
]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder of data files in SentEval's layout; without it, the hub's cache.")
]


@app.command(name="list")
def list_(names: Names = None, *, data_dir: DataDir = None) -> None:
    """List data sets: rows, licence, the tasks scored on them, and whether they are here; of one, its files."""
    from cseb.data.places import locate
    from cseb.explain import describe

    chosen = _chosen(names, data_dir)
    if not names:
        rows = [("name", "rows", "here", "tasks", "licence")]
        for data, files in chosen.items():
            held = sum(locate(data, one, data_dir) is not None for one in files)
            here = "yes" if held == len(files) else f"{held} of {len(files)} files" if held else "no"
            rows.append((data.name, _rows(data), here, ",".join(data.tasks) or "-", data.licence))
        say("\n".join(describe.aligned(rows)))
        return
    for data, files in chosen.items():
        about = [f"{data.name}: {data.title}", f"licence: {data.licence}", f"homepage: {data.homepage}"]
        about += [f"hub: {data.hub.repository}, {data.hub.file}"] if data.hub else []
        about += [data.note] if data.note else []
        rows = [("file", "rows", "here", "labels", "sha256")]
        for one in files:
            here = "yes" if locate(data, one, data_dir) else "no"
            counts = ", ".join(f"{label} {count}" for label, count in one.counts.items())
            rows.append((one.file, str(one.rows), here, counts or "-", one.sha256 or "not known"))
        say("\n".join([*about, *describe.aligned(rows)]))


@app.command()
def where(names: Names = None, *, data_dir: DataDir = None) -> None:
    """Print where each file is read from, or how to get it."""
    from cseb.data.places import how_to_get, locate

    for data, files in _chosen(names, data_dir).items():
        for one in files:
            path = locate(data, one, data_dir)
            say(f"{one.file}\t{path if path else f'not here; {how_to_get(data)}'}")


@app.command()
def verify(names: Names = None, *, data_dir: DataDir = None, quiet: Hushed = False) -> None:
    """Check files against the manifest: rows, labels and hash. Exit code 1 if one is wrong or missing.

    Without names, a data set of which no file is here is passed over.
    """
    from cseb.data.places import locate
    from cseb.data.verify import check

    with telling(quiet):
        chosen = _chosen(names, data_dir)
        found = {
            data: [check(one, locate(data, one, data_dir)) for one in files]
            for data, files in counted(chosen.items(), "checking data sets", len(chosen))
        }
    absent = [data.name for data, all_ in found.items() if all(one.state == "missing" for one in all_)]
    if not names:
        found = {data: all_ for data, all_ in found.items() if data.name not in absent}
        if not found:
            raise BadData(f"{data_dir or 'the cache'} holds no file of the manifest; cseb data where lists them")
    _answer((one for all_ in found.values() for one in all_), () if names else absent)


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Data sets, tasks, files, or senteval for the whole archive.")],
    *,
    to: Annotated[Path | None, typer.Option(help="Folder to copy them into; else they stay in the cache.")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="A folder that stands in for the hub: no network is used.")
    ] = None,
    quiet: Hushed = False,
) -> None:
    """Fetch files from the hub, or copy them from a folder, and check them."""
    from cseb.data import fetch as fetching
    from cseb.data.places import existing, locate
    from cseb.data.verify import check

    if source is not None and to is None:
        raise BadBenchmark("--from copies files; say where with --to DIR")
    chosen = _chosen(names, None)
    mirror = existing(source) if source is not None else None
    with telling(quiet):
        for data, files in counted(chosen.items(), "fetching data sets", len(chosen)):
            fetching.fetch(data, files, to, mirror)
        all_files = [(data, one) for data, files in chosen.items() for one in files]
        verdicts = [check(one, locate(data, one, to)) for data, one in counted(all_files, "checking", len(all_files))]
    _answer(verdicts, ())


@app.command()
def triples(
    pairs: Annotated[
        list[Path],
        typer.Argument(help="Files of SNLI or MultiNLI, such as snli_1.0_train.jsonl; also .tsv, .csv, .gz."),
    ],
    *,
    out: Annotated[Path, typer.Option(help="File to write, such as triples.txt; --corpus of supervised methods.")],
    seed: Annotated[int, typer.Option(min=0, help="Chooses one hypothesis where a premise has several of a kind.")] = 0,
    quiet: Hushed = False,
) -> None:
    """Make (premise, entailment, contradiction) triples of the sentence pairs of inference corpora."""
    from cseb.data.files import write_whole
    from cseb.data.nli import nli_triples, read_nli_table

    if any(out.exists() and path.exists() and out.samefile(path) for path in pairs):
        raise BadBenchmark(
            f"{out} is one of the files to read, which the triples would replace; give --out another name"
        )
    with telling(quiet):
        rows = (row for path in pairs for row in read_nli_table(path))
        lines = nli_triples(counted(rows, "reading sentence pairs"), seed)
    if not lines:
        raise BadData(f"{', '.join(map(str, pairs))}: no premise has both an entailment and a contradiction")
    try:
        write_whole(out, (f"{line}\n".encode() for line in lines))
    except OSError as error:
        raise BadData(f"{out} cannot be written: {error.strerror or error}") from error
    say(f"{len(lines)} triples in {out}")


def _chosen(names: Sequence[str] | None, data_dir: Path | None) -> Mapping[DataSet, Sequence[DataFile]]:
    from cseb.data.manifest import named
    from cseb.data.places import existing

    if data_dir is not None:
        existing(data_dir)
    return named(names or ())


def _rows(data: DataSet) -> str:
    partly = data.rated is not None and data.rated != data.rows
    return f"{data.rated} of {data.rows} rated" if partly else str(data.rows)


def _answer(verdicts: Iterable[Verdict], absent: Sequence[str]) -> None:
    """One line a file, how many are how, and the exit code."""
    held = list(verdicts)
    for one in held:
        say(f"{one.state:<8}{one.path or one.file.file}: {one.said}")
    counts = {state: sum(one.state == state for one in held) for state in ("ok", "wrong", "missing")}
    said = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    say(f"{said}{'; not here at all: ' + ', '.join(absent) if absent else ''}")
    if counts["wrong"] or counts["missing"]:
        raise typer.Exit(1)
