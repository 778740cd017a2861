"""What `+name` stands for: each part with every option stated, and where its values come from."""

from cseb.methods.spec import part

# Views
DROPOUT = part("dropout")
MULTI_DROPOUT = part("multi_dropout", rates=(0.05, 0.155))  # SCD release, BERT-base
EMBEDDING_EDITS = part("embedding_edits", first="feature_cutoff", second="position_shuffle", rate=0.2)  # ConSERT
SUBWORD_REPEAT = part("subword_repeat", rate=0.32, bound="released", when="step")  # ESimCSE release, BERT
TOKEN_EDITS = part(  # PCL release
    "token_edits", edits=("shuffle", "reverse", "delete", "repeat", "shuffle", "reverse", "delete", "repeat"), rate=0.2
)
SPAN_MASKS = part("span_masks", first=0.2, second=0.4)  # ArcCSE
IDENTITY = part("identity")
PROMPTS = part("prompts", second='This sentence : "[X]" means [MASK].', denoise=True)  # PromptBERT release, BERT
NEGATED_PROMPTS = part("negated_prompts", second='This sentence of "[X]" means [MASK].')  # SNCSE release
REPEATED = part("repeated", views=3)  # WhitenedCSE release
PARAPHRASE = part("paraphrase", file="")
HALVES = part("halves", k=2, side="positive", extra="none")  # CompCSE, table 1
UNIT_HALVES = part("unit_halves", k=2, side="positive", extra="subsuming", file="")
TRIPLES = part("triples")  # the columns of the corpus
PAIRS = part("pairs")

# Parts of a sentence made one view: CompCSE's tables 2 to 5 use all coordinates
COMPOSE = part("compose", aggregate="avg", before_head=True, first=None)
RANDOM_PAIRS = part("random_pairs", negatives=7)  # CT release
SHUFFLE = part("shuffle")
DELETE = part("delete", rate=0.2)  # PCL release; MSSE, figure 8, gives no rate
REPEAT = part("repeat", rate=0.2)
BACK_TRANSLATION = part(  # MSSE, section 3; it names no models
    "back_translation",
    forward="Helsinki-NLP/opus-mt-en-de",
    backward="Helsinki-NLP/opus-mt-de-en",
    beams=4,
    cache="",
)
CHAR_SPAN_MASK = part("char_span_mask", span=5, least=30, in_place="auto")  # Mirror-BERT release

# Poolers
CLS = part("cls")
CLS_POOLER = part("cls_pooler")
MEAN = part("mean")
FIRST_LAST = part("first_last", first=1)  # SimCSE's evaluation since its fix of 2021; 0 is the embedding layer
LAST2 = part("last2")
MEAN_LAST = part("mean_last", training=1, test=2)  # ConSERT release
MASK_PROMPT = part("mask_prompt", template='"[X]" means [MASK].')  # MSSE release
CNN_MEAN = part("cnn_mean", widths=(1, 3, 5))  # IS-BERT release
PADDED_MEAN = part("padded_mean", training=50, test=64)  # Mirror-BERT release: padding counts

# Heads
NONE = part("none")
MLP = part("mlp", keep=False)  # SimCSE, unsupervised: in training only
LINEAR = part("linear", keep=False)  # MSSE release
BN_MLP = part("bn_mlp", inner="2x")  # DiffCSE release: twice the encoder's width
GELU_MLP = part("gelu_mlp", width=4096)  # SG-OPT release
GROUP_WHITEN = part("group_whiten", groups=128, epsilon=1e-5)  # WhitenedCSE; epsilon is ours
RELU_MLP = part("relu_mlp", width=128, rate=100.0)  # VaSCL release
BARLOW_PROJECTOR = part("barlow_projector", width=4096)  # SCD release

# Negatives from outside the batch: miCSE, section 3.1
QUEUE = part("queue", size=384, momentum=0.995, dropout=0.3, mask_self="auto")
MOCO = QUEUE

# Further networks
SECOND_ENCODER = part("second_encoder")
PEER_ENCODER = part("peer_encoder", pooler="auto", attention_mask=True)  # PCL release, its missing mask put right

# After training, on the subset's vectors
WHITEN = part("whiten", dimensions=256, shrink=0.0)  # BERT-whitening release, its demo
FLOW = part(  # BERT-flow release; one epoch of 10^6 sentences; held_out and every are ours
    "flow", levels=3, depth=3, width=32, steps=31_250, batch_size=32, learning_rate=1e-3, held_out=0.1, every=250
)
RANK_MIX = part("rank_mix", cosine=0.9, corpus=10_000)  # RankEncoder, eq. 7; corpus of the released scripts

