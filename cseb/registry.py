"""Every name a user can type, and where the thing behind it lives. Nothing is imported before it is asked for."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cseb.errors import BadSpec, UnknownName


@dataclass(eq=False)
class Registry(Mapping[str, Any]):
    """Names of one kind; `registry[name]` imports the thing itself, on first use.

    Another package adds a name with one line in its own pyproject.toml, under [project.entry-points."cseb.<kind>"].
    """

    kind: str
    builtin: Mapping[str, str]

    @cached_property
    def targets(self) -> dict[str, str]:
        """Name to "module:attribute": our own names, then those of installed packages. Raises: BadSpec."""
        found = dict(self.builtin)
        from importlib.metadata import entry_points  # a fifth of what this file takes to load

        for point in entry_points(group=f"cseb.{self.kind}"):
            if found.setdefault(point.name, point.value) != point.value:
                raise BadSpec(f"{self.kind} {point.name!r} is both {found[point.name]} and {point.value}")
        return found

    def __getitem__(self, name: str) -> Any:
        if name not in self.targets:
            raise UnknownName(self.kind, name, self.targets)
        try:
            return pkgutil.resolve_name(self.targets[name])
        except (ImportError, AttributeError, ValueError) as error:
            raise BadSpec(f"{self.kind} {name!r} should be {self.targets[name]}, which fails: {error}") from error

    def __contains__(self, name: object) -> bool:
        return name in self.targets

    def __iter__(self) -> Iterator[str]:
        return iter(self.targets)

    def __len__(self) -> int:
        return len(self.targets)


METHODS = Registry(
    "method",
    {
        "cls": "cseb.methods.untrained:CLS",
        "mean": "cseb.methods.untrained:MEAN",
        "first_last": "cseb.methods.untrained:FIRST_LAST",
        "simcse": "cseb.methods.simcse:SIMCSE",
        "micse": "cseb.methods.attention:MICSE",
        "msse": "cseb.methods.dimension:MSSE",
        "simcse-sup": "cseb.methods.supervised:SIMCSE_SUP",
        "simcse-positives": "cseb.methods.supervised:SIMCSE_POSITIVES",
        "continued": "cseb.methods.regulation:CONTINUED",
        "rcl": "cseb.methods.regulation:RCL",
        "rcl-literal": "cseb.methods.regulation:RCL_LITERAL",
        "rcl-unsup": "cseb.methods.regulation:RCL_UNSUP",
        "compcse": "cseb.methods.composition:COMPCSE",
        "compcse-large": "cseb.methods.composition:COMPCSE_LARGE",
        "compcse-roberta": "cseb.methods.composition:COMPCSE_ROBERTA",
        "msse-released": "cseb.methods.dimension:MSSE_RELEASED",
        "msse-literal": "cseb.methods.dimension:MSSE_LITERAL",
        "ct": "cseb.methods.tension:CT",
        "mirror": "cseb.methods.mirror:MIRROR",
        "mirror-avg": "cseb.methods.mirror:MIRROR_AVG",
        "informin-cl": "cseb.methods.information:INFORMIN_CL",
        "informin-cl-mlm": "cseb.methods.information:INFORMIN_CL_MLM",
        "scd": "cseb.methods.decorrelation:SCD",
        "iscse": "cseb.methods.smoothing:ISCSE",
        "rankcse": "cseb.methods.ranking:RANKCSE",
        "rankcse-released": "cseb.methods.ranking:RANKCSE_RELEASED",
        "esimcse": "cseb.methods.repetition:ESIMCSE",
        "consert": "cseb.methods.cutoff:CONSERT",
        "diffcse": "cseb.methods.difference:DIFFCSE",
        "pcl": "cseb.methods.peers:PCL",
        "pcl-released": "cseb.methods.peers:PCL_RELEASED",
        "sg-opt": "cseb.methods.guidance:SG_OPT",
        "arccse": "cseb.methods.angles:ARCCSE",
        "mocose": "cseb.methods.momentum:MOCOSE",
        "sncse": "cseb.methods.negation:SNCSE",
        "promptbert": "cseb.methods.prompts:PROMPTBERT",
        "bert-whitening": "cseb.methods.whitening:BERT_WHITENING",
        "bert-flow": "cseb.methods.whitening:BERT_FLOW",
        "whitenedcse": "cseb.methods.whitening:WHITENEDCSE",
        "isbert": "cseb.methods.local:IS_BERT",
        "dclr": "cseb.methods.debiasing:DCLR",
        "vascl": "cseb.methods.virtual:VASCL",
        "rankencoder": "cseb.methods.teaching:RANKENCODER",
        "distillcse": "cseb.methods.teaching:DISTILLCSE",
        "mixcse": "cseb.methods.mixing:MIXCSE",
        "mixcse-paper": "cseb.methods.mixing:MIXCSE_PAPER",
    },
)

# What `+name` stands for: a part with every option stated. Several presets may share a part (`moco` is a queue).
PRESETS = Registry(
    "part",
    {
        name: f"cseb.methods.presets:{name.upper()}"
        for name in (
            *("dropout", "paraphrase", "back_translation", "shuffle", "delete", "repeat", "char_span_mask"),
            *("random_pairs", "halves", "unit_halves", "triples", "pairs"),
            *("cls", "cls_pooler", "mean", "first_last", "last2", "mask_prompt", "padded_mean"),
            *("none", "mlp", "linear"),
            *("compose", "attention_dropout", "drophead"),
            *("queue", "moco", "entropy_models", "second_encoder"),
            *("infonce", "nt_xent", "bce_pairs", "alignment", "reconstruction", "ami", "dcm", "layer_noise"),
            *("reconstruct", "mlm", "entropy", "regulators"),
            *("multi_dropout", "barlow_projector", "mean_cos", "cross_correlation"),
            *("subword_repeat", "embedding_edits", "mean_last"),
            *("token_edits", "span_masks", "identity", "bn_mlp", "gelu_mlp", "peer_encoder"),
            *("rtd", "group_softmax_bce", "kl_peers", "multi_layer_nce", "l2_to_init", "arc_nce", "triplet"),
            *("smooth", "js_consistency", "neg_entropy", "mixed_infonce"),
            *("prompts", "negated_prompts", "repeated", "cnn_mean", "group_whiten", "relu_mlp", "teacher", "whiten"),
            *("momentum_nce", "bidir_margin", "each_nce", "jsd_local_global", "debiased_nce", "virtual_nt_xent"),
            *("rank_mse", "listwise_ce", "flow", "rank_mix"),
            *("recipe",),
        )
    },
)

# The parts themselves, by the slot of a method they go into. A name belongs to one slot only.
SLOTS = {
    "views": Registry(
        "view",
        {
            "dropout": "cseb.parts.views:Dropout",
            "paraphrase": "cseb.parts.views:Paraphrase",
            "halves": "cseb.parts.composition:Halves",
            "unit_halves": "cseb.parts.composition:UnitHalves",
            "triples": "cseb.parts.columns:Triples",
            "pairs": "cseb.parts.columns:Pairs",
            "back_translation": "cseb.parts.translation:BackTranslation",
            "shuffle": "cseb.parts.edits:Shuffle",
            "delete": "cseb.parts.edits:Delete",
            "repeat": "cseb.parts.edits:Repeat",
            "random_pairs": "cseb.parts.views:RandomPairs",
            "char_span_mask": "cseb.parts.edits:CharSpanMask",
            "subword_repeat": "cseb.parts.rewrites:SubwordRepeat",
            "embedding_edits": "cseb.parts.views:EmbeddingEdits",
            "token_edits": "cseb.parts.rewrites:TokenEdits",
            "span_masks": "cseb.parts.rewrites:SpanMasks",
            "identity": "cseb.parts.views:Identity",
            "multi_dropout": "cseb.parts.views:MultiDropout",
            "prompts": "cseb.parts.prompts:Prompts",
            "negated_prompts": "cseb.parts.prompts:NegatedPrompts",
            "repeated": "cseb.parts.prompts:Repeated",
        },
    ),
    "pooler": Registry(
        "pooler",
        {
            "cls": "cseb.parts.poolers:CLS",
            "cls_pooler": "cseb.parts.poolers:CLSPooler",
            "mean": "cseb.parts.poolers:Mean",
            "first_last": "cseb.parts.poolers:FirstLast",
            "last2": "cseb.parts.poolers:Last2",
            "mask_prompt": "cseb.parts.poolers:MaskPrompt",
            "mean_last": "cseb.parts.poolers:MeanLast",
            "padded_mean": "cseb.parts.poolers:PaddedMean",
            "cnn_mean": "cseb.parts.poolers:CNNMean",
        },
    ),
    "head": Registry(
        "head",
        {
            "none": "cseb.parts.heads:NoHead",
            "mlp": "cseb.parts.heads:MLP",
            "linear": "cseb.parts.heads:Linear",
            "bn_mlp": "cseb.parts.heads:BNMLP",
            "gelu_mlp": "cseb.parts.heads:GELUMLP",
            "barlow_projector": "cseb.parts.heads:BarlowProjector",
            "group_whiten": "cseb.parts.heads:GroupWhiten",
            "relu_mlp": "cseb.parts.heads:ReLUMLP",
        },
    ),
    "compose": Registry("composer", {"compose": "cseb.parts.composition:Compose"}),
    "regulariser": Registry(
        "regulariser",
        {
            "attention_dropout": "cseb.parts.regularisers:AttentionDropout",
            "drophead": "cseb.parts.regularisers:DropHead",
        },
    ),
    "memory": Registry("memory", {"queue": "cseb.parts.memory:Queue"}),
    "stages": Registry(
        "stage", {"entropy_models": "cseb.parts.stages:EntropyModels", "teacher": "cseb.parts.stages:Teacher"}
    ),
    "network": Registry(
        "network",
        {
            "second_encoder": "cseb.parts.networks:SecondEncoder",
            "peer_encoder": "cseb.parts.networks:PeerEncoder",
        },
    ),
    "post": Registry(
        "post-processor",
        {
            "whiten": "cseb.parts.posts:Whiten",
            "flow": "cseb.parts.flow:Flow",
            "rank_mix": "cseb.parts.posts:RankMix",
        },
    ),
    "terms": Registry(
        "term",
        {
            "infonce": "cseb.parts.terms.contrast:InfoNCE",
            "nt_xent": "cseb.parts.terms.pairs:NTXent",
            "bce_pairs": "cseb.parts.terms.pairs:BCEPairs",
            "alignment": "cseb.parts.terms.contrast:Alignment",
            "ami": "cseb.parts.terms.attention:AMI",
            "dcm": "cseb.parts.terms.dimension:DCM",
            "reconstruct": "cseb.parts.terms.decoder:Reconstruct",
            "entropy": "cseb.parts.terms.regulation:Entropy",
            "regulators": "cseb.parts.terms.regulation:Regulators",
            "reconstruction": "cseb.parts.terms.contrast:Reconstruction",
            "layer_noise": "cseb.parts.terms.layers:LayerNoise",
            "mlm": "cseb.parts.terms.language:MLM",
            "mean_cos": "cseb.parts.terms.dimension:MeanCos",
            "cross_correlation": "cseb.parts.terms.dimension:CrossCorrelation",
            "smooth": "cseb.parts.terms.smoothing:Smooth",
            "js_consistency": "cseb.parts.terms.ranking:JSConsistency",
            "neg_entropy": "cseb.parts.terms.ranking:NegEntropy",
            "rtd": "cseb.parts.terms.detection:RTD",
            "group_softmax_bce": "cseb.parts.terms.peers:GroupSoftmaxBCE",
            "kl_peers": "cseb.parts.terms.peers:KLPeers",
            "multi_layer_nce": "cseb.parts.terms.guidance:MultiLayerNCE",
            "l2_to_init": "cseb.parts.terms.guidance:L2ToInit",
            "arc_nce": "cseb.parts.terms.angles:ArcNCE",
            "triplet": "cseb.parts.terms.angles:Triplet",
            "mixed_infonce": "cseb.parts.terms.mixing:MixedInfoNCE",
            "momentum_nce": "cseb.parts.terms.momentum:MomentumNCE",
            "bidir_margin": "cseb.parts.terms.margins:BidirMargin",
            "each_nce": "cseb.parts.terms.contrast:EachNCE",
            "jsd_local_global": "cseb.parts.terms.local:JSDLocalGlobal",
            "debiased_nce": "cseb.parts.terms.debiased:DebiasedNCE",
            "virtual_nt_xent": "cseb.parts.terms.virtual:VirtualNTXent",
            "rank_mse": "cseb.parts.terms.teaching:RankMSE",
            "listwise_ce": "cseb.parts.terms.teaching:ListwiseCE",
        },
    ),
    "recipe": Registry("recipe", {"recipe": "cseb.recipe:Recipe"}),
}

LAUNCHERS = Registry(
    "launcher",
    {
        "local": "cseb.launchers.local:Local",
        "ray": "cseb.launchers.ray:Ray",
        "slurm": "cseb.launchers.slurm:Slurm",
    },
)

_TRANSFER = ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc")

TASKS = Registry(
    "task",
    {
        "sts12": "cseb.tasks.sts:STS12",
        "sts13": "cseb.tasks.sts:STS13",
        "sts14": "cseb.tasks.sts:STS14",
        "sts15": "cseb.tasks.sts:STS15",
        "sts16": "cseb.tasks.sts:STS16",
        "stsb": "cseb.tasks.sts:STSB",
        "sickr": "cseb.tasks.sts:SICKR",
        "stsb-dev": "cseb.tasks.sts:STSB_DEV",
        "sickr-dev": "cseb.tasks.sts:SICKR_DEV",
        **{name: f"cseb.tasks.transfer.labelled:{name.upper()}" for name in _TRANSFER},
        **{f"{name}-fast": f"cseb.tasks.transfer.labelled:{name.upper()}_FAST" for name in _TRANSFER},
        **{f"{name}-logreg": f"cseb.tasks.transfer.labelled:{name.upper()}_LOGREG" for name in _TRANSFER},
        **{f"{name}-exact": f"cseb.exact:{name.upper()}_EXACT" for name in _TRANSFER},
        "stsb-finetune": "cseb.tasks.transfer.relatedness:STSB_FINETUNE",
        "sickr-finetune": "cseb.tasks.transfer.relatedness:SICKR_FINETUNE",
        "mw-topics": "cseb.tasks.transfer.miniature:TOPICS",
        "mw-topics-split": "cseb.tasks.transfer.miniature:TOPICS_SPLIT",
        "mw-paraphrase": "cseb.tasks.transfer.miniature:PARAPHRASE",
        "mw-captions": "cseb.tasks.microworld:CAPTIONS",
        "mw-headlines": "cseb.tasks.microworld:HEADLINES",
        "mw-questions": "cseb.tasks.microworld:QUESTIONS",
        "mw-definitions": "cseb.tasks.microworld:DEFINITIONS",
        "mw-forum": "cseb.tasks.microworld:FORUM",
        "mw-mixed": "cseb.tasks.microworld:MIXED",
        "mw-relations": "cseb.tasks.microworld:RELATIONS",
        "mw-dev": "cseb.tasks.microworld:DEV",
        "faqir": "cseb.tasks.faq:FAQIR",
        "faqir-users": "cseb.tasks.faq:FAQIR_USERS",
        "faqir-useful": "cseb.tasks.faq:FAQIR_USEFUL",
        "cough": "cseb.tasks.faq:COUGH",
        "cough-users": "cseb.tasks.faq:COUGH_USERS",
        "alignment": "cseb.tasks.geometry:ALIGNMENT",
        "uniformity": "cseb.tasks.geometry:UNIFORMITY",
        "anisotropy": "cseb.tasks.geometry:ANISOTROPY",
        "effective-rank": "cseb.tasks.geometry:EFFECTIVE_RANK",
        "mw-faq": "cseb.tasks.miniatures:FAQ",
        "mw-clusters": "cseb.tasks.miniatures:CLUSTERS",
        "mw-alignment": "cseb.tasks.miniatures:ALIGNMENT",
        "mw-uniformity": "cseb.tasks.miniatures:UNIFORMITY",
        "mw-anisotropy": "cseb.tasks.miniatures:ANISOTROPY",
        "mw-effective-rank": "cseb.tasks.miniatures:EFFECTIVE_RANK",
    },
)

# Several tasks under one name, in the order of the papers' tables; rated pairs for choosing a checkpoint are in none.
TASK_GROUPS: Mapping[str, tuple[str, ...]] = {
    "sts": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"),
    "transfer": _TRANSFER,
    "transfer-fast": tuple(f"{name}-fast" for name in _TRANSFER),
    "transfer-logreg": tuple(f"{name}-logreg" for name in _TRANSFER),
    "transfer-exact": tuple(f"{name}-exact" for name in _TRANSFER),
    "relatedness": ("stsb-finetune", "sickr-finetune"),
    "microworld": tuple(
        name for name, where in TASKS.builtin.items() if where.startswith("cseb.tasks.microworld:") and name != "mw-dev"
    ),
    "mw-transfer": ("mw-topics", "mw-topics-split", "mw-paraphrase"),
    "faq": ("faqir", "cough"),
    "mteb-msse": (  # figure 5 of MSSE
        "mteb:AmazonCounterfactualClassification/en",
        "mteb:Banking77Classification",
        "mteb:MassiveIntentClassification/en",
        "mteb:QuoraRetrieval",
        "mteb:AskUbuntuDupQuestions",
    ),
    "geometry": ("alignment", "uniformity", "anisotropy", "effective-rank"),
    "mw-geometry": ("mw-alignment", "mw-uniformity", "mw-anisotropy", "mw-effective-rank"),
}

# Figures that are not points with higher ones better, by the first word of their protocol; averages leave them alone.
SCALES: Mapping[str, str] = {
    "alignment": "0 to 4, lower is better",
    "uniformity": "-8 to 0, lower is better",
    "anisotropy": "mean cosine, lower is better",
    "effective-rank": "1 to width, higher is better",
}

# Raised when the numbers of an unchanged spec would change: older records then count as stale. The default is 1.
VERSIONS: Mapping[str, int] = {"flow": 2, "gelu_mlp": 2, "listwise_ce": 2, "teacher": 2}

# View makers that read several texts from a line of the corpus, joined by TABs: how many a line may have.
COLUMNS: Mapping[str, tuple[int, ...]] = {"triples": (3,), "pairs": (2, 3)}

# What a part has looked at besides the encoder's own pre-training and the training subset.
DATA_SEEN: Mapping[str, str] = {
    "paraphrase": "external",
    "back_translation": "external",
    "unit_halves": "external",
    "triples": "labels",
    "pairs": "labels",
    "rtd": "external",
}
OWN: Mapping[str, tuple[str, str]] = {"rtd": ("generator", "self")}  # with this option it looks at the subset alone

# Options that name files and models from elsewhere. What these hold belongs to the identity of a job.
OUTSIDE: Mapping[str, tuple[str, ...]] = {
    "paraphrase": ("file",),
    "unit_halves": ("file",),
    "back_translation": ("forward", "backward"),
    "rtd": ("generator",),
}
GENERATORS = ("rtd",)  # these models are read like encoders, from the hub too


def slot_of(name: str) -> str:
    """The slot a part of this name goes into. Raises: UnknownName."""
    for slot, registry in SLOTS.items():
        if name in registry:
            return slot
    raise UnknownName("part", name, {*PRESETS, *(known for registry in SLOTS.values() for known in registry)})


def scale_of(protocol: str) -> str:
    """What has to be said of figures of this protocol; "" for points, where higher is better."""
    return SCALES.get(protocol.partition("@")[0].partition("(")[0], "")
