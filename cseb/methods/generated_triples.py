"""Methods whose positives and hard negatives a language model wrote: SynCSE, MultiCSR and GCSE."""

from dataclasses import replace

from cseb.methods.spec import Method, preset, recipe

FILE = (
    "generated_triples: the corpus is a file of sentence, positive and hard negative with its provenance beside it; "
    "cseb runs no generator, so a row is as low-shot as what its file was written from"
)

SYNCSE = Method(
    name="syncse",
    source="Zhang, Lan & He, EMNLP 2023, arXiv:2305.15077 (SynCSE); authors' script, RoBERTa-base",
    views=preset("generated_triples"),
    pooler=preset("cls"),
    head=preset("mlp", keep=True),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(steps=1_617, batch_size=512, learning_rate=5e-5, warmup=0, max_length=32, eval_every=25),
    deviations=(
        FILE,
        "recipe: three epochs; steps are those of supervised SimCSE, whose file has about as many rows; kept for every "
        "fraction of the corpus",
        "infonce: the authors' script also asks for masked language modelling; `+mlm(weight=0.1)` adds it",
        "selection: the authors choose the checkpoint by the average of the STS tasks; ours by the dev set of the run",
    ),
)

MULTICSR = replace(
    SYNCSE,
    name="multicsr",
    source="Wang et al., NAACL 2024, arXiv:2310.10962 (MultiCSR); authors' code, stage 3",
    head=preset("mlp"),
    stages=preset("outside_teacher", width="own"),  # cosines need no equal widths
    terms=(preset("filtered_bce", temperature=0.05, threshold=0.95),),
    recipe=recipe(steps=6_462, batch_size=128, learning_rate=5e-5, warmup=0, max_length=32, eval_every=25),
    deviations=(
        FILE,
        "stages 1 and 2 of the paper, generation and its filter by the model's own ratings, are outside cseb; what was "
        "filtered, and how, belongs into the provenance",
        "outside_teacher: the frozen model must be named, `+outside_teacher(encoder='FOLDER')`; the authors use an "
        "unsupervised SimCSE trained on 10^6 sentences",
        "outside_teacher: without dropout; in the authors' code the frozen model is in training mode, with dropout",
        "mlp: tested before the head (`--mlp_only_train`), one of the two forms that the authors' command evaluates",
        "recipe: the authors' command has three epochs at batch 128. On as many rows as supervised SimCSE's file has, "
        "they are 6,462 steps, kept for every fraction of the corpus. The authors train in fp16; fp32 here",
    ),
)

GCSE = replace(
    SYNCSE,
    name="gcse",
    source="Lai et al. 2024, arXiv:2409.12887 (GCSE); authors' code, BERT-base",
    head=preset("mlp"),
    stages=preset("outside_teacher", width="own"),  # cosines need no equal widths
    terms=(preset("gaussian_nce", temperature=0.05, alpha=0.17),),
    recipe=recipe(
        steps=15_625,
        batch_size=128,
        learning_rate=1e-5,
        warmup=190,
        schedule="constant",
        optimizer="adamw",
        clip=0.0,
        max_length=64,
        eval_every=125,
    ),
    deviations=(
        FILE,
        "outside_teacher: the frozen model must be named, `+outside_teacher(encoder='FOLDER')`; the authors use one of "
        "their own, whose vectors are those behind its head",
        "mlp: tested before the head, as in the authors' code. Its weights start from N(0, 0.02); there they start as "
        "torch's linear layers, or come from the checkpoint where that has them",
        "gaussian_nce: `+gaussian_nce(alpha=8.58)` is RoBERTa's; two further arguments of the authors' loss have no "
        "effect and are left out",
        "recipe: the authors train two epochs of their own file; 15,625 steps are ours",
        "recipe: the authors' learning rate falls linearly to 0 at step 80,000, which no run reaches; here it stays "
        "constant after the warm-up. Torch's Adam without weight decay and clipping, as in their code",
    ),
)