# Terms
INFONCE = part("infonce", weight=1.0, temperature=0.05, negatives="batch", form="released", hard_weight=1.0)  # SimCSE
NT_XENT = part("nt_xent", weight=1.0, temperature=0.04)  # Mirror-BERT, sentences
BCE_PAIRS = part("bce_pairs", weight=1.0, reduction="mean")  # CT release
ALIGNMENT = part("alignment", weight=1.0)
AMI = part(  # miCSE release: weight of its 0.1 % command
    "ami", weight=1e-3, layers="upper", slicing="layer_stride", valid="positive", samples=150, scale_by_valid=True
)
DCM = part(  # MSSE: the release's form and weight, on the pooled vectors
    "dcm", weight=0.2, form="balanced", centre=True, deviation="population", on="h"
)
LAYER_NOISE = part("layer_noise", weight=0.8, deviation=0.01, scale=20.0)  # MSSE release, in no text
RECONSTRUCT = part(  # MSSE release, with the sentence itself as target
    "reconstruct",
    weight=1.0,
    layers=16,
    heads=1,
    inner=2048,
    dropout=0.1,
    noise="element",
    rate=0.825,
    target="self",
    reduction="token_mean",
)
ENTROPY = part("entropy", weight=0.01, temperature=0.05, all_columns=False)  # RCL, eq. 2; the weight is its phi
REGULATORS = part("regulators", weight=1.0, temperature=0.05, average=False)  # RCL, eq. 3
CROSS_CORRELATION = part("cross_correlation", weight=0.005225, off_diagonal=0.012)  # SCD release, BERT-base
MEAN_COS = part("mean_cos", weight=1.0, temperature=0.05)  # SCD release
SMOOTH = part(  # IS-CSE release, base models
    "smooth", weight=0.1, size=1024, neighbours=16, attention=2.0, temperature=0.05, exclude_same=False
)
JS_CONSISTENCY = part("js_consistency", weight=1.0, temperature=0.05)  # RankCSE, public re-implementation
NEG_ENTROPY = part("neg_entropy", weight=1.0, temperature=0.05)
MIXED_INFONCE = part("mixed_infonce", weight=1.0, temperature=0.05, mix=0.2, form="released")  # MixCSE release
RTD = part(  # DiffCSE release
    "rtd", weight=0.005, rate=0.3, generator="distilbert-base-uncased", fill="argmax_all", on="z", count="all"
)
GROUP_SOFTMAX_BCE = part("group_softmax_bce", weight=1.0, temperature=0.05)  # PCL release
KL_PEERS = part("kl_peers", weight=1.0, temperature=0.05, reduction="element")  # PCL release
MULTI_LAYER_NCE = part("multi_layer_nce", weight=1.0, temperature=0.01, anchor_dropout=True)  # SG-OPT release
L2_TO_INIT = part("l2_to_init", weight=0.1, freeze_embeddings=True)  # SG-OPT release
ARC_NCE = part("arc_nce", weight=1.0, temperature=0.05, margin=10.0)  # ArcCSE; the temperature is SimCSE's
TRIPLET = part("triplet", weight=0.1, margin=0.0)  # ours
MOMENTUM_NCE = part(  # MoCoSE, poster and release
    "momentum_nce", weight=1.0, temperature=0.05, size=512, start=128, momentum=0.85, dropout=0.1
)
BIDIR_MARGIN = part("bidir_margin", weight=1e-3, least=0.1, most=0.3)  # SNCSE release, BERT-base
EACH_NCE = part("each_nce", weight=1.0, temperature=0.05)  # WhitenedCSE release
JSD_LOCAL_GLOBAL = part("jsd_local_global", weight=1.0)  # IS-BERT release
DEBIASED_NCE = part(  # DCLR release, BERT-base
    "debiased_nce", weight=1.0, temperature=0.05, threshold=0.9, noise=1.0, ascents=4, size=1e-3, form="released"
)
VIRTUAL_NT_XENT = part(  # VaSCL release
    "virtual_nt_xent", weight=1.0, temperature=0.05, neighbours=16, reach=15.0, detach=True
)
RANK_MSE = part("rank_mse", weight=0.05, corpus=10_000, low=0.5, high=0.9999)  # RankEncoder release, SimCSE variant
LISTWISE_CE = part("listwise_ce", weight=1.0, student=0.025, teacher=0.0125, group=0.1)  # DistillCSE release

# Trained before the method itself: a SimCSE of the same subset in the place of a released checkpoint
TEACHER = part("teacher", steps=15_625, temperature=0.05, with_head=False)

# Trained before the method itself: RCL, appendix A; at most an epoch of its triples, an evaluation every hundredth
ENTROPY_MODELS = part(
    "entropy_models",
    phis=(0.01, 0.02, 0.03, 0.04),
    steps=4_307,
    every=43,
    patience=3,
    held_out=2_048,
    temperature=0.05,
    all_columns=False,
)

# Noise inside self-attention: RCL, table 1
ATTENTION_DROPOUT = part("attention_dropout", rate=0.1)
DROPHEAD = part("drophead", rate=0.1)
RECONSTRUCTION = part("reconstruction", weight=0.4, form="released")  # InforMin-CL, table 3, BERT-base
MLM = part(
    "mlm", weight=0.1, rate=0.15, corrupt_contrast=False
)  # InforMin-CL, table 4; SimCSE, table D.2; Devlin et al. 2019 for the rate

# Training: SimCSE, BERT-base, unsupervised (tables and released script). Its trainer is that of transformers 4.2.1,
# whose AdamW adds eps before bias correction
RECIPE = part(
    "recipe",
    steps=15_625,
    batch_size=64,
    learning_rate=3e-5,
    warmup=0,
    schedule="linear",
    pieces=(),
    optimizer="adamw_hf",
    weight_decay=0.0,
    clip=1.0,
    max_length=32,
    eval_every=125,
    precision="fp32",
    padding="longest",
    last_batch="keep",
    dropout="model",
)
