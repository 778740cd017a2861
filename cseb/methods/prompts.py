"""The state of a mask token in a prompt: PromptBERT, SNCSE."""

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


SNCSE = Method(
    name="sncse",
    source="Wang et al., ICIC 2023, arXiv:2201.05979; authors' code and script (BERT-base)",
    views=preset("negated_prompts"),
    pooler=preset("mask_prompt", template='This sentence : "[X]" means [MASK].'),
    head=preset("mlp"),
    terms=(preset("infonce", temperature=0.05), preset("bidir_margin", weight=0.001, least=0.1, most=0.3)),
    recipe=recipe(steps=3_907, batch_size=256, learning_rate=1e-5, warmup=0, max_length=24, eval_every=125),
    deviations=(
        "negated_prompts: the authors' code asks a dependency parser; ours takes the first not out, else puts one "
        "behind the first auxiliary of a closed list, else Not before the sentence, which is also what the authors' "
        "code falls back to",
        "negated_prompts: the authors' code looks sentences up by the raw line after a full stop was appended, so that "
        "every one without end punctuation gets the fallback; ours are all negated by the rule",
        "negated_prompts: the authors' code ends sentences without end punctuation by a full stop, ours stay as they "
        "are",
        "recipe: the authors' 32 tokens hold the prompt, ours come without it: 24 leave 22 pieces of the sentence",
        "bidir_margin: RoBERTa has `+bidir_margin(weight=5e-4)`",
        "compare it with `mean+mask_prompt` of the same template, not with an untrained cls",
    ),
)
