"""SimCSE: one sentence, two dropout masks."""

from cseb.methods.presets import CLS, DROPOUT, INFONCE, MLP, RECIPE
from cseb.methods.spec import Method

SIMCSE = Method(
    name="simcse",
    source="Gao, Yao & Chen, EMNLP 2021, arXiv:2104.08821: eq. 1, tables 5 and A.1 (BERT-base, unsupervised)",
    views=DROPOUT,
    pooler=CLS,
    head=MLP,
    terms=(INFONCE,),
    recipe=RECIPE,
    deviations=(
        "recipe: SimCSE's text evaluates every 250 steps, its released scripts every 125; we take 125",
        "recipe: released in fp16; fp32 here, `+recipe(precision=bf16)` is the option",
        "pooler: tested before the head (`keep=False`), as the release does without supervision",
    ),
)
