"""DistillCSE: a student follows the rankings of a teacher that was trained before it."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import preset

DISTILLCSE = replace(
    SIMCSE,
    name="distillcse",
    source="Xu et al., Findings of EMNLP 2023, arXiv:2310.13499; released code and script (BERT-base)",
    stages=preset("teacher"),
    terms=(preset("infonce"), preset("listwise_ce")),
    recipe=preset("recipe", steps=5_000),
    deviations=(
        "teacher: a SimCSE of the same subset, trained first, one epoch of 10^6 sentences long; the release takes "
        "SimCSE's checkpoint of 10^6 sentences",
        "teacher: one; the paper's best rows have 16, and students as next teachers",
        "listwise_ce: groups are cut by the softmax of plain cosines, as in the code, whose help says tempered",
        "published rows have several or larger teachers, all of 10^6 sentences",
        *SIMCSE.deviations[1:],
    ),
)
