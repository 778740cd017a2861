"""Encoders as they come: the floor rows of every table."""

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
