"""The recipe of a method: how it is trained. Checked without torch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal

from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Between, Count, Positive, Rate, Size
from cseb.methods.part_facts import facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Budget, optimiser and batches of one training run.

    steps: optimiser updates, the same at every fraction of the corpus; 0 trains nothing. batch_size: sentences over
    all processes together. warmup: steps from 0 to the full learning rate. schedule: what follows the warm-up.
    optimizer: adamw (torch's); adamw_hf, that of transformers 4, eps 1e-8 added before bias correction, as in the
    trainers of most papers; adamw_uncorrected, the same with eps 1e-6 and no bias correction, as in
    sentence-transformers before 1.0; adamw_hf_matrix_decay and adamw_uncorrected_matrix_decay, the same with weight
    decay on weight matrices only, not on biases and layer norms; rmsprop with the constants of Keras. pieces:
    (step, fraction of the learning rate from there on) of the piecewise schedule, () for the others. clip: largest
    norm of the whole gradient; 0 leaves it alone. max_length: tokens of a training sentence, special tokens
    included, a prompt not. eval_every: steps between evaluations on the dev set. padding: to the longest of the
    batch, to max_length always (fixed), or batches of sentences of similar length (grouped). last_batch: what is
    done with the last, smaller batch of an epoch. precision: tf32 is float32 whose products are rounded to 10 bits,
    on NVIDIA's GPUs. dropout: "model" keeps the rates of the encoder's own configuration. batch: "no_duplicates"
    has no text twice in a batch, after folding of case and white space, in any column; a line that repeats a text
    waits for a later batch, so that an epoch may end with smaller batches (sentence-transformers' NO_DUPLICATES).
    chunk: sentences whose activations are in memory at a time, with loss and gradient of the whole batch; 0 takes
    all of it. activation_checkpointing: store the input of each layer alone, and compute its activations again in
    the backward pass. eval_precision: of the encoder where it embeds sentences, such as on the dev set and the tasks.
    """

    unstated: ClassVar = {
        "batch": "shuffled",
        "chunk": 0,
        "activation_checkpointing": False,
        "eval_precision": "fp32",
    }
    preset: ClassVar = {  # SimCSE, BERT-base, unsupervised (tables and authors' script)
        "steps": 15_625,
        "batch_size": 64,
        "learning_rate": 3e-5,
        "warmup": 0,
        "schedule": "linear",
        "pieces": (),
        "optimizer": "adamw_hf",
        "weight_decay": 0.0,
        "clip": 1.0,
        "max_length": 32,
        "eval_every": 125,
        "precision": "fp32",
        "padding": "longest",
        "last_batch": "keep",
        "dropout": "model",
    }

    steps: Size
    batch_size: Count
    learning_rate: Positive
    warmup: Size
    schedule: Literal["linear", "constant", "piecewise"]
    pieces: tuple[tuple[Size, Rate], ...]
    optimizer: Literal[
        "adamw", "adamw_hf", "adamw_uncorrected", "adamw_hf_matrix_decay", "adamw_uncorrected_matrix_decay", "rmsprop"
    ]
    weight_decay: Rate
    clip: Annotated[float, Between(0, 1e6)]
    max_length: Annotated[int, AtLeast(4)]
    eval_every: Count
    precision: Literal["fp32", "tf32", "bf16", "fp16"]
    padding: Literal["longest", "fixed", "grouped"]
    last_batch: Literal["keep", "drop"]
    dropout: Rate | Literal["model"]
    batch: Literal["shuffled", "no_duplicates"] = "shuffled"
    chunk: Size = 0
    activation_checkpointing: bool = False
    eval_precision: Literal["fp32", "bf16", "fp16"] = "fp32"

    def __post_init__(self) -> None:
        facts("recipe").check({field.name: getattr(self, field.name) for field in fields(self)})
        if self.batch == "no_duplicates" and self.padding == "grouped":
            raise BadSpec("recipe: batch=no_duplicates does not go with padding=grouped; take padding=longest")
        starts = [start for start, _ in self.pieces]
        rising = starts == sorted({*starts}) and starts[:1] in ([], [0])
        if (self.schedule == "piecewise") != bool(self.pieces) or not rising:
            raise BadSpec(
                f"recipe: pieces is {self.pieces!r}; schedule=piecewise needs rising steps from 0 with fractions of "
                "the learning rate, such as pieces=((0, 1.0), (500, 0.8)), others need ()"
            )
