"""GISTEmbed: a guide says which sentences of a batch are no negatives."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.simcse_supervised import SIMCSE_POSITIVES
from cseb.methods.spec import preset

GIST = replace(
    SIMCSE_POSITIVES,
    name="gist",
    source="Solatorio 2024, arXiv:2402.16829 (GISTEmbed); released code",
    head=preset("none"),
    stages=preset("outside_teacher", width="own"),  # cosines need no equal widths
    terms=(preset("guided_nce", temperature=0.01, guide="teacher"),),
    recipe=preset("recipe", steps=15_625, batch_size=16, learning_rate=5e-6, warmup=1_562, max_length=512),
    deviations=(
        "outside_teacher: the guide must be named, `+outside_teacher(encoder='FOLDER')`; the release has UAE-Large",
        "guided_nce: a text beside itself is always left out; in the release it stays where guide and rounding find it "
        "no closer than the positive",
        "pairs: the release has hard negatives as further columns; `gist+triples` reads them where the corpus has them",
        "recipe: the release trains on MEDI and MTEB's training sets for 40 epochs; 15,625 steps here",
        "recipe: released in bf16; fp32 here, since cosines over 0.01 need more digits",
    ),
)

GIST_SELF = replace(
    SIMCSE,
    name="gist-self",
    source="ours, in no paper: SimCSE (Gao et al. 2021, eq. 1) with the masks of GISTEmbed (Solatorio 2024), the "
    "encoder its own guide",
    terms=(preset("guided_nce", anchors=False, positives=False),),
    deviations=(
        "guided_nce: what the encoder itself puts closer to a sentence than its other rendering is no negative; the "
        "release asks another model",
        *SIMCSE.deviations,
    ),
)
