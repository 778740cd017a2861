"""IS-CSE: SimCSE, and once more with positives that are smoothed by their neighbours."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import preset

ISCSE = replace(
    SIMCSE,
    name="iscse",
    source="He et al., AAAI 2023, arXiv:2305.07424; released code and script (BERT-base)",
    terms=(preset("infonce"), preset("smooth")),
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
