"""Mirror-BERT: a sentence and its masked copy, contrasted both ways, without a head."""

from dataclasses import replace

from cseb.methods.spec import Method, preset, recipe

_SHARED = (
    "recipe: the authors' code takes 50 steps, one pass over 10,000 sentences of STS-B's training split; ours are one "
    "pass over 10^6 sentences at every fraction, `+recipe(steps=50)` is the authors' number",
    "recipe: the authors' code keeps the last checkpoint; read the scores of `last` for that",
    "recipe: half precision in the authors' code; fp32 here. Its AdamW is torch's",
    "char_span_mask: the authors' code writes '[MASK]' for every encoder; we write the encoder's own mask token",
    "ami: with it the tokens of the span are hidden in place, and positions in it do not count; no source says how",
)

MIRROR = Method(
    name="mirror",
    source="Liu et al., EMNLP 2021, arXiv:2104.08027; authors' script for BERT-base, pooled by [CLS]; "
    "miCSE, tables 1 and 2",
    views=preset("char_span_mask", span=5, least=30),
    pooler=preset("cls"),
    head=preset("none"),
    terms=(preset("nt_xent", temperature=0.04),),
    recipe=recipe(
        steps=5_000,
        batch_size=200,
        learning_rate=2e-5,
        warmup=0,
        schedule="constant",
        optimizer="adamw",
        weight_decay=0.01,
        clip=0.0,
        max_length=50,
        eval_every=125,
        last_batch="drop",
    ),
    deviations=_SHARED,
)

MIRROR_AVG = replace(
    MIRROR,
    name="mirror-avg",
    source="Liu et al., EMNLP 2021, arXiv:2104.08027; authors' script for BERT-base, pooled by mean; miCSE, table 2",
    pooler=preset("padded_mean", training=50, test=64),
    deviations=(
        "pooler: the authors' code averages over padding too, 50 positions in training and 64 at test, and so do we; "
        "`mirror-avg+mean` leaves padding out",
        "pooler: the authors' code cuts test sentences at 64 tokens; ours are whole, and longer ones are averaged in "
        "full",
        *_SHARED,
    ),
)
