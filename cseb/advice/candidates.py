"""Who takes part in a race when the user names nobody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cseb.data.checkpoint import CONFIG
from cseb.errors import CsebError
from cseb.experiment.job import Job

# Nothing of these is trained on the corpus by steps: what a training has to beat.
UNTRAINED = ("cls", "mean", "first_last")
# Methods that need nothing but sentences and fit encoders of any depth. Most are pooled by the mean, the better start
# for an encoder that nobody has fine-tuned.
TRAINED = ("simcse+mean", "esimcse+mean", "crops", "ct", "simcse")
# Adam's learning rate scales with 1 / width (Yang et al. 2021, muP); SimCSE's 3e-5 is for 768. A short training of a
# small encoder takes more (benchmarks/demo.yaml): so the papers' rate and ten times that compete.
RATE, WIDTH, TIMES = 3e-5, 768, (1, 10)


def width(folder: Path) -> int:
    """Numbers in a token's vector, from the encoder's configuration; WIDTH where it has no such field."""
    held = json.loads((folder / CONFIG).read_text())
    return int(held.get("hidden_size") or held.get("dim") or WIDTH)


def contestants(folder: Path) -> list[str]:
    """The methods of TRAINED, each at the learning rates that suit the encoder's width."""
    rates = [float(f"{times * RATE * WIDTH / width(folder):.1g}") for times in TIMES]
    return [f"{method}+recipe(learning_rate={rate})" for method in TRAINED for rate in rates]


def fitting(jobs: Sequence[Job]) -> tuple[list[str], dict[str, str]]:
    """Labels of the methods that fit the encoder and the number of sentences, and why others do not."""
    from cseb.training.build import check

    fit: list[str] = []
    unfit: dict[str, str] = {}
    for job in {job.label: job for job in jobs}.values():
        try:
            check(job.method, Path(job.folder), job.trust_remote_code, job.size)
            fit.append(job.label)
        except CsebError as error:
            unfit[job.label] = str(error)
    return fit, unfit
