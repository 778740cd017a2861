"""BERT-whitening: finished vectors made isotropic by a linear map."""

from dataclasses import replace

from cseb.methods.spec import preset
from cseb.methods.untrained import FIRST_LAST

BERT_WHITENING = replace(
    FIRST_LAST,
    name="bert-whitening",
    source="Su et al. 2021, arXiv:2103.15316; released code",
    post=preset("whiten"),
    deviations=(
        "whiten: mean and covariance come from the training subset; the paper takes SNLI and MultiNLI, or the "
        "sentences of the tasks themselves, test sentences among them",
        "whiten: 256 of the dimensions, the release's demo; all of them are `+whiten(dimensions=768)` and need a "
        "subset of more sentences, or `shrink` above 0, which the release has not",
        "first_last: first Transformer layer and last; test sentences are not cut at 64 tokens",
        "the release averages correlations of a task's parts; ours pool all pairs, as SimCSE's tables do",
    ),
)
