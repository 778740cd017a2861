"""SIF: tokens weighted by their frequency, and the direction that all sentences share taken out; nothing is trained."""

from dataclasses import replace

from cseb.methods.spec import preset
from cseb.methods.untrained import MEAN

SIF = replace(
    MEAN,
    name="sif",
    source="Arora, Liang & Ma 2017 (ICLR), algorithm 1; released code",
    pooler=preset("sif"),
    post=preset("remove_components"),
    deviations=(
        "sif: frequencies are those of tokens in the training sentences; the release reads those of words in a large "
        "corpus from a file",
        "remove_components: the direction is that of the training sentences; the release takes it from the sentences "
        "of each task",
        "any encoder's states are weighted; the paper has tables of word vectors, such as `static:glove:6b-50d`",
    ),
)
