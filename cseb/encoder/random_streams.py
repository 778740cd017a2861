"""Random numbers of a training run, each part's from a stream of its own: adding one never moves another's draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import TracebackType

import torch
from torch import Generator, Tensor

from cseb.seeds import DROPOUT, INIT, TERMS, Seed, stream_seed

State = tuple[Tensor, ...]  # of torch's own generators: the CPU's, and the device's


class Draws:
    """Set torch's own generators, above all for dropout, to named streams: the stream "dropout", and others.

    rank: of this process; no two of them drop the same. `apart` names the streams, and inside another one they are
    further ones: the head has one for the views, and another for what a term asks of it.
    """

    def __init__(self, seed: Seed, device: torch.device, rank: int = 0) -> None:
        self.seed, self.device, self.rank = seed, device, rank
        self.path = DROPOUT
        self.held: dict[str, State] = {}

    def __enter__(self) -> None:
        self.outer, self.token = self._state(), _CURRENT.set(self)
        self._set(self._new(self.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _CURRENT.reset(self.token)
        self._set(self.outer)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The generator of the stream `name`, continued where it was left."""
        outer, before = self.path, self._state()
        self.path = f"{outer}/{name}"
        self._set(self.held.get(self.path) or self._new(self.path))
        try:
            yield
        finally:
            self.held[self.path] = self._state()
            self.path = outer
            self._set(before)

    def _new(self, path: str) -> State:
        seed = stream_seed(self.seed, path) + self.rank
        devices = [torch.device("cpu"), *([] if self.device.type == "cpu" else [self.device])]
        return tuple(Generator(device).manual_seed(seed).get_state() for device in devices)

    def _state(self) -> State:
        own = torch.get_rng_state()
        return (own,) if self.device.type == "cpu" else (own, torch.get_device_module(self.device).get_rng_state())

    def _set(self, state: State) -> None:
        torch.set_rng_state(state[0])
        if self.device.type != "cpu":
            torch.get_device_module(self.device).set_rng_state(state[1])


_CURRENT: ContextVar[Draws | None] = ContextVar("draws", default=None)


def apart(name: str) -> AbstractContextManager[None]:
    """Context in which torch's own generators give the stream `name`; without training they are left alone."""
    current = _CURRENT.get()
    return nullcontext() if current is None else current.of(name)


@contextmanager
def new_weights(seed: Seed, name: str) -> Iterator[None]:
    """Context in which new weights come from the stream of the part `name`; torch's generator is restored after it."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, f"{INIT}/{name}"))
        yield


class Choices:
    """A generator for every term's own choices."""

    def __init__(self, seed: Seed, device: torch.device) -> None:
        self.seed, self.device = seed, device
        self.held: dict[str, Generator] = {}

    def of(self, name: str) -> Generator:
        """The generator of the term `name`, continued where it was left."""
        if name not in self.held:
            self.held[name] = Generator(self.device).manual_seed(stream_seed(self.seed, f"{TERMS}/{name}"))
        return self.held[name]
