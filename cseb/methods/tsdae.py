"""TSDAE: a sentence with most of its words deleted, from whose vector the whole is written again."""

from cseb.methods.spec import Method, preset, recipe

TSDAE = Method(
    name="tsdae",
    source="Wang, Reimers & Gurevych, Findings of EMNLP 2021, arXiv:2104.06979; code of sentence-transformers",
    views=preset("delete", rate=0.6),
    pooler=preset("cls"),
    head=preset("none"),
    terms=(preset("denoise", layers=1, inner="4x", dropout=0.1),),
    recipe=recipe(
        steps=15_625,
        batch_size=8,
        learning_rate=3e-5,
        warmup=0,
        schedule="constant",
        optimizer="adamw",
        max_length=75,
        eval_every=500,
    ),
    deviations=(
        "denoise: a decoder of one new layer, for every encoder. In the authors' code encoder and decoder share their "
        "weights and the decoder has all layers, which only BERT's family can",
        "denoise: attention to the one sentence vector is written as a linear layer; its softmax is 1. Dropout of that "
        "attention weight is left out",
        "delete: exactly six in ten tokens; the authors draw each word, and their newer scripts keep six in ten",
        "delete: the clean sentence is encoded too, although only its tokens are read: a step costs more than it must",
        "recipe: the gradient is clipped over encoder and decoder together; today's sentence-transformers clips only "
        "that of the encoder",
        "recipe: learning rate 3e-5, batch 8 and length 75 are the authors'; steps and evaluation interval are ours",
    ),
)
