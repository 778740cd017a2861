"""SimCSE: one sentence and two dropout masks; or labels, with contradicting sentences as hard negatives."""

from dataclasses import replace

from cseb.methods.spec import Method, preset, recipe

SIMCSE = Method(
    name="simcse",
    source="Gao, Yao & Chen, EMNLP 2021, arXiv:2104.08821: eq. 1, tables 5 and A.1 (BERT-base, unsupervised)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "recipe: SimCSE's text evaluates every 250 steps, its scripts every 125; we take 125",
        "recipe: trained in fp16 by the authors; fp32 here, `+recipe(precision=bf16)` is the option",
        "pooler: tested before the head (`keep=False`), as the authors' code does without supervision",
    ),
)


SIMCSE_SUP = Method(
    name="simcse-sup",
    source="Gao, Yao & Chen, EMNLP 2021, arXiv:2104.08821: eq. 5, tables 4, 7 and A.1 (BERT-base, supervised)",
    views=preset("triples"),
    pooler=preset("cls"),
    head=preset("mlp", keep=True),
    terms=(preset("infonce", temperature=0.05, hard_weight=1.0),),
    recipe=recipe(steps=1_617, batch_size=512, learning_rate=5e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "triples: the paper counts 314k entailment pairs, the released file has 275601 premises with both kinds; the "
        "corpus must be such lines of TAB-separated triples (`cseb data triples` makes them from SNLI's files)",
        "recipe: three epochs of the released triples are 1617 steps; kept for every fraction of the corpus",
        "recipe: SimCSE's text evaluates every 250 steps, its scripts every 125; we take 125",
        "recipe: trained in fp16 by the authors; fp32 here, `+recipe(precision=bf16)` is the option",
        "infonce: table 7 weighs hard negatives by 0.5, 1 and 2: `+infonce(hard_weight=2.0)`",
    ),
)

SIMCSE_POSITIVES = replace(
    SIMCSE_SUP,
    name="simcse-positives",
    source="Gao, Yao & Chen, EMNLP 2021, arXiv:2104.08821: eq. 1, table 4, row SNLI+MNLI entailment (BERT-base)",
    views=preset("pairs"),
    deviations=(
        "pairs: the paper trains on all 314k entailment pairs; ours are the pairs of the triples, one for each premise",
        *SIMCSE_SUP.deviations[1:4],
    ),
)
