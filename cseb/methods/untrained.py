"""Methods that leave the encoder as it is: poolings, SIF, and a map fitted afterwards (whitening, a flow)."""

from dataclasses import replace

from cseb.methods.spec import Method, preset

CLS = Method(
    name="cls",
    source="Devlin et al. 2019; the [CLS] rows of miCSE table 1 and InforMin-CL table 1",
    views=preset("dropout"),
    pooler=preset("cls"),
    head=preset("none"),
    terms=(),
    recipe=preset("recipe", steps=0),
    deviations=("the first token of the last layer, not the pre-trained pooler: `cls+cls_pooler` gives that one",),
)

MEAN = replace(
    CLS,
    name="mean",
    source="Reimers & Gurevych 2019, table 1: average of the last layer",
    pooler=preset("mean"),
    deviations=("special tokens count in the mean, as in SentEval's encoders",),
)

FIRST_LAST = replace(
    CLS,
    name="first_last",
    source="Su et al. 2021; Gao et al. 2021, table 5, row first-last average",
    pooler=preset("first_last", first=1),
    deviations=(
        "first: 1 (first Transformer layer), as in SimCSE's code today; the 56.70 printed for BERT-base used the "
        "embedding layer: `first_last+first_last(first=0)`",
    ),
)


BERT_WHITENING = Method(
    name="bert-whitening",
    source="Su et al. 2021, arXiv:2103.15316; authors' code",
    views=preset("dropout"),
    pooler=preset("first_last", first=1),
    head=preset("none"),
    post=preset("whiten", dimensions=256, shrink=0.0),
    terms=(),
    recipe=preset("recipe", steps=0),
    deviations=(
        "whiten: mean and covariance come from the training subset; the paper takes SNLI and MultiNLI, or the "
        "sentences of the tasks themselves, test sentences among them",
        "whiten: 256 of the dimensions, the authors' demo; all of them are `+whiten(dimensions=768)` and need a subset "
        "of more sentences, or `shrink` above 0, which the authors' code has not",
        "first_last: first Transformer layer and last; test sentences are not cut at 64 tokens",
        "the authors' code averages correlations of a task's parts; ours pool all pairs, as SimCSE's tables do",
    ),
)


BERT_FLOW = Method(
    name="bert-flow",
    source="Li et al., EMNLP 2020, arXiv:2011.05864; authors' code (levels 3, depth 3, width 32)",
    views=preset("dropout"),
    pooler=preset("first_last", first=1),
    head=preset("none"),
    post=preset(
        "flow", levels=3, depth=3, width=32, steps=31_250, batch_size=32, learning_rate=0.001, held_out=0.1, every=250
    ),
    terms=(),
    recipe=preset("recipe", steps=0),
    deviations=(
        "flow: fitted on the training subset; the paper takes NLI sentences, or the sentences of the tasks themselves, "
        "test sentences among them",
        "flow: a tenth of the subset is held out, and its likelihood chooses the step; the authors' code takes the "
        "last one (`+flow(held_out=0)`). Steps are those of one epoch of 10^6 sentences at every fraction",
        "flow: the text tells the mean and deviation of the halves that leave early from the others; in the code all "
        "coordinates are standard normal, and so they are here",
        "flow: coordinates are put in a fixed random order before each coupling; AdamW corrects the bias of its first "
        "steps, the code's does not, and decays every weight",
        "flow: the authors' couplings contain an actnorm behind each hidden layer and scale logarithms by 3; ours have "
        "neither. Behind a level the transformed half leaves in their code, here the half that was kept",
        "first_last: first Transformer layer and last, which is what the authors' `avg-last-2` computes; test "
        "sentences are not cut at 64 tokens",
        "published rows are SimCSE's re-run, fitted on NLI; the authors average correlations of a task's parts",
    ),
)


SIF = Method(
    name="sif",
    source="Arora, Liang & Ma 2017 (ICLR), algorithm 1; authors' code",
    views=preset("dropout"),
    pooler=preset("sif", a=0.001),
    head=preset("none"),
    post=preset("remove_components", count=1),
    terms=(),
    recipe=preset("recipe", steps=0),
    deviations=(
        "sif: frequencies are those of tokens in the training sentences; the authors' code reads those of words in a "
        "large corpus from a file",
        "remove_components: the direction is that of the training sentences; the authors' code takes it from the "
        "sentences of each task",
        "any encoder's states are weighted; the paper has tables of word vectors",
    ),
)

# Mu & Viswanath, ICLR 2018, section 2.2: the mean, and one direction for every hundred coordinates or so.
ALL_BUT_THE_TOP = preset("remove_components", count="hundredth", centre=True)
