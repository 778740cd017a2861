"""TSDAE: a sentence with most of its words deleted, from whose vector the whole is written again."""

from cseb.methods.spec import Method, preset

TSDAE = Method(
    name="tsdae",
    source="Wang, Reimers & Gurevych, Findings of EMNLP 2021, arXiv:2104.06979; released code of sentence-transformers",
    views=preset("delete", rate=0.6),
    pooler=preset("cls"),
    head=preset("none"),
    terms=(preset("denoise", layers=1, inner="4x", dropout=0.1),),
    recipe=preset(
        "recipe",
        steps=15_625,
        batch_size=8,
        learning_rate=3e-5,
        warmup=0,
        schedule="constant",
        optimizer="adamw",
        weight_decay=0.0,
        clip=1.0,
        max_length=75,
        eval_every=500,
        dropout="model",
    ),
    deviations=(
        "denoise: a decoder of one new layer, of every encoder; in the release encoder and decoder are one set of "
        "weights (BERT's family alone), with attention onto the one vector in each layer: an affine map of it, as here",
        "delete: six in ten tokens exactly; the release draws each word, and its newer scripts keep six in ten",
        "delete: the clean sentence is encoded too, which nothing reads but its tokens: a step costs more than it must",
        "recipe: rate 3e-5, batch 8, length 75 are the release's; steps and looks at the dev set are ours",
    ),
)
