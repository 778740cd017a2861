"""The commands about data files: what there is, fetch it, check it, say where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.command_line import Command
from cseb.commands.options import Hushed
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.errors import BadBenchmark, BadData
from cseb.progress import counted
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.data.manifest import DataFile, DataSet
    from cseb.data.verify import FileCheck

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, fetch and check the files of tasks and corpora; make triples.",
)

command = partial(app.command, cls=Command)

Names = Annotated[
    list[str] | None, typer.Argument(help="Data sets, tasks or files, such as stsb, mr or wiki1m; all if none.")
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        envvar="CSEB_DATA_DIR", help="Folder of data files in SentEval's layout; without it, the hub's cache."
    ),
]


@command(name="list")
def list_(names: Names = None, *, data_dir: DataDir = None) -> None:
    """List data sets: rows, licence, the tasks scored on them, and whether they are here; of one, its files."""
    from cseb.explain.data_files import in_full, overview

    say((in_full if names else overview)(_chosen(names, data_dir), data_dir))


@command()
def where(names: Names = None, *, data_dir: DataDir = None) -> None:
    """Print where each file is read from, or how to get it."""
    from cseb.explain.data_files import places

    for line in places(_chosen(names, data_dir), data_dir):
        say(line)


@command()
def verify(names: Names = None, *, data_dir: DataDir = None, quiet: Hushed = False) -> None:
    """Check files against the manifest: rows, labels and hash. Exit code 1 if one is wrong or missing.

    Without names, a data set of which no file is here is passed over.
    """
    from cseb.data.places import locate
    from cseb.data.verify import check

    with telling(quiet):
        chosen = _chosen(names, data_dir)
        found = {
            data.name: [check(one, locate(data, one, data_dir)) for one in files]
            for data, files in counted(chosen.items(), "checking data sets", len(chosen))
        }
    absent = [] if names else [name for name, held in found.items() if all(one.state == "missing" for one in held)]
    if len(absent) == len(found):
        raise BadData(f"{data_dir or 'the cache'} holds no file of the manifest; cseb data where lists them")
    _answer([one for name, held in found.items() if name not in absent for one in held], absent)


@command()
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
        every = [(data, one) for data, files in chosen.items() for one in files]
        verdicts = [check(one, locate(data, one, to)) for data, one in counted(every, "checking", len(every))]
    _answer(verdicts)


@command()
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
    from cseb.data.nli import write_triples

    with telling(quiet):
        count = write_triples(pairs, out, seed)
    say(f"{quantity(count, 'triple')} in {out}")


def _chosen(names: Sequence[str] | None, data_dir: Path | None) -> Mapping[DataSet, Sequence[DataFile]]:
    from cseb.data.manifest import named
    from cseb.data.places import existing

    if data_dir is not None:
        existing(data_dir)
    return named(names or ())


def _answer(found: Sequence[FileCheck], absent: Sequence[str] = ()) -> None:
    """What became of each file, and the exit code."""
    from cseb.explain.data_files import verdicts

    for line in verdicts(found, absent):
        say(line)
    if any(one.state != "ok" for one in found):
        raise typer.Exit(1)
