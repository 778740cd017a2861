"""GISTEmbed: a guide says which sentences of a batch are no negatives."""

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

GIST = Method(
    name="gist",
    source="Solatorio 2024, arXiv:2402.16829 (GISTEmbed); authors' code",
    views=preset("pairs"),
    pooler=preset("cls"),
    head=preset("none"),
    stages=preset("outside_teacher", width="own"),  # cosines need no equal widths
    terms=(preset("guided_nce", temperature=0.01, guide="teacher", margin=0.0),),
    recipe=recipe(
        steps=15_625, batch_size=16, learning_rate=5e-6, warmup=1_562, optimizer="adamw", max_length=512, eval_every=125
    ),
    deviations=(
        "outside_teacher: the guide must be named, `+outside_teacher(encoder='FOLDER')`; the authors use UAE-Large",
        "guided_nce: a text beside itself is always left out. In the authors' code it stays if the guide finds it no "
        "closer than the positive, which happens only where the guide sees two equal texts",
        "pairs: the authors use hard negatives as further columns; `gist+triples` reads them where the corpus has them",
        "recipe: the authors train on MEDI and MTEB's training sets for 40 epochs; 15,625 steps here",
        "recipe: the authors train in bf16; fp32 here, because cosines divided by 0.01 need more digits",
    ),
)

GIST_SELF = Method(
    name="gist-self",
    source="ours, in no paper: SimCSE (Gao et al. 2021, eq. 1) with the masks of GISTEmbed (Solatorio 2024), the "
    "encoder its own guide",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("guided_nce", temperature=0.05, margin=0.0, anchors=False, positives=False),),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "guided_nce: what the encoder itself puts closer to a sentence than its other rendering is no negative; the "
        "release asks another model",
        *SIMCSE.deviations,
    ),
)
