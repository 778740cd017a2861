"""SIF: tokens weighted by their frequency, and the direction that all sentences share taken out; nothing is trained."""

from cseb.methods.spec import Method, preset

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
        "any encoder's states are weighted; the paper has tables of word vectors, such as `static:glove:6b-50d`",
    ),
)

# Mu & Viswanath, ICLR 2018, section 2.2: the mean, and one direction for every hundred coordinates or so.
ALL_BUT_THE_TOP = preset("remove_components", count="hundredth", centre=True)
