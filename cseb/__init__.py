"""cseb: which training method gives the best sentence encoder from few sentences, by how much, and is it significant?

What the command line does, in as many lines of Python:

    encoder = cseb.train("simcse", sentences)
    encoder.encode(["a sentence"])
    cseb.evaluate(encoder, tasks="sts", data_dir="senteval")
    cseb.run(methods=["simcse", "micse"], fractions=[0.01], seeds=5)
    cseb.load("results").frame()
    print(cseb.compare("results", baseline="simcse"))

Importing cseb loads nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cseb.version import __version__ as __version__

if TYPE_CHECKING:
    from cseb.commands.check import check as check
    from cseb.commands.compare import Comparison as Comparison
    from cseb.commands.compare import compare as compare
    from cseb.commands.data import overlap as overlap
    from cseb.commands.data import sample as sample
    from cseb.commands.embed import Embeddings as Embeddings
    from cseb.commands.embed import embed as embed
    from cseb.commands.evaluate import evaluate as evaluate
    from cseb.commands.export import Exported as Exported
    from cseb.commands.export import export as export
    from cseb.commands.plot import plot as plot
    from cseb.commands.recommend import recommend as recommend
    from cseb.commands.report import report as report
    from cseb.commands.results import Results as Results
    from cseb.commands.results import load as load
    from cseb.commands.run import run as run
    from cseb.commands.show import show as show
    from cseb.commands.train import TrainedEncoder as TrainedEncoder
    from cseb.commands.train import train as train
    from cseb.errors import CsebError as CsebError
    from cseb.experiment.scores import Scores as Scores

_HOMES = {
    name: f"cseb.{module}"
    for module, names in {
        "commands.check": "check",
        "commands.compare": "Comparison compare",
        "commands.data": "overlap sample",
        "commands.embed": "Embeddings embed",
        "commands.evaluate": "evaluate",
        "commands.export": "Exported export",
        "commands.plot": "plot",
        "commands.recommend": "recommend",
        "commands.report": "report",
        "commands.results": "Results load",
        "commands.run": "run",
        "commands.show": "show",
        "commands.train": "TrainedEncoder train",
        "errors": "CsebError",
        "experiment.scores": "Scores",
    }.items()
    for name in names.split()
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 (each name stands above)


if not TYPE_CHECKING:  # a type checker shall miss a name that is not there

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'cseb' has no attribute {name!r}")
        globals()[name] = getattr(import_module(_HOMES[name]), name)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
