"""Finished vectors made isotropic (BERT-whitening, BERT-flow), and whitening as a layer in training (WhitenedCSE)."""

from dataclasses import replace

from cseb.methods.presets import EACH_NCE, FLOW, GROUP_WHITEN, RECIPE, REPEATED, WHITEN
from cseb.methods.simcse import SIMCSE
from cseb.methods.untrained import FIRST_LAST
from cseb.spec import part

BERT_WHITENING = replace(
    FIRST_LAST,
    name="bert-whitening",
    source="Su et al. 2021, arXiv:2103.15316; released code",
    post=WHITEN,
    deviations=(
        "whiten: mean and covariance come from the training subset; the paper takes SNLI and MultiNLI, or the "
        "sentences of the tasks themselves, test sentences among them",
        "whiten: 256 of the dimensions, the release's demo; all of them are `+whiten(dimensions=768)` and need a "
        "subset of more sentences, or `shrink` above 0, which the release has not",
        "first_last: first Transformer layer and last; test sentences are not cut at 64 tokens",
        "the release averages correlations of a task's parts; ours pool all pairs, as SimCSE's tables do",
    ),
)

BERT_FLOW = replace(
    FIRST_LAST,
    name="bert-flow",
    source="Li et al., EMNLP 2020, arXiv:2011.05864; released code (levels 3, depth 3, width 32)",
    post=FLOW,
    deviations=(
        "flow: fitted on the training subset; the paper takes NLI sentences, or the sentences of the tasks themselves, "
        "test sentences among them",
        "flow: a tenth of the subset is held out, and its likelihood chooses the step; the release takes the last one "
        "(`+flow(held_out=0)`). Steps are those of one epoch of 10^6 sentences at every share",
        "flow: the text tells the mean and deviation of the halves that leave early from the others; in the code all "
        "coordinates are standard normal, and so they are here",
        "flow: coordinates are put in a fixed random order before each coupling; AdamW corrects the bias of its first "
        "steps, the code's does not, and decays every weight",
        "first_last: first Transformer layer and last, which is what the release's `avg-last-2` computes; test "
        "sentences are not cut at 64 tokens",
        "published rows are SimCSE's re-run, fitted on NLI; the authors average correlations of a task's parts",
    ),
)

WHITENEDCSE = replace(
    SIMCSE,
    name="whitenedcse",
    source="Zhuo et al., ACL 2023, arXiv:2305.17746; released code, which does not run, and its script (BERT-base)",
    views=REPEATED,
    head=GROUP_WHITEN,
    terms=(EACH_NCE,),
    recipe=RECIPE.updated(part("recipe", steps=7_813, batch_size=128, learning_rate=1e-5)),
    deviations=(
        "group_whiten: every view is whitened by itself in groups of its own, as the paper means it; the code cuts its "
        "rows in three blocks of sentences instead of views",
        "group_whiten: the slope is the exact one, also where two variances are equal; the code has that of an "
        "eigendecomposition, which is infinite there. 1e-5 is added to variances",
        "repeated: three renderings that differ by dropout and groups; the code builds two and its loss needs three, "
        "a flag of its README suggests repeated word pieces instead",
        *SIMCSE.deviations[1:],
    ),
)
