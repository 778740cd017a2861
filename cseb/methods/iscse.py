"""IS-CSE: SimCSE, and once more with positives that are smoothed by their neighbours."""

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

ISCSE = Method(
    name="iscse",
    source="He et al., AAAI 2023, arXiv:2305.07424; authors' code and script (BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(
        preset("infonce", temperature=0.05),
        preset("smooth", weight=0.1, size=1_024, neighbours=16, attention=2.0, temperature=0.05),
    ),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "smooth: weight 0.1 throughout, as released for base models; the schedule of large ones (0.005 to 0.05, a "
        "cosine) is not offered",
        "smooth: in subsets below the memory's 1,024 sentences neighbours are mostly earlier vectors of the same "
        "sentence; as released that is allowed, `+smooth(exclude_same=true)` is the option",
        "smooth: the memory is full after 16 batches of 64; the term is 0 before",
        *SIMCSE.deviations[:1],
        *SIMCSE.deviations[2:],
    ),
)
