"""PromCSE: prefixes in front of every layer are trained, the encoder is frozen."""

from cseb.methods.spec import Method, preset, recipe

FP16 = "recipe: trained in fp16 by the authors; fp32 here, `+recipe(precision=bf16)` is the option"

PROMCSE = Method(
    name="promcse",
    source="Jiang, Zhang & Wang, Findings of EMNLP 2022, arXiv:2203.06875 (PromCSE); authors' code, BERT-base, "
    "unsupervised",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    tuning=preset("prefix", length=16, dropout=0.1),
    terms=(preset("infonce", temperature=0.05, hard_weight=1.0),),
    recipe=recipe(steps=3_906, batch_size=256, learning_rate=3e-2, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "recipe: the rate, a thousand times SimCSE's, was chosen at one epoch of 10^6 sentences; kept for every "
        "fraction of the corpus",
        "infonce: the authors' RoBERTa commands add masked language modelling, `+mlm(weight=0.1)`; BERT's do not",
        "prefix: a trained encoder cannot be saved, for no checkpoint of its family has prefixes",
        FP16,
    ),
)

PROMCSE_SUP = Method(
    name="promcse-sup",
    source="Jiang, Zhang & Wang, Findings of EMNLP 2022, arXiv:2203.06875 (PromCSE); authors' code, BERT-base, "
    "supervised",
    views=preset("triples"),
    pooler=preset("cls"),
    head=preset("mlp", keep=True),
    tuning=preset("prefix", length=12, dropout=0.1),
    terms=(preset("infonce", temperature=0.05, hard_weight=1.0), preset("hardest_hinge", weight=10.0, margin=0.2)),
    recipe=recipe(steps=10_770, batch_size=256, learning_rate=1e-2, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "recipe: ten epochs of the released triples of supervised SimCSE are 10,770 steps; kept for every fraction",
        "hardest_hinge: its weight of 10 is that of the authors' RoBERTa-large; none is given for BERT-base",
        PROMCSE.deviations[2],
        FP16,
    ),
)
