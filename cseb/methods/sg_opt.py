"""SG-OPT: the layers of a frozen copy of the start are the positives."""

from cseb.methods.spec import Method, preset, recipe

SG_OPT = Method(
    name="sg-opt",
    source="Kim, Yoo & Lee, ACL 2021, arXiv:2106.07345; authors' code (SG-BERT, BERT-base)",
    views=preset("identity"),
    pooler=preset("cls"),
    head=preset("gelu_mlp", width=4_096),
    terms=(preset("multi_layer_nce", temperature=0.01), preset("l2_to_init", weight=0.1)),
    recipe=recipe(steps=1_079, batch_size=16, learning_rate=5e-5, warmup=108, max_length=128, eval_every=50),
    deviations=(
        "data: the paper trains on all sentences of STS-B, test sentences among them, and its rows are no measure for "
        "other text; ours are the subset's",
        "multi_layer_nce: the code means to switch the frozen copy's dropout off, and its training loop switches it on "
        "again; on here (`+multi_layer_nce(anchor_dropout=false)`)",
        "recipe: 1,079 steps are one pass over STS-B's 17,256 sentences at 16; the code's early stop is left out",
        "recipe: the code's AdamW, that of transformers, has betas (0.9, 0.9) and eps 1e-6, ours (0.9, 0.999) and 1e-8",
        "ami: there is one view, and attention maps of two are needed",
    ),
)
