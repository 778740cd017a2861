"""A decoder writes the sentence from its vector: TSDAE, RetroMAE."""

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


RETROMAE = Method(
    name="retromae",
    source="Xiao et al., EMNLP 2022, arXiv:2205.12035 (RetroMAE); authors' code and command for downstream text",
    views=preset("identity"),
    pooler=preset("cls"),
    head=preset("none"),
    terms=(preset("enhanced_decoding", encoder_rate=0.3, decoder_rate=0.5, inner="4x", dropout=0.1),),
    recipe=recipe(
        steps=15_625,
        batch_size=128,
        learning_rate=1e-4,
        warmup=1_562,
        optimizer="adamw_hf_matrix_decay",
        weight_decay=0.01,
        max_length=150,
        eval_every=500,
    ),
    deviations=(
        "enhanced_decoding: single tokens are masked, each with the same probability; the authors' code masks whole "
        "words, in a fixed proportion of each text",
        "enhanced_decoding: position embeddings and layer norm of the decoder are new, so that it works with every "
        "encoder; in the authors' code they are BERT's",
        "enhanced_decoding: the decoder's mask is drawn for each position; the authors' code draws a set of masks and "
        "gives each position one of them",
        "recipe: AdamW of transformers 4, that of the trainer when the paper appeared; the version that the authors' "
        "code asks for today, 4.34, takes torch's",
        "identity: the clean sentence is encoded too, although only its tokens are read",
        "recipe: rate, warm-up of a tenth, batch and length are the authors' for downstream text (20 epochs of MS "
        "MARCO, from a model of 8 epochs of Wikipedia and books); steps and evaluation interval are ours. Trained in "
        "fp16 by the authors, fp32 here",
    ),
)
