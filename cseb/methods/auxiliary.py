"""SimCSE and a second task that reads the sentence vector: DiffCSE, InfoCSE, InforMin-CL."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
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
        *SIMCSE.deviations[2:],
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
        *SIMCSE.deviations[2:],
    ),
)


INFORMIN_CL = Method(
    name="informin-cl",
    source="Chen et al., COLING 2022, arXiv:2209.10951: eq. 4 and 8, algorithm 1, table 3 (BERT-base)",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("infonce", temperature=0.05), preset("reconstruction", weight=0.4)),
    recipe=recipe(steps=7_813, batch_size=128, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "reconstruction: eq. 8 is a squared distance of the vectors as they are (`form=raw`); the code adds two "
        "mean-squared errors of unit vectors, 2/D times the squared distance; we take the code's reduction",
        "reconstruction: weight 0.4 is table 3's for BERT-base (RoBERTa: 4); the code's default is 1",
        "reconstruction: the text maximises both terms (eq. 4, 8) and minimises their sum; we minimise both",
        "infonce: eq. 4 prints exp(sim)/tau and a 1/B inside the logarithm; the second shifts it by log B",
        "head: linear and tanh in training as the text says; the authors' script trains without a head",
        "mlm: on by default in the code (weight 0.1), optional in the text; off here, `informin-cl-mlm` has it",
        "recipe: learning rate 3e-5 is table 3's, the script has 5e-5; Adam is AdamW without decay, as in SimCSE",
        "recipe: trained in fp16 by the authors; fp32 here, `+recipe(precision=bf16)` is the option",
        "reconstruction: the weight is for D = 768; in other widths the released form is weaker or stronger by 768 / D",
    ),
)

INFORMIN_CL_MLM = replace(
    INFORMIN_CL,
    name="informin-cl-mlm",
    source="Chen et al., COLING 2022, arXiv:2209.10951: tables 4 and 6 (masked-LM weight 0.1)",
    terms=(*INFORMIN_CL.terms, preset("mlm", weight=0.1, rate=0.15)),
    deviations=(
        *(deviation for deviation in INFORMIN_CL.deviations if not deviation.startswith("mlm")),
        "mlm: the code masks in place, so that its contrast sees masked sentences too (`mlm(corrupt_contrast=true)`); "
        "ours sees clean ones, and a smaller drop on STS than table 6 is to be expected",
    ),
)
