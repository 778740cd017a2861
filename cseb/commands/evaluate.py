"""The command that scores an encoder as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import DataDir, Device, Hushed, Linear, Threads, Trust
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.errors import one_of


def evaluate(
    encoder: Annotated[
        str,
        typer.Argument(
            help="A folder, hub name, run's key, module:function, glove:FILE, words:tf-idf, cseb-tiny, cseb-mini."
        ),
    ],
    *,
    tasks: Annotated[str, typer.Option(help="Such as sts or stsb,sickr or mteb:Banking77Classification.")] = "sts",
    pooler: Annotated[str, typer.Option(help="Such as mean or first_last(first=0); its own, or cls.")] = "",
    data_dir: DataDir = "",
    results: Annotated[Path, typer.Option(help="Folder of records, and of the models of runs.")] = Path("results"),
    cache: Annotated[Path | None, typer.Option(help="Folder that keeps sentence vectors for other tasks.")] = None,
    dtype: Annotated[str, typer.Option(help="fp32, or bf16: faster on some machines, second decimals move.")] = "fp32",
    threads: Threads = 1,
    linear: Linear = "auto",
    device: Device = "auto",
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Score again what has a record.")] = False,
    trust_remote_code: Trust = False,
    quiet: Hushed = False,
) -> None:
    """Evaluate an encoder without training it, and store the record.

    A task that fails is named, the others are scored; the exit code is then 1.
    """
    from cseb.tasks.names import spoken

    one_of(("fp32", "bf16"), dtype, "--dtype")
    for line in spoken(tasks):
        say(line, err=True)
    from cseb.api.evaluate import evaluate as score

    with telling(quiet):
        found = score(
            encoder,
            tasks,
            data_dir,
            pooler=pooler,
            dtype=dtype,
            device=device,
            threads=threads,
            linear=linear,
            results=results,
            cache=cache,
            fresh=fresh,
            trust_remote_code=trust_remote_code,
        )
    if record := found.record:
        kept = "was there already, --fresh scores again" if found.reused else f"in {results}"
        say(
            f"{record.encoder.name} ({record.encoder.sha256[:8]}), {record.method}, "
            f"{', '.join(sorted({one.protocol for one in record.scores}))}; record {record.key} {kept}"
        )
    if found.cache:
        say(f"cache: {found.cache}")
    say(str(found))
    reasons: dict[str, list[str]] = {}
    for task, reason in found.failed.items():
        reasons.setdefault(reason, []).append(task)
    for reason, failed in reasons.items():
        say(f"cseb: {', '.join(failed)} {'has' if len(failed) == 1 else 'have'} no score: {reason}", err=True)
    if found.failed:
        raise typer.Exit(1)
