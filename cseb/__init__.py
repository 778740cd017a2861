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
    from cseb.api.archive import archive
    from cseb.api.card import card
    from cseb.api.compare import Comparison, compare
    from cseb.api.encoders import TrainedEncoder
    from cseb.api.evaluate import Scores, evaluate
    from cseb.api.export import Exported, export
    from cseb.api.grid import run
    from cseb.api.plot import plot
    from cseb.api.report import report
    from cseb.api.results import Results, load
    from cseb.api.sources import rerun, verify
    from cseb.api.train import train
    from cseb.commands.data import overlap, sample
    from cseb.commands.recommend import recommend
    from cseb.commands.show import show
    from cseb.errors import CsebError

__all__ = [
    "Comparison",
    "CsebError",
    "Exported",
    "Results",
    "Scores",
    "TrainedEncoder",
    "archive",
    "card",
    "compare",
    "evaluate",
    "export",
    "load",
    "overlap",
    "plot",
    "recommend",
    "report",
    "rerun",
    "run",
    "sample",
    "show",
    "train",
    "verify",
]

_HOMES = {
    **dict.fromkeys(("Comparison", "compare"), "cseb.api.compare"),
    **dict.fromkeys(("Scores", "evaluate"), "cseb.api.evaluate"),
    **dict.fromkeys(("Exported", "export"), "cseb.api.export"),
    **dict.fromkeys(("Results", "load"), "cseb.api.results"),
    **dict.fromkeys(("rerun", "verify"), "cseb.api.sources"),
    **dict.fromkeys(("overlap", "sample"), "cseb.commands.data"),
    "CsebError": "cseb.errors",
    "TrainedEncoder": "cseb.api.encoders",
    "archive": "cseb.api.archive",
    "card": "cseb.api.card",
    "plot": "cseb.api.plot",
    "recommend": "cseb.commands.recommend",
    "report": "cseb.api.report",
    "run": "cseb.api.grid",
    "show": "cseb.commands.show",
    "train": "cseb.api.train",
}


if not TYPE_CHECKING:  # a type checker shall miss a name that is not there

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'cseb' has no attribute {name!r}")
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
