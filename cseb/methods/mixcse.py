"""MixCSE: SimCSE with hard negatives mixed from positives and other sentences."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

MIXCSE = Method(
    name="mixcse",
    source="Zhang et al., AAAI 2022; authors' code and script (BERT-base) for the form and the fraction 0.2",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("mixed_infonce", temperature=0.05, mix=0.2),),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "mixed_infonce: the text adds one mixture of unit vectors per anchor, the code 2 B columns from both views and "
        "mixes vectors as they are; we take the code's, `mixcse-paper` the text's",
        "mixed_infonce: mixtures with more of the anchor's own sentence count with logit 0, as in the code, and are "
        "not taken out",
        "pooler: the code chooses checkpoints by vectors after the head and tests those before it; ours are all before",
        SIMCSE.deviations[0],
    ),
)

MIXCSE_PAPER = replace(
    MIXCSE,
    name="mixcse-paper",
    source="Zhang et al., AAAI 2022, as in the text: one mixture per anchor; optimiser of the authors' code",
    terms=(preset("mixed_infonce", temperature=0.05, mix=0.2, form="paper"),),
    deviations=(
        "mixed_infonce: one mixture of unit vectors per anchor, as in the text; optimiser and fraction are the code's",
        *MIXCSE.deviations[2:],
    ),
)
