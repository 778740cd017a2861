"""SimCSE: one sentence, two dropout masks."""

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
