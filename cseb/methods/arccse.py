"""ArcCSE: a margin on the positive's angle, and triplets of more and less hidden sentences."""

from cseb.methods.spec import Method, preset, recipe

ARCCSE = Method(
    name="arccse",
    source="ours, after Zhang et al., ACL 2022 (ArcCSE), of which no code was found: additive margin 10 degrees, "
    "masks of 20 % and 40 %",
    views=preset("span_masks", first=0.2, second=0.4),
    pooler=preset("cls"),
    head=preset("mlp"),
    terms=(preset("arc_nce", temperature=0.05, margin=10.0), preset("triplet", weight=0.1, margin=0.0)),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "triplet: weight 0.1 and margin 0 are ours, and so is the hinge's form; to be chosen on a dev set",
        "arc_nce: temperature 0.05 is SimCSE's; where the widened angle would pass 180 degrees, a line as in ArcFace",
        "span_masks: fractions of the sentence's own word pieces, rounded; of one or two pieces none or one is hidden. "
        "The paper is said to build triplets of long sentences only, ours are of all",
        "recipe: batch, learning rate and steps are SimCSE's; the paper's were not found",
    ),
)
