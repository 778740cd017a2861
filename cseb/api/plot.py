"""Records drawn into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cseb.api.report import query
from cseb.api.results import Results, results_of
from cseb.errors import one_of

KINDS = ("curves", "gain", "profile", "geometry", "training", "seeds", "sensitivity", "cd")


def plot(
    results: Results | str | Path = "results",
    out: str | Path = "plot.png",
    *,
    kind: str = "curves",
    methods: str | Sequence[str] = (),
    fractions: float | Sequence[float] = (),
    sizes: int | Sequence[int] = (),
    tasks: str | Sequence[str] = (),
    checkpoint: str = "",
    spread: str = "std",
    baseline: str = "",
    option: str = "",
    mixed: bool = False,
) -> str:
    """Draw the records of one encoder and corpus into a file.

    Args:
        results: a folder of records, or what `cseb.run` or `cseb.load` returned.
        out: the file to write: .png, .svg or .pdf.
        kind: ``curves`` (score by sentences), ``gain`` (over `baseline`), ``profile`` (how many runs and tasks gain how
            much), ``seeds``, ``training`` (loss and dev score), ``sensitivity`` (score by `option`), ``geometry``
            (alignment and uniformity) or ``cd`` (mean ranks over corpora, at least 8).
        methods: those to show.
        fractions: of the corpus, those to show.
        sizes: numbers of sentences to show.
        tasks: tasks or groups to average.
        checkpoint: ``best`` on the dev set or ``last``.
        spread: bands: ``std``, ``ci95``, ``sem`` or ``range``.
        baseline: for gain and profile, the method that others are compared with.
        option: for sensitivity, such as ``infonce.temperature``.
        mixed: let one plot mix devices, versions and task lists.

    Returns:
        The caption.

    Raises:
        BadResults: if the records cannot fill such a plot, or the file cannot be written.
    """
    from cseb.plots import style

    one_of(KINDS, kind, "--kind")
    one_of(("std", "ci95", "sem", "range"), spread, "--spread")
    one_of(("", "best", "last"), checkpoint, "--select")
    out = Path(out)
    style.check(out)
    from matplotlib import rc_context

    from cseb.experiment.plan_file import plans, settled
    from cseb.plots.draw import drawn

    ask = query(methods, fractions, sizes, tasks, checkpoint, spread=spread, mixed=mixed)
    held = results_of(results)
    records = list(held.records)
    ask = settled(ask, records, plans(held.folder, records))
    with rc_context(style.SETTINGS):
        found = drawn(kind, records, ask, baseline, option)
        style.save(found, out)
    return found.caption
