"""DistillCSE: a student follows the rankings of a teacher that was trained before it."""

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

DISTILLCSE = Method(
    name="distillcse",
    source="Xu et al., Findings of EMNLP 2023, arXiv:2310.13499; authors' code and script (BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    stages=preset("teacher", steps=15_625, temperature=0.05),
    terms=(preset("infonce", temperature=0.05), preset("listwise_ce", student=0.025, teacher=0.0125, group=0.1)),
    recipe=recipe(steps=5_000, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "teacher: a SimCSE of the same subset, trained first, one epoch of 10^6 sentences long; the authors' code "
        "takes SimCSE's checkpoint of 10^6 sentences",
        "teacher: one; the paper's best rows have 16, and students as next teachers",
        "listwise_ce: groups are cut by the softmax of plain cosines, as in the code, whose help says tempered",
        "published rows have several or larger teachers, all of 10^6 sentences",
        *SIMCSE.deviations[1:],
    ),
)
