"""SimCSE and a second task that reads the sentence vector: DiffCSE, InfoCSE."""

from cseb.methods.spec import Method, preset, recipe

DIFFCSE = Method(
    name="diffcse",
    source="Chuang et al., NAACL 2022, arXiv:2204.10298; authors' code and script (BERT-base, STS)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("bn_mlp", inner="2x"),
    terms=(preset("infonce", temperature=0.05), preset("rtd", weight=0.005, rate=0.3)),
    recipe=recipe(steps=31_250, batch_size=64, learning_rate=7e-6, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "rtd: the generator is a further pre-trained model that saw no sentence pairs: data seen is `external`. "
        "`+rtd(generator=self)` takes a frozen copy of the encoder with its own masked-LM head, and data seen is the "
        "subset; where its files hold no such head it is refused",
        "rtd: the text samples from the generator where words are masked and sums over tokens; the code takes its best "
        "guess at every position and averages over all, padding included; we take the code's, for which the weight is "
        "meant (`fill=sample, count=real` come nearest to the text)",
        "rtd: the generator's dropout stays on, as in the code; the text does not say",
        'rtd: for RoBERTa the release\'s generator is distilroberta-base: `+rtd(generator="distilroberta-base")`',
        "recipe: two epochs, twice the steps of SimCSE; trained in fp16 by the authors, fp32 here",
        "pooler: tested before the head, as the authors' code does",
    ),
)


INFOCSE = Method(
    name="infocse",
    source="Wu et al., Findings of EMNLP 2022, arXiv:2210.06432 (InfoCSE); authors' code and script (BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("bn_mlp", inner="2x"),
    terms=(
        preset("infonce", temperature=0.05),
        preset("aux_mlm", weight=1e-5, rate=0.4, layers=2, inner="4x", dropout=0.1),
    ),
    recipe=recipe(steps=31_250, batch_size=64, learning_rate=7e-6, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "start: the authors' code starts from Condenser, BERT trained further on Wikipedia and books with a head on "
        "it; here from the encoder that is named, as all methods, so that the printed 78.85 is not comparable",
        "aux_mlm: the new layers start at random; the authors' code loads Condenser's own where that file exists",
        "aux_mlm: `half` of the encoder's layers are frozen, 6 of BERT-base's 12 as released",
        "aux_mlm: the copy of the masked-LM head is not tied to the frozen word embeddings",
        "aux_mlm: the released weight of 1e-5 brings gradients of the new layers near epsilon of the released AdamW, "
        "1e-8, and they may learn more slowly than the rest; `+aux_mlm(weight=0.001)` is the option",
        "recipe: two epochs, twice the steps of SimCSE; trained in fp16 by the authors, fp32 here",
        "pooler: tested before the head, as the authors' code does",
    ),
)
