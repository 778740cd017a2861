"""Students of a teacher from elsewhere: regression, relational distillation, ConGen and SCT."""

from dataclasses import replace

from cseb.methods.spec import Method, part, preset, recipe

TEACHER = (
    "outside_teacher: it must be named, `+outside_teacher(encoder='FOLDER')`; rows are marked as having seen its data"
)
WIDTH = (
    "outside_teacher: vectors of another width than the encoder's keep the main directions of the subset's own "
    "vectors, or get zeros; the teacher's own width is `+outside_teacher(width=own)+project(width=E)`"
)
BUDGET = (
    "recipe: one epoch of 10^6 sentences, kept for every fraction; ConGen trains 20 epochs of NLI sentences, SCT ten, "
    "at this batch, learning rate and fraction of warm-up. They evaluate every 64 to 512 steps, ours every 125; they "
    "stop early when the dev set no longer improves, ours does not"
)
DECAY = "recipe: ConGen and SCT have weight decay 0.01, not on biases and layer norms; no weight decay here"
POOLING = (
    "outside_teacher: ConGen and SCT load their teacher, a SimCSE, with mean pooling, which is not how it was trained; "
    "here each teacher is pooled as its own files say"
)
STUDENT = (
    "mean: in ConGen's paper the students of L2 and SKD have a linear layer with tanh of the teacher's width, also at "
    "test; here none. `+outside_teacher(width=own)+project(width=E)` adds a linear layer"
)
OWN_COLUMN = (
    "above that a sentence outside the bank has no column of its own, which takes nearly all of the teacher's "
    "distribution where there is one; the authors' code adds the batch to its queue. `corpus=N` of the subset's size "
    "or more keeps a column for every sentence"
)
DELETED = "delete: a tenth of the word pieces is deleted from the second view, none from sentences of fewer than six; "
VIEW = f"{DELETED}the paper's main rows have back-translations; its table 6 finds deletion as good for BERT-base"

DISTIL_L2 = Method(
    name="distil-l2",
    source="Limkonchotiwat et al., Findings of EMNLP 2022, section 4.2 (L2); Reimers & Gurevych, EMNLP 2020, "
    "arXiv:2004.09813",
    views=preset("identity"),
    pooler=preset("mean"),
    head=preset("none"),
    stages=preset("outside_teacher"),
    terms=(preset("regress"),),
    recipe=recipe(
        steps=7_813,
        batch_size=128,
        learning_rate=5e-5,
        warmup=781,
        optimizer="adamw_uncorrected",
        max_length=128,
        eval_every=125,
    ),
    deviations=(TEACHER, WIDTH, POOLING, STUDENT, BUDGET, "recipe: trained in fp16; fp32 here", DECAY),
)

DISTIL_MSE = replace(
    DISTIL_L2,
    name="distil-mse",
    source="Reimers & Gurevych, EMNLP 2020, arXiv:2004.09813; code of sentence-transformers "
    "(model_distillation.py, MSELoss)",
    terms=(preset("regress", form="mse"),),
    recipe=recipe(
        steps=3_125, batch_size=64, learning_rate=1e-4, warmup=312, optimizer="adamw", max_length=128, eval_every=125
    ),
    deviations=(
        TEACHER,
        "outside_teacher: main directions are of the subset's vectors, the authors' code fits them on 40,000 further "
        "texts",
        "recipe: one epoch of 200,000 sentences, kept for every fraction; trained in fp16, fp32 here",
    ),
)

SKD = replace(
    DISTIL_L2,
    name="skd",
    source="Limkonchotiwat et al., Findings of EMNLP 2022, section 4.2 (SKD)",
    views=preset("delete", rate=0.1),
    terms=(preset("regress", students="each_other"),),
    deviations=(*DISTIL_L2.deviations, VIEW),
)

DISTIL_RELATIONAL = replace(
    DISTIL_L2,
    name="distil-relational",
    source="ours, in no paper: cosines within the batch as the teacher has them, after Park et al. 2019 (relational "
    "distillation); recipe of Limkonchotiwat et al. 2022",
    stages=preset("outside_teacher", width="own"),  # cosines need no equal widths
    terms=(preset("relational"),),
    deviations=(TEACHER, POOLING, *DISTIL_L2.deviations[4:]),
)

CONGEN = replace(
    DISTIL_L2,
    name="congen",
    source="Limkonchotiwat et al., Findings of EMNLP 2022 (ConGen): eq. 1 to 3; authors' code (BERT-base)",
    views=preset("delete", rate=0.1),
    head=preset("mlp", keep=True),
    terms=(preset("bank_ce", teacher=0.05, student=0.07, control=0.5, corpus=10_000),),
    deviations=(
        *(line for line in DISTIL_L2.deviations if line != STUDENT),
        VIEW,
        "bank_ce: the bank is what training draws of the subset (all of it in an epoch), or 10,000 of that; the paper "
        f"fills a queue of 65,536 with sentences that it takes out of training; {OWN_COLUMN}",
    ),
)

SCT = replace(
    DISTIL_L2,
    name="sct",
    source="Limkonchotiwat et al., TACL 2023, arXiv:2311.03228 (SCT): eq. 4, distillation; authors' code (BERT-base)",
    views=preset("delete", rate=0.1),
    terms=(preset("cross_view_kl", teacher=0.04, student=0.05, corpus=10_000),),
    recipe=DISTIL_L2.recipe.updated(part("recipe", learning_rate=1e-4)),
    deviations=(
        *(line for line in DISTIL_L2.deviations if line != STUDENT),
        f"{DELETED}the paper's rows have back-translations and it did not try deletion",
        "cross_view_kl: banks are what training draws of the subset (all of it in an epoch), or 10,000 of that; the "
        f"release fills queues of 65,536 from random unit vectors; {OWN_COLUMN}",
        "delete: the teacher reads the whole sentence for both views, so that both banks and both targets are one: the "
        "loss is ConGen's at other temperatures, without a head. Renderings that lie in a file "
        "(`+paraphrase(file=...)`) or pairs give the teacher two, as in the paper",
        "terms: the paper adds its loss without a teacher; the authors' code starts from an encoder trained by that "
        "instead, and has the distillation alone, as here",
    ),
)
