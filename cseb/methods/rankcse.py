"""RankCSE without its teachers: SimCSE whose views must rank the batch alike."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

RANKCSE = Method(
    name="rankcse",
    source="Liu et al., ACL 2023, arXiv:2305.16726; hyper-parameters of a public re-implementation; MSSE, tables 1 "
    "and 2 (without teachers)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("infonce", temperature=0.05), preset("js_consistency", temperature=0.05)),
    recipe=recipe(steps=7_813, batch_size=128, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "terms: no distillation: its teachers were trained on all 10^6 sentences. MSSE says that its rows have none "
        "either, yet they lie 0.3 to 0.6 below the paper's rows with teachers on every task; ours need not reach them",
        "js_consistency: the paper's term; the public re-implementation clamps the logarithm of the mixture to 1e-7, a "
        "constant, and so maximises entropy instead, `rankcse-released` has that. It also counts probabilities below "
        "1e-7 as 1e-7; ours are as they are",
        "no code of the authors was found; batch 128, weight 1 and temperature 0.05 are the re-implementation's",
        *SIMCSE.deviations[1:],
    ),
)

RANKCSE_RELEASED = replace(
    RANKCSE,
    name="rankcse-released",
    source="public re-implementation of RankCSE (Liu et al., ACL 2023, arXiv:2305.16726), its teachers left out",
    terms=(preset("infonce", temperature=0.05), preset("neg_entropy", temperature=0.05)),
    deviations=(
        RANKCSE.deviations[0],
        "neg_entropy: what the re-implementation computes, up to a constant of 1e-7, where it means js_consistency; "
        "its lowest probability of 1e-7 is ours too",
        *RANKCSE.deviations[2:],
    ),
)
