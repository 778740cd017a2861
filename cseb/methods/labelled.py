"""Pairs with ratings (CoSENT, AnglE, SBERT), or made of sentences with labels (SetFit)."""

from dataclasses import replace

from cseb.methods.spec import Method, preset, recipe

RATED = "rated_pairs: lines `left TAB right TAB score`; ratings are labels, so this method is supervised"
BUDGET = (
    "recipe: four epochs of STS-B's 5,749 training pairs at batch 16 are 1,440 steps, a tenth of them warm-up; kept "
    "for every fraction of the corpus. Steps and learning rate are ours, as usual for SBERT on that set"
)

COSENT = Method(
    name="cosent",
    source="Huang et al., TASLP 2024, doi:10.1109/TASLP.2024.3402087; code of sentence-transformers",
    views=preset("rated_pairs"),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(preset("rank_scores", scale=20.0),),
    recipe=recipe(
        steps=1_440, batch_size=16, learning_rate=2e-5, warmup=144, optimizer="adamw", max_length=75, eval_every=125
    ),
    deviations=(RATED, BUDGET),
)

ANGLE = replace(
    COSENT,
    name="angle",
    source="Li & Li, ACL 2024, arXiv:2309.12871 (AnglE); code of sentence-transformers",
    terms=(preset("rank_scores", scale=20.0, similarity="angle"),),
    deviations=(
        RATED,
        BUDGET,
        "rank_scores: the paper adds CoSENT and InfoNCE; the angle alone here, as in sentence-transformers. It is not "
        "symmetric in a pair; `+rank_scores(similarity=symmetric_angle)` is",
    ),
)

SBERT_REGRESSION = replace(
    COSENT,
    name="sbert-regression",
    source="Reimers & Gurevych, EMNLP 2019, arXiv:1908.10084: regression objective; authors' code",
    terms=(preset("score_mse", lowest=0.0, highest=5.0),),
    deviations=(
        RATED,
        BUDGET,
        "recipe: AdamW of torch, as in today's sentence-transformers; the authors' code of 2019 has no bias correction "
        "and eps 1e-6",
    ),
)


SETFIT = Method(
    name="setfit",
    source="Tunstall et al. 2022, arXiv:2209.11055, section 3; authors' script run_fewshot.py; setfit 1.2",
    views=preset("class_pairs", iterations=20),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(preset("score_mse", lowest=0.0, highest=1.0),),
    recipe=recipe(
        steps=100, batch_size=16, learning_rate=2e-5, warmup=10, optimizer="adamw", max_length=256, eval_every=100
    ),
    deviations=(
        "class_pairs: lines `text TAB label`; the classifier is trained afterwards, on embeddings of the saved encoder",
        "recipe: one pass over all pairs is 2.5 steps per labelled sentence, 100 for eight of each of five classes, as "
        "SST-5 of the paper; kept for every number of sentences, a tenth of them warm-up",
        "recipe: learning rate 2e-5 of setfit and for encoders of the size of BERT. The authors' script has an option "
        "lr=1e-3 and does not pass it on",
        "recipe: weight decay 0 as in setfit 1.2; the authors' script has 0.01, the default of sentence-transformers 2",
    ),
)
