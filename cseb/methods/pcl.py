"""PCL: groups of edited sentences as positives, and two networks that learn from each other."""

from dataclasses import replace

from cseb.methods.simcse import SIMCSE
from cseb.methods.spec import Method, preset, recipe

PCL = Method(
    name="pcl",
    source="Wu et al., EMNLP 2022, arXiv:2201.12093; authors' code and README (BERT-base)",
    views=preset("token_edits", rate=0.2),
    pooler=preset("cls"),
    head=preset("mlp"),
    network=preset("peer_encoder"),
    terms=(
        preset("infonce", temperature=0.05),
        preset("group_softmax_bce", temperature=0.05),
        preset("kl_peers", temperature=0.05),
    ),
    recipe=recipe(steps=15_625, batch_size=64, learning_rate=3e-5, warmup=0, max_length=32, eval_every=125),
    deviations=(
        "peer_encoder: in the code the peer is given no attention mask and attends to padding; ours is given one, "
        "`pcl-released` is the code's",
        "peer_encoder: reads through its pre-trained pooler and then the head of the first network, as in the code; in "
        "encoders without one, by the pooler of the method (`pooler=pretrained` refuses them)",
        "group_softmax_bce: the text has a contrast of several positives, the code a logistic loss of softmax "
        "probabilities; we take the code's",
        "kl_peers: averaged over all entries as in the code; `reduction=batchmean` is the divergence itself",
        "token_edits: 8 edits make ten views for each of two networks, ten times the work of SimCSE; fewer are "
        '`+token_edits(edits=("shuffle","delete"))`',
        "recipe: the README's batch is 64, the script's 256; we take 64 (`+recipe(batch_size=256, steps=3907)`)",
        *SIMCSE.deviations[1:],
    ),
)

PCL_RELEASED = replace(
    PCL,
    name="pcl-released",
    source="authors' code of PCL (Wu et al., EMNLP 2022, arXiv:2201.12093), its peer without an attention mask",
    network=preset("peer_encoder", attention_mask=False),
    deviations=PCL.deviations[1:],
)
