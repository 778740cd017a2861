"""BERT-whitening: finished vectors made isotropic by a linear map."""

from cseb.methods.spec import Method, preset

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
