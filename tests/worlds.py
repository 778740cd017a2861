"""Small studies with items: what each encoder did on each test sentence, and the points that follow from it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cseb.analysis.item_scores import ItemScores
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.tasks.influence import mean_influence
from tests.factory import record

Floats = np.ndarray


@dataclass
class Answers:
    """A task whose score is the mean of its items, in points: an accuracy if items are 0 and 100."""

    labels: Floats

    def sha256(self) -> str:
        return hashlib.sha256(self.labels.tobytes()).hexdigest()

    def influence(self, items: Floats) -> Floats:
        return mean_influence(items.astype(np.float64))

    def clusters(self) -> Floats:
        return self.labels


@dataclass
class World:
    """Tasks by name, the same for all records, and the items of each record."""

    tasks: Mapping[str, Answers]
    items: dict[str, dict[str, Floats]] = field(default_factory=dict)

    def record(self, method: str, size: int, seed: int, answers: Mapping[str, Floats], **more: object) -> Record:
        """A finished job. answers: task to items (N,); the last and the best checkpoint are the same."""
        names = [f"{task}@1" for task in self.tasks]
        values = [float(np.mean(answers[task])) for task in self.tasks]
        made = record(method, size, seed, values=values, tasks=tuple(names), dev="", **more)
        data = hashlib.sha256("".join(each.sha256() for each in self.tasks.values()).encode()).hexdigest()
        self.items[made.key] = {f"{task}@1/last": answers[task].astype(np.float32) for task in self.tasks}
        return made.model_copy(update={"protocol": replace(made.protocol, data=data)})

    def item_scores(self) -> ItemScores:
        return ItemScores(self._read, self.tasks.__getitem__)

    def _read(self, key: str) -> Mapping[str, Floats]:
        if key not in self.items:
            raise BadResults(f"items/{key}.npz cannot be read")
        return self.items[key]


def study(
    effects: Mapping[str, float], sizes: Sequence[int] = (100,), seeds: int = 5, count: int = 200, noise: float = 0.5
) -> tuple[World, list[Record]]:
    """Two tasks of `count` items; each method is better than the first by so many points, the more the larger the size.

    noise: sd between the seeds of a method, in points; the items of all methods are equally hard.
    """
    rng = np.random.default_rng(7)
    world = World({name: Answers(np.arange(count) // 2) for name in ("one", "two")})
    hard = {name: 20 * rng.standard_normal(count) for name in world.tasks}
    records = []
    for size in sizes:
        for method, effect in effects.items():
            for seed in range(seeds):
                shift = 50 + effect * np.log10(size) / 2 + noise * rng.standard_normal()
                answers = {name: shift + each + rng.standard_normal(count) for name, each in hard.items()}
                records.append(world.record(method, size, seed, answers))
    return world, records
