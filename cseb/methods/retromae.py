"""RetroMAE: a masked autoencoder whose decoder sees only half of the words and the [CLS] vector."""

from cseb.methods.spec import Method, preset, recipe

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
