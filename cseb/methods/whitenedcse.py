"""WhitenedCSE: whitening in groups of dimensions as a layer of training."""

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

WHITENEDCSE = Method(
    name="whitenedcse",
    source="Zhuo et al., ACL 2023, arXiv:2305.17746; authors' code, which does not run, and its README (BERT-base)",
    views=preset("repeated", views=3),
    pooler=preset("cls"),
    head=preset("group_whiten", groups=128, epsilon=1e-5),
    terms=(preset("each_nce", temperature=0.05),),
    recipe=recipe(steps=7_813, batch_size=128, learning_rate=1e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "group_whiten: every view is whitened by itself in groups of its own, as the paper means it; the code cuts its "
        "rows in three blocks of sentences instead of views",
        "group_whiten: the whitening matrix is a constant for the gradient, as in the code, which copies the "
        "covariance. 1e-5 is added to variances, nothing in the code",
        "repeated: three renderings that differ by dropout and groups; the code builds two and its loss needs three, a "
        "flag of its README suggests repeated word pieces instead",
        "recipe: batch 128 and learning rate 1e-5 are the README's command; the script had 64 and 3e-5 before",
        "pooler: the README evaluates with a dense layer and tanh behind [CLS] (`--pooler cls`); ours is tested as its "
        "training chooses checkpoints, by [CLS] alone",
        *SIMCSE.deviations[1:2],
    ),
)
