"""CompCSE: the positive is composed of the two halves of the sentence."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, part, preset, recipe

COMPCSE = Method(
    name="compcse",
    source="Chanchani & Huang, ACL 2023, arXiv:2307.07380: section 4, tables 1 and 6 (BERT-base, d0 = 256)",
    views=preset("halves", k=2),
    pooler=preset("cls"),
    head=preset("mlp"),
    compose=preset("compose", first=256),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "compose: the text aggregates behind the projector; figure 1 and the authors' code before it, and so do we "
        "(`+compose(before_head=false)` is the text)",
        "compose: tables 2 to 5 use all coordinates: `+compose(first=none)`; the half width is D/2, where the authors' "
        "code reads it off the model's name; the authors' max crashes, ours is the element-wise maximum",
        "compose: the paper gives no sizes for concatenate and project; one new linear layer from 2D or 3D to D",
        "halves: the text cuts a sentence at half of its tokens, and the released file comes ready-made; ours are cut "
        "at floor(i T / k) of its T word pieces, which is half of them for k = 2, moved left to a word start, of which "
        "the text says nothing; each part is then cut to the maximum length",
        "halves: a sentence of fewer than k words has a dropout positive; the record's notes say how many there are",
        "halves: the paper's units are those of the discourse parser DMRST, an external resource; `extra=` takes "
        "clauses found by rule, `+unit_halves(file=...)` reads units; the authors' skipping of lopsided trees is not "
        "done; `subsuming` goes down to single units",
        "recipe: as many steps with extra items as without, where the paper trains one epoch of the larger set",
        "recipe: trained in fp16 by the authors; fp32 here",
        *SIMCSE.deviations[2:],
    ),
)

COMPCSE_LARGE = replace(
    COMPCSE,
    name="compcse-large",
    source="Chanchani & Huang, ACL 2023, arXiv:2307.07380: table 1 (BERT-large, + subsuming), table 6 (d0 = 1024)",
    views=preset("halves", k=2, extra="subsuming"),
    compose=preset("compose"),
    recipe=COMPCSE.recipe.updated(part("recipe", learning_rate=1e-5)),
)

COMPCSE_ROBERTA = replace(
    COMPCSE,
    name="compcse-roberta",
    source="Chanchani & Huang, ACL 2023, arXiv:2307.07380: tables 1 and 3 (RoBERTa-base, first and last halves)",
    compose=preset("compose", aggregate="first_last"),
)
