"""The state of a pre-training run on disk: complete or absent, never lost."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class State:
    """Steps done, held-out figures by step, and hours so far: by the clock, and of the processor (first process)."""

    step: int = 0
    log: list[list[float]] = field(default_factory=list)
    hours: tuple[float, float] = (0.0, 0.0)


class OtherRun(Exception):
    """A checkpoint that was made with other options."""


class Checkpoints:
    """The newest state of a run and the one before it, each a file that is complete or absent."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.newest, self.older = folder / "checkpoint.pt", folder / "checkpoint-before.pt"
        self.identity = json.dumps(identity, sort_keys=True)

    def write(self, state: State, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Replace the older one."""
        part = self.newest.with_suffix(".part")
        held = {"identity": self.identity, "step": state.step, "log": state.log, "hours": list(state.hours)}
        with part.open("wb") as file:
            torch.save(held | {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
            file.flush()
            os.fsync(file.fileno())
        if self.newest.exists():
            self.newest.replace(self.older)
        part.replace(self.newest)

    def read(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> State | None:
        """Where the run stands, weights put back; a damaged file is left for the one before it. Raises: OtherRun."""
        for path in (self.newest, self.older):
            try:
                found = torch.load(path, weights_only=True)
            except FileNotFoundError:
                continue
            except Exception as error:  # whatever is wrong with it, the one before may do
                print(f"{path} cannot be read ({type(error).__name__}); the one before it is tried", flush=True)
                continue
            if found["identity"] != self.identity:
                raise OtherRun(f"{path} is of other options; take another --out, or these: {found['identity']}")
            model.load_state_dict(found["model"])
            optimizer.load_state_dict(found["optimizer"])
            return State(found["step"], found["log"], tuple(found["hours"]))
        return None
