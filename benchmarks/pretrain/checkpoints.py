"""The state of a pre-training run on disk: each file is complete or absent, and the one before it is kept."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class State:
    """The progress of a run.

    step: number of steps done. log: held-out figures by step. hours: elapsed and processor hours. warmed_from: step at
    which the learning rate last rose from zero. decay_from: step at which its decay began, or 0.
    """

    step: int = 0
    log: list[list[float]] = field(default_factory=list)
    hours: tuple[float, float] = (0.0, 0.0)
    warmed_from: int = 0
    decay_from: int = 0


class OtherRun(Exception):
    """A checkpoint that is missing or was made with other options."""


class Checkpoints:
    """The two newest states of a run."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.newest, self.older = folder / "checkpoint.pt", folder / "checkpoint-before.pt"
        self.identity = json.dumps(identity, sort_keys=True)

    def write(self, state: State, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write a new state and remove the older one of the two."""
        part = self.newest.with_suffix(".part")
        facts = facts_of(state)
        weights = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        with part.open("wb") as file:
            torch.save({"identity": self.identity, "state": facts} | weights, file)
            file.flush()
            os.fsync(file.fileno())
        if self.newest.exists():
            self.newest.replace(self.older)
        part.replace(self.newest)

    def read(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> State | None:
        """Load the newest readable state into model and optimizer, and return it; None if there is no checkpoint.

        Raises: OtherRun if it was made with other options.
        """
        for path in (self.newest, self.older):
            try:
                checkpoint = torch.load(path, map_location="cpu", weights_only=True)
            except FileNotFoundError:
                continue
            except Exception as error:  # a damaged file, whatever the damage
                print(f"{path} cannot be read ({type(error).__name__}). Using the checkpoint before it.", flush=True)
                continue
            refuse_other(path, checkpoint["identity"], self.identity)
            model.load_state_dict(checkpoint["model"])
            optimizer.load_state_dict(checkpoint["optimizer"])
            return state_of(checkpoint["state"])
        return None


def facts_of(state: State) -> dict[str, Any]:
    """Return a state as JSON has it."""
    return {name: getattr(state, name) for name in State.__slots__} | {"hours": list(state.hours)}


def state_of(facts: dict[str, Any]) -> State:
    """Return the state with these facts."""
    return State(**facts | {"hours": tuple(facts["hours"])})


def refuse_other(path: Path, actual: str, expected: str) -> None:
    """Raise OtherRun if two identities, as JSON, differ."""
    before, now = json.loads(actual), json.loads(expected)
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if names:
        values = ", ".join(f"{name} {before.get(name)}, now {now.get(name)}" for name in names)
        raise OtherRun(f"{path} was made with other options ({values}). Use the same ones or another --out.")
