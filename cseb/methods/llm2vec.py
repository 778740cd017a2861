"""LLM2Vec: a decoder that attends to both sides learns to name hidden words, then to tell sentences apart."""

from cseb.methods.spec import Method, preset, recipe

LORA = preset("lora", rank=16, alpha=32.0, targets="all")
BOTH_SIDES = "encoder: `--encoder bidirectional:DECODER`, else attention keeps its causal mask"
SHARED = (
    "lora: all linear layers, those of the authors' code in its families; no dropout of 0.05 on the low-rank path",
    "recipe: trained in bf16 by the authors, fp32 here; it stops 1,000 steps into a linear schedule of three epochs, "
    "constant here",
)

MNTP = Method(
    name="mntp",
    source="BehnamGhader et al., COLM 2024 (LLM2Vec), arXiv:2404.05961: its second step; authors' code",
    views=preset("identity"),
    pooler=preset("mean"),
    head=preset("none"),
    tuning=LORA,
    terms=(preset("mntp", rate=0.2),),
    recipe=recipe(
        steps=1_000,
        batch_size=32,
        learning_rate=5e-5,
        warmup=0,
        schedule="constant",
        optimizer="adamw",
        max_length=512,
        eval_every=100,
    ),
    deviations=(
        BOTH_SIDES,
        "mntp: the blank takes the place of every hidden token; the authors' code does so for Mistral alone, and hides "
        "0.8; for other families it leaves a tenth as it is and puts random words in the place of another tenth",
        "identity: texts are the sentences of the subset; the authors' code cuts WikiText-103 into pieces of 512 "
        "tokens",
        *SHARED,
        "recipe: no rate is given, so that it is the default of transformers' trainer; the evaluations are those of "
        "its evaluation, which chooses nothing there",
    ),
)

LLM2VEC = Method(
    name="llm2vec",
    source="BehnamGhader et al., COLM 2024 (LLM2Vec), arXiv:2404.05961: its third step, without labels; authors' code",
    views=preset("dropout"),
    pooler=preset("mean"),
    head=preset("none"),
    tuning=LORA,
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(
        steps=1_000,
        batch_size=128,
        learning_rate=3e-5,
        warmup=0,
        schedule="constant",
        optimizer="adamw",
        max_length=128,
        eval_every=200,
        dropout=0.3,
    ),
    deviations=(
        BOTH_SIDES,
        "encoder: the paper starts from the model of `mntp`: `cseb run --methods mntp --save-models`, then `--encoder "
        "results/models/KEY`; from any other it is the ablation without that step",
        *SHARED,
        "mean: on lines of Wikipedia without an instruction, the authors' code averages over all positions, padding "
        "included, and leaves out the begin token at test; ours averages over all real tokens",
        "recipe: 0.3 is every rate of the configuration; the authors' code sets that of attention, which is the only "
        "one of Llama, Mistral, Gemma and Qwen; evaluations are as often as the authors' code saves, which chooses "
        "nothing",
    ),
)
