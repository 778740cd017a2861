"""CT: two encoders that must agree on equal sentences and disagree on different ones."""

from dataclasses import replace

from cseb.methods.spec import Method, preset, recipe

CT = Method(
    name="ct",
    source="Carlsson et al., ICLR 2021; authors' code for batches, optimiser and rates; miCSE, tables 1 and 2",
    views=preset("random_pairs", negatives=7),
    pooler=preset("mean"),
    head=preset("none"),
    network=preset("second_encoder"),
    terms=(preset("bce_pairs"),),
    recipe=recipe(
        steps=5_000,
        batch_size=16,
        learning_rate=1e-5,
        warmup=0,
        schedule="piecewise",
        pieces=((0, 1.0), (500, 0.8), (1_000, 0.6), (1_500, 0.4), (2_000, 0.2)),
        optimizer="rmsprop",
        clip=0.0,
        max_length=75,
        eval_every=500,
        last_batch="drop",
        dropout=0.0,
    ),
    deviations=(
        "random_pairs: a batch is 2 collections of 1 positive and 7 negative pairs; the code draws both sides with "
        "replacement, our first side goes through the subset epoch by epoch",
        "random_pairs: the text pairs one sentence with K others; the code's negatives share nothing with the positive",
        "second_encoder: the better of both copies by the dev set, as the code keeps it; without a dev set the second "
        "one, as sentence-transformers does",
        "recipe: 5,000 steps are the code's example; its README says that the released checkpoints had other settings",
        "recipe: RMSprop has Keras' constants (0.9, 1e-7), the latter added to the root rather than under it",
        "recipe: maximum length 75 is the example's, the function's default is 200",
        "bce_pairs: the mean as in the code; sentence-transformers sums (`reduction=sum`)",
        "ami: `ct+ami` compares the two encoders on the positive pairs alone, 2 of 16; no source gives a weight",
    ),
)

CT_SBERT = replace(
    CT,
    name="ct-sbert",
    source="Carlsson et al., ICLR 2021 (CT) from a supervised SBERT; Gao, Yao & Chen, EMNLP 2021, table 5 (CT-SBERT)",
    deviations=(
        "the start is an SBERT trained on NLI (such as bert-base-nli-mean-tokens): give it with --encoder; without it "
        "this is `ct`. The labels that it has seen are the encoder's, which a table does not mark",
        *CT.deviations,
    ),
)
