"""L2P-CSR: tokens and features masked in the first layers, where it makes the contrast hardest."""

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
