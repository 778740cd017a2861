"""RCL: frozen models of different certainty as regulators, and the controls it is compared with."""

from dataclasses import replace

from cseb.methods.spec import Method, part, preset, recipe

CONTINUED = Method(
    name="continued",
    source="Tan, Rolland & Tian, NLPCC 2022, arXiv:2209.13241: tables 1 and 3; eq. 3 without regulators",
    views=preset("triples"),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(steps=4_307, batch_size=64, learning_rate=2e-5, warmup=431, max_length=75, eval_every=431),
    deviations=(
        "the paper's start row has no further training and its RCL row has; this is one epoch without regulators",
        "the start model is SRoBERTa trained on NLI (most likely nli-roberta-base-v2): give it with --encoder",
        "controls of table 1: `continued+attention_dropout(rate=0.2)`, `continued+drophead(rate=0.2)`; heads are "
        "dropped at a constant rate, and whole columns of attention (DropAttention) are not offered",
        "infonce: the paper has no temperature; 0.05 here, cosines alone are `temperature=1.0`",
        "recipe: the paper gives batch 64 and one epoch; learning rate, warm-up of a tenth and length 75 are those of "
        "Sentence-Transformers' NLI recipe; evaluated every tenth. Its trainer gave AdamW eps 1e-6, ours is 1e-8",
        "recipe: batches may hold a premise twice; its other entailed sentence is then a false negative",
        "triples: the paper trains on SNLI + MultiNLI; question-answer pairs are `+pairs+recipe(max_length=256)`, at "
        "the appendix's batch of 64, where the length is ours. For them the paper trains several epochs, and starts "
        "its entropy models from a model that was trained on the pairs before; one epoch and the start model here",
    ),
)

ENTROPY_MODEL = replace(
    CONTINUED,
    name="entropy-model",
    source="Tan, Rolland & Tian, NLPCC 2022, arXiv:2209.13241: eq. 2, table 5",
    terms=(preset("infonce", temperature=0.05), preset("entropy", weight=0.01, temperature=0.05)),
    deviations=(
        "one of the four models that `rcl` trains first, here with an epoch of its own; table 5 has phi 0.01 to 0.04, "
        "`+entropy(weight=0.02)`",
        "entropy: the paper has no temperature; 0.05 here. Its sum over all j adds i != j: the positive is left out",
        *CONTINUED.deviations[1:],
    ),
)

ENTROPY_MODELS = preset(
    "entropy_models", phis=(0.01, 0.02, 0.03, 0.04), steps=4_307, every=43, patience=3, held_out=2_048, temperature=0.05
)

RCL = replace(
    CONTINUED,
    name="rcl",
    source="Tan, Rolland & Tian, NLPCC 2022, arXiv:2209.13241: eq. 2 and 3, algorithm 1, tables 3 to 5, appendix A",
    stages=ENTROPY_MODELS,
    terms=(preset("infonce", temperature=0.05), preset("regulators", temperature=0.05)),
    deviations=(
        "no code was released; all is from the equations",
        "infonce, entropy, regulators: the paper has no temperature; 0.05 here, `rcl-literal` has 1.0",
        "entropy: eq. 2 sums over all j and adds i != j; the positive is left out (`all_columns=true` puts it in)",
        "entropy: hard negatives are columns of it as of the first term; eq. 2 knows of positives alone, and the "
        "appendix trains with hard negatives without saying where",
        "entropy_models: the paper stops when the loss has not fallen for 3 steps, which on batches is at once; ours "
        "evaluates on 2,048 held-out triples every 43 steps, for an epoch at most; `entropy_models(every=1, "
        "held_out=0)` takes the paper at its word",
        "entropy_models: the appendix prints the second phi as 0.0, tables 4 and 5 as 0.02; we take 0.02",
        "entropy_models: algorithm 1 loops over negative phi too, tables 4 and 5 and the grid of the appendix have "
        "positive ones alone, and so have we: `+entropy_models(phis=(-0.02,-0.01,0.01,0.02))` is a loop of both",
        "entropy_models: embed without dropout, cut to the training length; the paper does not say",
        "regulators: eq. 3 prints the numerator with ind_j; read ind_i. Hard negatives enter the first term alone",
        *CONTINUED.deviations[1:2],
        *CONTINUED.deviations[4:],
    ),
)

RCL_LITERAL = replace(
    RCL,
    name="rcl-literal",
    source="Tan, Rolland & Tian, NLPCC 2022, arXiv:2209.13241: eq. 2 and 3 as printed, cosines without a temperature",
    stages=ENTROPY_MODELS.updated(part("entropy_models", temperature=1.0)),
    terms=(preset("infonce", temperature=1.0), preset("regulators", temperature=1.0)),
    deviations=(RCL.deviations[0], *RCL.deviations[2:]),
)

RCL_UNSUP = replace(
    RCL,
    name="rcl-unsup",
    source="ours, in no paper: RCL (Tan et al. 2022, eq. 2 and 3) on sentences alone, two dropout masks as the pair",
    views=preset("dropout"),
    pooler=preset("cls"),
    deviations=(
        "this variant is ours; the paper trains on labelled pairs alone. It should start from a simcse encoder",
        *(line for line in RCL.deviations[1:9] if not line.startswith("entropy: hard negatives")),
        "recipe: the paper's epoch, 4,307 steps of 64 pairs, kept for every corpus and fraction: a quarter of 10^6 "
        "sentences, where SimCSE sees all",
    ),
)
