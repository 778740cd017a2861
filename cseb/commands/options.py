"""Options that several commands share, and the folder of records that most of them read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from cseb.commands.hosts import MOST, MOST_THREADS
from cseb.errors import BadBenchmark

DEFAULT = Path("results")
Results = Annotated[Path | None, typer.Argument(help="A folder of records.", show_default=str(DEFAULT))]
Named = Annotated[Path | None, typer.Option("--results", help="Same as RESULTS.", show_default=False)]
Records = Annotated[Path, typer.Option("--results", help="Folder of records.")]
BenchmarkName = Annotated[str, typer.Argument(help="A YAML file, or a name that `cseb show benchmarks` shows.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Hushed = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show how far it is.")]
Trust = Annotated[bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the encoder.")]
DataDir = Annotated[
    str,
    typer.Option(
        envvar="CSEB_DATA_DIR", help="Folder of task and corpus files in SentEval's layout; else the benchmark's."
    ),
]
Licence = Annotated[
    str, typer.Option("--license", help="As the hub names it, such as apache-2.0; else that of the first encoder.")
]

Workers = Annotated[str, typer.Option(help="Jobs at a time; auto is one for each core, or for each GPU.")]
Threads = Annotated[
    int, typer.Option(min=1, max=MOST_THREADS, help="CPU threads of each job; recorded, as numbers depend on them.")
]
Linear = Annotated[
    str, typer.Option(help="Library of the linear layers on a CPU: blas, onednn, or auto, the faster one here.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
PerGPU = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="Jobs on each GPU at a time, with --workers auto; by default 1.")
]
TimeLimit = Annotated[str, typer.Option(help="Longest a job may take, such as 90s, 30m or 2h; then it is killed.")]
Host = Annotated[str, typer.Option("--launcher", help="Where jobs run: local, ray or slurm.")]
RayAddress = Annotated[
    str, typer.Option(help="A Ray cluster, such as HOST:6379 or auto; without it a Ray is started for the grid.")
]
SlurmOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm", help="Options of sbatch, such as partition=cpu,time=120,cpus-per-task=8.", metavar="NAME=VALUE"
    ),
]
PerAllocation = Annotated[
    str, typer.Option(metavar="N|auto", help="Jobs in one Slurm allocation; auto is four per worker.")
]

Methods = Annotated[str, typer.Option(help="Those to show, in this order.")]
Fractions = Annotated[
    str, typer.Option("--fractions", "--fraction", help="Fractions of the corpus to show, such as 0.001,0.01.")
]
Sizes = Annotated[str, typer.Option(help="Numbers of sentences to show, such as 100,1000.")]
Tasks = Annotated[str, typer.Option(help="Tasks or groups of tasks to show or average, in this order.")]
Checkpoint = Annotated[
    str, typer.Option(help="The checkpoint: best on the dev set, last, or both; best where there is one.")
]
LearningCurve = Annotated[
    bool,
    typer.Option("--learning-curve", help="What more sentences bring too: each method against itself on fewer."),
]
Mixed = Annotated[
    bool, typer.Option("--mixed", help="Let one table mix devices, versions and task lists, and say so below it.")
]

Format = Annotated[str, typer.Option("--format", "-f", help="terminal, markdown, latex, csv, json or html.")]
Out = Annotated[Path | None, typer.Option(help="File to write instead of the screen.")]


def folder_of(results: Path | None, named: Path | None) -> Path:
    """The folder that was typed, in whichever way, or `results`. Raises: BadBenchmark for two of them."""
    if results is not None and named is not None and results != named:
        raise BadBenchmark(f"two folders of records are given, {results} and --results {named}; name one")
    return results or named or DEFAULT


def numbers(text: str, kind: type, option: str) -> list[Any]:
    """Fractions (float) or sizes (int) with commas between them. Raises: BadBenchmark."""
    such = "0.001,0.01, where 0.001 is 0.1 %" if kind is float else "100,1000, without commas inside a number"
    pieces = [one.strip() for one in text.split(",") if one.strip()]
    try:
        found = [kind(one.replace("_", "")) for one in pieces]
    except ValueError:
        found = []
    grouped = kind is int and any(re.fullmatch("0[0-9]*", one) for one in pieces)  # such as 5,000
    if grouped or len(found) < len(pieces) or (kind is float and any(not 0 < one <= 1 for one in found)):
        needed = "fractions in (0, 1]" if kind is float else "numbers of sentences"
        raise BadBenchmark(f"{option} is {text!r}; {needed} with commas between them are needed, such as {such}")
    return found
