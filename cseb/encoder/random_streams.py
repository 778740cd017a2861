"""Random streams of a training run: each part draws from its own, so adding a part changes no other part's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import TracebackType

import torch
from torch import Generator, Tensor

from cseb.seeds import DROPOUT, INIT, TERMS, stream_seed

State = tuple[Tensor, ...]  # of torch's own generators: the CPU's, and the device's


class RandomStreams:
    """Context in which torch's own generators, above all for dropout, follow named streams.

    The stream "dropout" is active first; `random_stream` switches to another one. Inside a stream, names are relative:
    the head has one stream for the views and another one for calls by a term.
    """

    def __init__(self, seed: int, device: torch.device, rank: int = 0) -> None:
        """rank: of this process; no two processes draw the same numbers."""
        self.seed, self.device, self.rank = seed, device, rank
        self.path = DROPOUT
        self.states: dict[str, State] = {}

    def __enter__(self) -> None:
        self.outer, self.token = self._state(), _CURRENT.set(self)
        self._set(self._new(self.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _CURRENT.reset(self.token)
        self._set(self.outer)

    @contextmanager
    def stream(self, name: str) -> Iterator[None]:
        """Continue the stream `name` where it was left."""
        outer_path, outer_state = self.path, self._state()
        self.path = f"{outer_path}/{name}"
        self._set(self.states.get(self.path) or self._new(self.path))
        try:
            yield
        finally:
            self.states[self.path] = self._state()
            self.path = outer_path
            self._set(outer_state)

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


_CURRENT: ContextVar[RandomStreams | None] = ContextVar("random_streams", default=None)


def random_stream(name: str) -> AbstractContextManager[None]:
    """Return a context in which torch's own generators follow the stream `name`; outside training, an empty one."""
    current = _CURRENT.get()
    return nullcontext() if current is None else current.stream(name)


def replayed() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return the contexts of a forward pass and of its repetition, for `torch.utils.checkpoint`.

    The repetition, which may run in a thread of autograd, continues every stream where the forward pass did.
    """
    current = _CURRENT.get()
    if current is None:
        return nullcontext(), nullcontext()
    path, states = current.path, dict(current.states)

    @contextmanager
    def again() -> Iterator[None]:
        outer, token = (current.path, current.states), _CURRENT.set(current)
        current.path, current.states = path, dict(states)
        try:
            yield
        finally:
            current.path, current.states = outer
            _CURRENT.reset(token)

    return nullcontext(), again()


@contextmanager
def new_weights(seed: int, name: str) -> Iterator[None]:
    """Draw new weights from the stream of the part `name`; torch's generator is restored afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, f"{INIT}/{name}"))
        yield


class TermGenerators:
    """One generator per term, for what it samples itself."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.seed, self.device = seed, device
        self.generators: dict[str, Generator] = {}

    def of(self, name: str) -> Generator:
        """Return the generator of the term `name`, in the state in which it was left."""
        if name not in self.generators:
            self.generators[name] = Generator(self.device).manual_seed(stream_seed(self.seed, f"{TERMS}/{name}"))
        return self.generators[name]
