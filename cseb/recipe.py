"""How a method is trained: the recipe slot of a spec, checked, without torch."""

from __future__ import annotations

from dataclasses import dataclass

from cseb.errors import BadSpec, above, between, one_of, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Budget, optimiser and batches of one training run.

    steps: optimiser updates, the same at every fraction of the corpus; 0 trains nothing. batch_size: sentences over
    all processes together. warmup: steps from 0 to the full learning rate. schedule: what follows the warm-up.
    optimizer: adamw, or rmsprop with the constants of Keras. pieces: (step, share of the learning rate from there on)
    of the piecewise schedule, () for the others. clip: largest norm of the whole gradient; 0 leaves it alone.
    max_length: tokens of a training sentence, special ones included, a prompt not. eval_every: steps between looks at
    the dev set. padding: to the longest of the batch, to max_length always (fixed), or batches of sentences of like
    length (grouped). last_batch: what is left of an epoch. dropout: "model" keeps the rates of the encoder's own
    configuration.
    """

    steps: int
    batch_size: int
    learning_rate: float
    warmup: int
    schedule: str
    pieces: tuple[tuple[int, float], ...]
    optimizer: str
    weight_decay: float
    clip: float
    max_length: int
    eval_every: int
    precision: str
    padding: str
    last_batch: str
    dropout: float | str

    def __post_init__(self) -> None:
        whole(0, self.steps, "recipe: steps")
        whole(1, self.batch_size, "recipe: batch_size")
        above(0, self.learning_rate, "recipe: learning_rate")
        whole(0, self.warmup, "recipe: warmup")
        one_of(("linear", "constant", "piecewise"), self.schedule, "recipe: schedule")
        self._check_pieces()
        one_of(("adamw", "rmsprop"), self.optimizer, "recipe: optimizer")
        between(0, 1, self.weight_decay, "recipe: weight_decay")
        between(0, 1e6, self.clip, "recipe: clip")
        whole(4, self.max_length, "recipe: max_length")
        whole(1, self.eval_every, "recipe: eval_every")
        one_of(("fp32", "bf16", "fp16"), self.precision, "recipe: precision")
        one_of(("longest", "fixed", "grouped"), self.padding, "recipe: padding")
        one_of(("keep", "drop"), self.last_batch, "recipe: last_batch")
        if self.dropout != "model":
            if isinstance(self.dropout, str):
                raise BadSpec(f"recipe: dropout is {self.dropout!r}; allowed: 'model' or a rate between 0 and 1")
            between(0, 1, self.dropout, "recipe: dropout")

    def _check_pieces(self) -> None:
        allowed = "rising steps from 0 with shares, such as pieces=((0, 1.0), (500, 0.8))"
        if (self.schedule == "piecewise") != bool(self.pieces):
            raise BadSpec(f"recipe: pieces is {self.pieces!r}; schedule=piecewise needs {allowed}, others need ()")
        if not self.pieces:
            return
        if not isinstance(self.pieces, tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in self.pieces):
            raise BadSpec(f"recipe: pieces is {self.pieces!r}; allowed: {allowed}")
        starts = [whole(0, start, "recipe: step of pieces") for start, _ in self.pieces]
        if starts[0] != 0 or starts != sorted(set(starts)):
            raise BadSpec(f"recipe: pieces is {self.pieces!r}; allowed: {allowed}")
        for _, share in self.pieces:
            between(0, 1, share, "recipe: share of pieces")
