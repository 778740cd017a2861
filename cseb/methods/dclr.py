"""DCLR: false negatives left out by a complementary model, and noise as further negatives."""

from cseb.methods.spec import Method, preset, recipe

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
