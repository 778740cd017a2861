"""CLSEP, its unsupervised form: noised word vectors under a prompt."""

from cseb.methods.spec import Method, preset

CLSEP_UNSUP = Method(
    name="clsep-unsup",
    source="Wang et al., Knowledge-Based Systems 2023 (CLSEP); released code, its unsupervised folder (BERT-base)",
    views=preset("word_noise", keep=0.6, kinds=(0.3, 0.2, 0.2, 0.3), snr=(6, 11), rate=0.3),
    pooler=preset("mask_prompt", template='This sentence : " [X] " means [MASK].'),
    head=preset("paraphraser", inner=4_096, neck=512),
    terms=(preset("infonce", temperature=0.05),),
    recipe=preset(
        "recipe",
        steps=15_625,
        batch_size=64,
        learning_rate=3e-5,
        warmup=0,
        schedule="linear",
        optimizer="adamw_hf",
        weight_decay=0.01,
        clip=1.0,
        max_length=42,
        eval_every=111,
        dropout="model",
    ),
    deviations=(
        "the release does not run as it is, for two of its modules are not there, and the paper was not read: the spec "
        "follows what the code says; the row in the papers' tables is the supervised form, which is not offered",
        "mask_prompt: the release tests with another template than it trains with; ours is the one of training",
        "word_noise: the release's Fourier noise is its word vectors less one number, and its background noise is near "
        "0, both kept",
        "recipe: the release's 50 tokens hold the prompt, ours come without it: 42 leave 40 pieces of the sentence",
        "recipe: weight decay reaches every weight; the release spares biases and layer normalisation",
    ),
)
