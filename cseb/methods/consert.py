"""ConSERT: two changes at the embedding layer as views, without dropout and without a head."""

from cseb.methods.spec import Method, preset, recipe

CONSERT = Method(
    name="consert",
    source="Yan et al., ACL 2021, arXiv:2105.11741; authors' code and script (BERT-base, unsupervised)",
    views=preset("embedding_edits", rate=0.2),
    pooler=preset("mean_last", training=1, test=2),
    head=preset("none"),
    terms=(preset("nt_xent", weight=0.3, temperature=0.1),),
    recipe=recipe(
        steps=9_300,
        batch_size=96,
        learning_rate=5e-7,
        warmup=930,
        optimizer="adamw_uncorrected",
        weight_decay=0.01,
        max_length=64,
        eval_every=200,
        dropout=0.0,
    ),
    deviations=(
        "data: the paper trains on 89,192 sentences of the seven STS tasks, test sentences among them, and its rows "
        "are no measure for other text; ours are the subset's. Its learning rate may be too low for them",
        "nt_xent: 0.15 times the sum of both directions, each a mean over B, is 0.3 times our mean over 2 B",
        "embedding_edits: 20 % of the features of anchors, shuffled positions of positives, as in the script; others "
        "of the paper: token cutoff (`first=token_cutoff`); element dropout and FGSM are not offered",
        "recipe: 9,300 steps are 10 epochs of the paper's sentences; it stops early after 10 evaluations without a "
        "gain, ours does not",
        "recipe: AdamW without bias correction and with eps 1e-6, as in the script; weight decay reaches every weight, "
        "where the authors' code spares biases and layer normalisation",
        "recipe: BERT-large has length 40, `+recipe(max_length=40)`; half precision in the authors' code, fp32 here",
    ),
)
