"""What `+name` stands for: each part with every option stated, and where its values come from."""

from cseb.spec import part

# Views
DROPOUT = part("dropout")
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
MASK_PROMPT = part("mask_prompt", template='"[X]" means [MASK].')  # MSSE release
PADDED_MEAN = part("padded_mean", training=50, test=64)  # Mirror-BERT release: padding counts

# Heads
NONE = part("none")
MLP = part("mlp", keep=False)  # SimCSE, unsupervised: in training only
LINEAR = part("linear", keep=False)  # MSSE release

# Negatives from outside the batch: miCSE, section 3.1
QUEUE = part("queue", size=384, momentum=0.995, dropout=0.3, mask_self="auto")
MOCO = QUEUE

# Further networks
SECOND_ENCODER = part("second_encoder")

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

# Trained before the method itself: RCL, appendix A; at most an epoch of its triples, a look every hundredth
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

# Training: SimCSE, BERT-base, unsupervised (tables and released script)
RECIPE = part(
    "recipe",
    steps=15_625,
    batch_size=64,
    learning_rate=3e-5,
    warmup=0,
    schedule="linear",
    pieces=(),
    optimizer="adamw",
    weight_decay=0.0,
    clip=1.0,
    max_length=32,
    eval_every=125,
    precision="fp32",
    padding="longest",
    last_batch="keep",
    dropout="model",
)
