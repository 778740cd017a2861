"""A package of another author with a term and a method, as it lies on disk once it is installed."""

from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from tests.forked import forked
from tests.stderr_lines import without_progress
from tests.world import WORLD

TERM = '''"""A contrast that another package brings."""

from typing import Annotated, ClassVar

import torch.nn.functional as F
from cosent_kit.arithmetic import logits
from cseb.methods.option_types import Above
from torch import arange


class CoSent:
    """Cosines of all pairs, scaled.

    Source: Nobody 2020, eq. 1.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    data_seen = "external"
    external = {"words": "file"}

    def __init__(self, scale: Annotated[float, Above(0)] = 20.0, words: str = "") -> None:
        self.scale = scale

    def __call__(self, step):
        """One number."""
        # the first view against the second
        scores = logits(step.views[0].z, step.views[1].z) * self.scale
        return F.cross_entropy(scores, arange(len(scores)))
'''


ARITHMETIC = '''"""What the term is computed with."""

import torch.nn.functional as F


def logits(left, right):
    """(B, D) and (B, D) to (B, B)."""
    return F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).T
'''


METHOD = '''"""A method of parts known and unknown."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import part

KIT = replace(SIMCSE, name="kit", source="Nobody 2020", terms=(part("cosent"),))
OTHER = replace(SIMCSE, name="another", source="Nobody 2020")
'''


ENTRIES = "[cseb.term]\ncosent = cosent_kit.term:CoSent\n[cseb.method]\nkit = cosent_kit.method:KIT\n"


RUN = (WORLD, "--methods", "simcse+cosent-infonce+recipe(steps=2,batch_size=4)", "--steps", "2", "--sizes", "20")


SMALL = ("--seeds", "1", "--tasks", "toy-captions", "--dev", "none", "--device", "cpu", "--workers", "1")


@dataclass
class Kit:
    """A folder on the path with a package and what an installer writes beside it."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        path = self.folder / "cosent_kit" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def offer(self, entries: str, version: str = "1.0") -> None:
        info = self.folder / "cosent_kit-1.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cosent-kit\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(entries)

    def call(self, *arguments: object, installed: bool = True) -> CompletedProcess[str]:
        return forked(["cseb", *map(str, arguments)], self.folder, [self.folder] if installed else [])

    def said(self, *arguments: object) -> str:
        """The one line of what a user can mend."""
        result = self.call(*arguments)
        assert result.returncode == 2, result.stdout + result.stderr
        assert len(without_progress(result.stderr)) == 1, result.stderr
        return result.stderr

    def state(self, results: Path) -> tuple[str, str]:
        """Key and record of the only job."""
        result = self.call("run", *RUN, *SMALL, "--results", results, "--dry-run")
        assert result.returncode == 0, result.stderr
        cells = result.stdout.splitlines()[1].split()
        return cells[0], "done" if "done" in cells else "none"


def installed(folder: Path) -> Kit:
    """The whole package."""
    kit = Kit(folder)
    for name, text in (("__init__.py", ""), ("term.py", TERM), ("arithmetic.py", ARITHMETIC), ("method.py", METHOD)):
        kit.write(name, text)
    kit.offer(ENTRIES)
    return kit
