"""PromptBERT: two prompts as views, each vector without what the prompt alone gives."""

from cseb.methods.spec import Method, preset, recipe

PROMPTBERT = Method(
    name="promptbert",
    source="Jiang et al., EMNLP 2022, arXiv:2201.04337; authors' code and script (unsupervised, BERT-base)",
    views=preset("prompts"),
    pooler=preset("mask_prompt", template='This sentence of "[X]" means [MASK].'),
    head=preset("mlp"),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(steps=3_907, batch_size=256, learning_rate=1e-5, warmup=0, max_length=34, eval_every=125),
    deviations=(
        "prompts: the vector of the prompt alone is taken off in training and not at test, as in the final evaluation "
        "of the script; on the dev set the authors' code takes it off, ours does not",
        "test: the script puts a full stop behind sentences without an end mark before the prompt closes; ours are as "
        "they stand",
        "prompts: sentences of one length share the vector of the prompt alone, dropout included, as in the code",
        "recipe: 32 pieces of the sentence, prompt and special tokens on top, as in the code",
        "recipe: trained in fp16 by the authors on one device; fp32 here",
        "other encoders: RoBERTa has single quotes and other words, `+mask_prompt(template=\"This sentence : ' [X] ' "
        'means [MASK].")+prompts(second="The sentence : \' [X] \' means [MASK].")`',
    ),
)
