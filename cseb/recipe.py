"""How a method is trained: the recipe slot of a spec, checked, without torch."""

from __future__ import annotations

from dataclasses import dataclass

from cseb.errors import BadSpec, above, between, one_of, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Budget, optimiser and batches of one training run.

    steps: optimiser updates, the same at every fraction of the corpus; 0 trains nothing. batch_size: sentences over
    all processes together. warmup: steps from 0 to the full learning rate. schedule: what follows the warm-up.
    clip: largest norm of the whole gradient; 0 leaves it alone. max_length: tokens of a training sentence, special
    ones included, a prompt not. eval_every: steps between looks at the dev set. padding: to the longest of the batch,
    to max_length always (fixed), or batches of sentences of like length (grouped). last_batch: what is left of an
    epoch. dropout: "model" keeps the rates of the encoder's own configuration.
    """

    steps: int
    batch_size: int
    learning_rate: float
    warmup: int
    schedule: str
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
        one_of(("linear", "constant"), self.schedule, "recipe: schedule")
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
