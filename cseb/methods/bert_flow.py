"""BERT-flow: finished vectors made isotropic by an invertible network."""

from cseb.methods.spec import Method, preset

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
