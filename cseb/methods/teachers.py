"""Students of models that are trained first and then frozen: RankEncoder, DistillCSE, RankCSE, DCLR."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

RANKENCODER = Method(
    name="rankencoder",
    source="Seonwoo et al., ACL 2023, arXiv:2209.04333; authors' code (SimCSE variant, BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    stages=preset("teacher", steps=15_625, temperature=0.05),
    terms=(preset("infonce", temperature=0.05), preset("rank_mse", weight=0.05, corpus=10_000, low=0.5, high=0.9999)),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "teacher: a SimCSE of the same subset, trained first; the authors' code trains it on 10^6 sentences",
        "recipe: the authors' code chooses by the dev sets of STS-B and SICK-R together; here the benchmark says by "
        "which",
        "rank_mse: the corpus is what training draws of the subset, 10,000 at most; the authors' code takes 10,000 of "
        "10^6, which at 0.1 % is ten times the training data. With a thousand sentences the rankings are coarse",
        "test: cosines of vectors, which any task can use; the paper's score of a pair mixes in a tenth of rank "
        "correlation over the corpus, and `+rank_mix` has it: vectors made longer, whose inner product is that score, "
        "over the training subset in the place of outside sentences, equal values sharing a rank as in SciPy",
        "rank_mix: a score of pairs, which says nothing of transfer or geometry; over 10,000 sentences as in the "
        "scripts, the published numbers over 100,000",
        "rank_mse: equal values are ranked as they stand, as in the code; few pairs of a batch reach 0.5",
        "published rows are those of the SNCSE variant, whose start is a checkpoint of 10^6 sentences",
        *SIMCSE.deviations,
    ),
)


DISTILLCSE = Method(
    name="distillcse",
    source="Xu et al., Findings of EMNLP 2023, arXiv:2310.13499; authors' code and script (BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    stages=preset("teacher", steps=15_625, temperature=0.05),
    terms=(preset("infonce", temperature=0.05), preset("listwise_ce", student=0.025, teacher=0.0125, group=0.1)),
    recipe=recipe(steps=5_000, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "teacher: a SimCSE of the same subset, trained first, one epoch of 10^6 sentences long; the authors' code "
        "takes SimCSE's checkpoint of 10^6 sentences",
        "teacher: one; the paper's best rows have 16, and students as next teachers",
        "listwise_ce: groups are cut by the softmax of plain cosines, as in the code, whose help says tempered",
        "published rows have several or larger teachers, all of 10^6 sentences",
        *SIMCSE.deviations[1:],
    ),
)


RANKCSE = Method(
    name="rankcse",
    source="Liu et al., ACL 2023, arXiv:2305.16726; hyper-parameters of a public re-implementation; MSSE, tables 1 "
    "and 2 (without teachers)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("infonce", temperature=0.05), preset("js_consistency", temperature=0.05)),
    recipe=recipe(steps=7_813, batch_size=128, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "terms: no distillation: its teachers were trained on all 10^6 sentences. MSSE says that its rows have none "
        "either, yet they lie 0.3 to 0.6 below the paper's rows with teachers on every task; ours need not reach them",
        "js_consistency: the paper's term; the public re-implementation clamps the logarithm of the mixture to 1e-7, a "
        "constant, and so maximises entropy instead, `rankcse-released` has that. It also counts probabilities below "
        "1e-7 as 1e-7; ours are as they are",
        "no code of the authors was found; batch 128, weight 1 and temperature 0.05 are the re-implementation's",
        *SIMCSE.deviations[1:],
    ),
)

RANKCSE_RELEASED = replace(
    RANKCSE,
    name="rankcse-released",
    source="public re-implementation of RankCSE (Liu et al., ACL 2023, arXiv:2305.16726), its teachers left out",
    terms=(preset("infonce", temperature=0.05), preset("neg_entropy", temperature=0.05)),
    deviations=(
        RANKCSE.deviations[0],
        "neg_entropy: what the re-implementation computes, up to a constant of 1e-7, where it means js_consistency; "
        "its lowest probability of 1e-7 is ours too",
        *RANKCSE.deviations[2:],
    ),
)


DCLR = Method(
    name="dclr",
    source="Zhou et al., ACL 2022, arXiv:2205.00656; authors' code and script (BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    stages=preset("teacher", steps=7_813, temperature=0.05, with_head=True),
    terms=(preset("debiased_nce", temperature=0.05, threshold=0.9, noise=1.0, ascents=4, size=0.001),),
    recipe=recipe(steps=23_439, batch_size=128, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "teacher: the complementary model is a SimCSE of the same subset, trained first, one epoch in the method's own "
        "batches, its vectors those behind the head; the authors' code takes SimCSE's checkpoint of 10^6 sentences",
        "teacher: its vectors are without dropout; in the code the complementary model stays in training mode, so that "
        "its dropout has a part in what is flagged",
        "debiased_nce: logistic loss of softmax probabilities where flagged logits are set to 0, as in the code; the "
        "text weighs the terms of InfoNCE (`form=weighted`); probabilities are kept below 1 - 1e-6, where the code's "
        "loss is infinite at 1",
        "pooler: in the code padding is attended to in training and on the dev set; ours masks it",
        "pooler: [CLS] and a new head; the code puts the pre-trained pooler before the head (`+cls_pooler`, also then "
        "at test)",
        "selection: the authors' is the mean of STS-B and SICK-R dev, of vectors behind the pre-trained pooler",
        "recipe: three epochs. RoBERTa-base has `+debiased_nce(threshold=0.85, noise=2.5)`; BERT-large starts from a "
        "SimCSE checkpoint",
    ),
)
