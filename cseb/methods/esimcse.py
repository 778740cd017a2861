"""ESimCSE: positives with repeated word pieces, and a momentum queue."""

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

ESIMCSE = Method(
    name="esimcse",
    source="Wu et al., COLING 2022, arXiv:2109.04380; authors' code and script (BERT-base)",
    views=preset("subword_repeat", rate=0.32),
    pooler=preset("cls"),
    head=preset("mlp"),
    memory=preset("queue", size=160, momentum=0.995, dropout=0.0),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "queue: the authors' code copies the encoder before its weights are loaded, so that the momentum copy starts "
        "at random and is slow to follow; ours starts from the loaded weights, as the text means it",
        "queue: the copy follows after the optimiser step, in the code before it; in subsets below four queues a "
        "sentence never meets its own old key, in the code it may",
        "subword_repeat: the code repeats once, while it prepares the data, and trains one epoch; ours draws anew at "
        "every step (`+subword_repeat(when=once)` is the other)",
        "subword_repeat: the text draws up to max(2, int(rate n)) repetitions, the code fewer than min(10, int(rate "
        "n)) of them; we take the code's (`bound=paper` is the text's)",
        "other encoders in the authors' code: `+recipe(learning_rate=1e-5)` for all; RoBERTa-base "
        "`+subword_repeat(rate=0.3)`, RoBERTa-large `+subword_repeat(rate=0.28)+queue(size=128)+recipe(dropout=0.15)`",
        *SIMCSE.deviations,
    ),
)
