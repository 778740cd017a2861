"""InfoCSE: SimCSE, and a masked-LM network that is told the sentence vector."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import preset

INFOCSE = replace(
    SIMCSE,
    name="infocse",
    source="Wu et al., Findings of EMNLP 2022, arXiv:2210.06432 (InfoCSE); released code and script (BERT-base)",
    head=preset("bn_mlp"),
    terms=(preset("infonce"), preset("aux_mlm")),
    recipe=preset("recipe", steps=31_250, learning_rate=7e-6),
    deviations=(
        "start: the release starts from Condenser, BERT trained further on Wikipedia and books with a head on it; here "
        "from the encoder that is named, as all methods, so that the printed 78.85 is not comparable",
        "aux_mlm: the new layers start at random; the release loads Condenser's own where that file exists",
        "aux_mlm: `half` of the encoder's layers are frozen, 6 of BERT-base's 12 as released",
        "aux_mlm: the copy of the masked-LM head is not tied to the frozen word embeddings",
        "aux_mlm: the released weight of 1e-5 brings gradients of the new layers near epsilon of the released AdamW, "
        "1e-8, and they may learn more slowly than the rest; `+aux_mlm(weight=0.001)` is the option",
        "recipe: two epochs, twice the steps of SimCSE; released in fp16, fp32 here",
        *SIMCSE.deviations[2:],
    ),
)
