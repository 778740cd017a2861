"""Contrast made hard: by adversarial masks (L2P-CSR) and views (VaSCL), by mixed negatives (MixCSE)."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

L2P_CSR = Method(
    name="l2p-csr",
    source="Zhou et al., IEEE/ACM TASLP 2023 (L2P-CSR); authors' code and script (BERT)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("learnt_mask_nce", temperature=0.05, points=3, threshold=0.05, ascents=4, size=0.1),),
    recipe=recipe(steps=7_813, batch_size=128, learning_rate=3e-5, warmup=0, max_length=32, eval_every=50),
    deviations=(
        "recipe: the script starts from a checkpoint that it does not name, likely one of SimCSE, at a learning rate "
        "of 1e-6; ours starts from the encoder itself, at SimCSE's rate. The paper was not read",
        "recipe: 128 sentences a step; the script has 128 on each of two devices. Steps are one epoch of 10^6 "
        "sentences",
        "selection: the authors' is an average of dev sets; ours is the dev set of the run",
        "learnt_mask_nce: in the code tokens attend to padding in the perturbed pass; ours masks it",
        "learnt_mask_nce: as in the code a token's score moves by 0.1 whatever the size of its gradient, [CLS] may be "
        "masked, and states that are kept in part are not scaled up",
        "learnt_mask_nce: MLM beside it is off, as in the script (`+mlm`)",
        "other encoders in the authors' code: RoBERTa has `+learnt_mask_nce(points=2)`",
        "pooler: tested before the head (`keep=False`), as the authors' code does",
    ),
)


VASCL = Method(
    name="vascl",
    source="Zhang et al., Findings of ACL 2022, arXiv:2110.08552; authors' code",
    views=preset("dropout"),
    pooler=preset("mean"),
    head=preset("relu_mlp", width=128, rate=100.0),
    terms=(preset("nt_xent", temperature=0.05), preset("virtual_nt_xent", temperature=0.05, neighbours=16, reach=15.0)),
    recipe=recipe(
        steps=4_885,
        batch_size=1_024,
        learning_rate=5e-6,
        warmup=0,
        schedule="constant",
        optimizer="adamw",
        clip=0.0,
        max_length=32,
        eval_every=500,
    ),
    deviations=(
        "virtual_nt_xent: in the code the vectors that are pushed are detached, so that this term trains the head "
        "alone; the text trains the encoder with it (`detach=false`)",
        "virtual_nt_xent: the code adds 1e-8 to the length of the gradient by which it divides; ours adds nothing",
        "virtual_nt_xent: a push of 15 fits the length of RoBERTa's mean vectors; other encoders' differ",
        "relu_mlp: the head learns 100 times as fast, the code's default; its README says 100,000; times a rate far "
        "above the released 5e-6 that is too fast, and `relu_mlp(rate=N)` sets it",
        "recipe: batch 1,024 needs as many sentences; in a smaller subset take `+recipe(batch_size=N)`, one step is "
        "then the whole subset",
        "recipe: the authors' command stops after 100 iterations (`--max_iter 100`), before its first evaluation; "
        "`+recipe(steps=100)` does the same",
        "recipe: steps are five epochs; repeated lines of the corpus are taken out by the authors' code, not by ours, "
        "and are each other's neighbours",
        "recipe: test sentences are not cut at 64 tokens; torch's AdamW without decay is the authors' Adam",
    ),
)


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
