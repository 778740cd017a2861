"""VaSCL: a sentence against its nearest neighbours and a view made up to be confused with them."""

from cseb.methods.spec import Method, preset, recipe

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
