"""Every name a user can type, and where the thing behind it lives. Nothing is imported before it is asked for."""

from __future__ import annotations

import keyword
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from cseb.errors import BadSpec, UnknownName, did_you_mean

GROUP = "cseb."  # how the groups begin under which packages offer names


@dataclass(frozen=True, slots=True)
class Offer:
    """A name that another package puts under "cseb.<kind>". fault: why it cannot be used, "" if it can."""

    kind: str
    name: str
    value: str  # module:attribute
    package: str
    release: str
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.package} {self.release} is left out: {self.fault}"


@cache
def offered() -> tuple[Offer, ...]:
    """Every name that installed packages offer, with what is wrong with it. Their metadata is read, their code is not.

    A name must be one that the grammar can read; a part's must not be that of a part for another slot.
    """
    from importlib.metadata import distributions  # a fifth of what this file takes to load

    found: dict[tuple[str, str, str], Offer] = {}
    for package in distributions():
        for point in package.entry_points:
            if point.group.startswith(GROUP):
                kind = point.group.removeprefix(GROUP)
                offer = Offer(kind, point.name, point.value, package.name, package.version)
                found.setdefault((kind, point.name, package.name), offer)  # the first on the path is the one imported
    return tuple(replace(one, fault=_fault(one)) for one in found.values())


def left_out() -> tuple[str, ...]:
    """Return a line for each name that installed packages offer and that cannot be used, with the reason."""
    return tuple(str(one) for one in offered() if one.fault)


def package_of(kind: str, name: str) -> tuple[str, str]:
    """Name and version of the package that offers this name; ("", "") for our own."""
    return next(
        ((one.package, one.release) for one in offered() if (one.kind, one.name) == (kind, name) and not one.fault),
        ("", ""),
    )


def _fault(one: Offer) -> str:
    if one.kind not in (kinds := {registry.kind for registry in (*SLOTS.values(), METHODS, PRESETS, LAUNCHERS, TASKS)}):
        near = did_you_mean(one.kind, kinds).replace("?", "")
        return f"no group is called {GROUP}{one.kind}; {near} behind {GROUP}"
    pieces = [one.name] if one.kind not in ("method", "task", "launcher") else one.name.split("-")
    if one.kind == "task":
        return "" if re.fullmatch("[A-Za-z0-9_-]+", one.name) else "a name is of letters, digits, _ and -"
    if not all(piece.isascii() and piece.isidentifier() and not keyword.iskeyword(piece) for piece in pieces):
        plain = re.sub("[^A-Za-z0-9_]+", "_", one.name)
        return (
            "a spec cannot name it; letters, digits and _ are needed, a letter first, such as "
            f"{plain if plain[:1].isalpha() else f'my_{plain}'}"
        )
    for slot, registry in SLOTS.items():
        if one.name in registry.builtin and (registry.kind != one.kind or registry.builtin[one.name] != one.value):
            return f"cseb has a part of this name, in the slot {slot}; take another name"
    return ""


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
        for one in offered():
            if one.kind != self.kind or one.fault:
                continue
            if found.setdefault(one.name, one.value) != one.value:
                raise BadSpec(f"{self.kind} {one.name!r} is both {found[one.name]} and {one.value}")
        return found

    def __getitem__(self, name: str) -> Any:
        if name not in self.targets:
            raise UnknownName(self.kind, name, self.targets, left_out())
        try:
            return pkgutil.resolve_name(self.targets[name])
        except Exception as error:  # a third-party module may raise anything
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
        "micse": "cseb.methods.micse:MICSE",
        "msse": "cseb.methods.msse:MSSE",
        "simcse-sup": "cseb.methods.simcse_supervised:SIMCSE_SUP",
        "simcse-positives": "cseb.methods.simcse_supervised:SIMCSE_POSITIVES",
        "continued": "cseb.methods.rcl:CONTINUED",
        "rcl": "cseb.methods.rcl:RCL",
        "rcl-literal": "cseb.methods.rcl:RCL_LITERAL",
        "rcl-unsup": "cseb.methods.rcl:RCL_UNSUP",
        "compcse": "cseb.methods.compcse:COMPCSE",
        "compcse-large": "cseb.methods.compcse:COMPCSE_LARGE",
        "compcse-roberta": "cseb.methods.compcse:COMPCSE_ROBERTA",
        "msse-released": "cseb.methods.msse:MSSE_RELEASED",
        "msse-literal": "cseb.methods.msse:MSSE_LITERAL",
        "ct": "cseb.methods.ct:CT",
        "mirror": "cseb.methods.mirror_bert:MIRROR",
        "mirror-avg": "cseb.methods.mirror_bert:MIRROR_AVG",
        "informin-cl": "cseb.methods.informin_cl:INFORMIN_CL",
        "informin-cl-mlm": "cseb.methods.informin_cl:INFORMIN_CL_MLM",
        "scd": "cseb.methods.scd:SCD",
        "iscse": "cseb.methods.iscse:ISCSE",
        "rankcse": "cseb.methods.rankcse:RANKCSE",
        "rankcse-released": "cseb.methods.rankcse:RANKCSE_RELEASED",
        "esimcse": "cseb.methods.esimcse:ESIMCSE",
        "consert": "cseb.methods.consert:CONSERT",
        "diffcse": "cseb.methods.diffcse:DIFFCSE",
        "infocse": "cseb.methods.infocse:INFOCSE",
        "pt-bert": "cseb.methods.pt_bert:PT_BERT",
        "pt-bert-released": "cseb.methods.pt_bert:PT_BERT_RELEASED",
        "pcl": "cseb.methods.pcl:PCL",
        "pcl-released": "cseb.methods.pcl:PCL_RELEASED",
        "sg-opt": "cseb.methods.sg_opt:SG_OPT",
        "arccse": "cseb.methods.arccse:ARCCSE",
        "mocose": "cseb.methods.mocose:MOCOSE",
        "sncse": "cseb.methods.sncse:SNCSE",
        "promptbert": "cseb.methods.promptbert:PROMPTBERT",
        "clsep-unsup": "cseb.methods.clsep:CLSEP_UNSUP",
        "bert-whitening": "cseb.methods.bert_whitening:BERT_WHITENING",
        "bert-flow": "cseb.methods.bert_flow:BERT_FLOW",
        "sif": "cseb.methods.sif:SIF",
        "whitenedcse": "cseb.methods.whitenedcse:WHITENEDCSE",
        "isbert": "cseb.methods.is_bert:IS_BERT",
        "dclr": "cseb.methods.dclr:DCLR",
        "vascl": "cseb.methods.vascl:VASCL",
        "rankencoder": "cseb.methods.rankencoder:RANKENCODER",
        "distillcse": "cseb.methods.distillcse:DISTILLCSE",
        "mixcse": "cseb.methods.mixcse:MIXCSE",
        "mixcse-paper": "cseb.methods.mixcse:MIXCSE_PAPER",
        "crops": "cseb.methods.crops:CROPS",
        "l2p-csr": "cseb.methods.l2p_csr:L2P_CSR",
        "declutr": "cseb.methods.declutr:DECLUTR",
        "declutr-sentence": "cseb.methods.declutr:DECLUTR_SENTENCE",
        "tsdae": "cseb.methods.tsdae:TSDAE",
        "retromae": "cseb.methods.retromae:RETROMAE",
        "ct-sbert": "cseb.methods.ct:CT_SBERT",
        "entropy-model": "cseb.methods.rcl:ENTROPY_MODEL",
        "gist": "cseb.methods.gist:GIST",
        "gist-self": "cseb.methods.gist:GIST_SELF",
        "promcse": "cseb.methods.promcse:PROMCSE",
        "promcse-sup": "cseb.methods.promcse:PROMCSE_SUP",
        "mntp": "cseb.methods.llm2vec:MNTP",
        "llm2vec": "cseb.methods.llm2vec:LLM2VEC",
        "syncse": "cseb.methods.generated_triples:SYNCSE",
        "multicsr": "cseb.methods.generated_triples:MULTICSR",
        "gcse": "cseb.methods.generated_triples:GCSE",
        "cosent": "cseb.methods.rated_pairs:COSENT",
        "angle": "cseb.methods.rated_pairs:ANGLE",
        "sbert-regression": "cseb.methods.rated_pairs:SBERT_REGRESSION",
        "distil-l2": "cseb.methods.outside_teachers:DISTIL_L2",
        "distil-mse": "cseb.methods.outside_teachers:DISTIL_MSE",
        "distil-relational": "cseb.methods.outside_teachers:DISTIL_RELATIONAL",
        "skd": "cseb.methods.outside_teachers:SKD",
        "congen": "cseb.methods.outside_teachers:CONGEN",
        "sct": "cseb.methods.outside_teachers:SCT",
    },
)

# Further names for a part with options of its own; otherwise `+name` puts in the part with what its class presets.
PRESETS = Registry(
    "part",
    {"moco": "cseb.methods.micse:QUEUE", "all_but_the_top": "cseb.methods.component_removal:ALL_BUT_THE_TOP"},
)

# The parts themselves, by the slot of a method they go into. A name belongs to one slot only.
SLOTS = {
    "views": Registry(
        "view",
        {
            "dropout": "cseb.parts.views:Dropout",
            "paraphrase": "cseb.parts.views:Paraphrase",
            "halves": "cseb.parts.part_composition:Halves",
            "unit_halves": "cseb.parts.part_composition:UnitHalves",
            "triples": "cseb.parts.labelled_views:Triples",
            "pairs": "cseb.parts.labelled_views:Pairs",
            "generated_triples": "cseb.parts.labelled_views:GeneratedTriples",
            "back_translation": "cseb.parts.back_translation:BackTranslation",
            "shuffle": "cseb.parts.online_augment:Shuffle",
            "delete": "cseb.parts.online_augment:Delete",
            "repeat": "cseb.parts.online_augment:Repeat",
            "random_pairs": "cseb.parts.views:RandomPairs",
            "char_span_mask": "cseb.parts.online_augment:CharSpanMask",
            "subword_repeat": "cseb.parts.online_augment:SubwordRepeat",
            "embedding_edits": "cseb.parts.views:EmbeddingEdits",
            "token_edits": "cseb.parts.online_augment:TokenEdits",
            "span_masks": "cseb.parts.online_augment:SpanMasks",
            "identity": "cseb.parts.views:Identity",
            "multi_dropout": "cseb.parts.views:MultiDropout",
            "prompts": "cseb.parts.prompt_views:Prompts",
            "negated_prompts": "cseb.parts.prompt_views:NegatedPrompts",
            "repeated": "cseb.parts.prompt_views:Repeated",
            "crop": "cseb.parts.crops:Crop",
            "spans": "cseb.parts.spans:Spans",
            "word_noise": "cseb.parts.word_noise:WordNoise",
            "rated_pairs": "cseb.parts.labelled_views:RatedPairs",
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
            "last": "cseb.parts.poolers:Last",
            "weighted_mean": "cseb.parts.poolers:WeightedMean",
            "sif": "cseb.parts.poolers:SIF",
            "end_prompt": "cseb.parts.poolers:EndPrompt",
            "pseudo_tokens": "cseb.parts.pseudo_tokens:PseudoTokens",
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
            "project": "cseb.parts.heads:Project",
            "paraphraser": "cseb.parts.heads:Paraphraser",
        },
    ),
    "compose": Registry("composer", {"compose": "cseb.parts.part_composition:Compose"}),
    "regulariser": Registry(
        "regulariser",
        {
            "attention_dropout": "cseb.parts.regularisers:AttentionDropout",
            "drophead": "cseb.parts.regularisers:DropHead",
        },
    ),
    "memory": Registry("memory", {"queue": "cseb.parts.momentum_queue:Queue"}),
    "stages": Registry(
        "stage",
        {
            "entropy_models": "cseb.parts.pretrained_stages:EntropyModels",
            "teacher": "cseb.parts.pretrained_stages:Teacher",
            "outside_teacher": "cseb.parts.outside_teacher:OutsideTeacher",
        },
    ),
    "network": Registry(
        "network",
        {
            "second_encoder": "cseb.parts.networks:SecondEncoder",
            "peer_encoder": "cseb.parts.networks:PeerEncoder",
        },
    ),
    "tuning": Registry(
        "tuning",
        {
            "last_layers": "cseb.parts.tuning:LastLayers",
            "lora": "cseb.parts.lora:LoRA",
            "prefix": "cseb.parts.prefixes:Prefix",
            "token_prepending": "cseb.parts.token_prepending:TokenPrepending",
        },
    ),
    "wrapper": Registry("wrapper", {"matryoshka": "cseb.parts.matryoshka:Matryoshka"}),
    "mixer": Registry("mixer", {"mix": "cseb.parts.weight_mixing:Mix"}),
    "post": Registry(
        "post-processor",
        {
            "whiten": "cseb.parts.postprocessing:Whiten",
            "flow": "cseb.parts.flow:Flow",
            "rank_mix": "cseb.parts.postprocessing:RankMix",
            "remove_components": "cseb.parts.postprocessing:RemoveComponents",
        },
    ),
    "terms": Registry(
        "term",
        {
            "infonce": "cseb.parts.terms.infonce:InfoNCE",
            "nt_xent": "cseb.parts.terms.contrast_in_batch:NTXent",
            "bce_pairs": "cseb.parts.terms.contrast_in_batch:BCEPairs",
            "alignment": "cseb.parts.terms.infonce:Alignment",
            "ami": "cseb.parts.terms.attention_mutual_information:AMI",
            "dcm": "cseb.parts.terms.dimension_contrast:DCM",
            "reconstruct": "cseb.parts.terms.decoder_reconstruction:Reconstruct",
            "entropy": "cseb.parts.terms.entropy_regularisation:Entropy",
            "regulators": "cseb.parts.terms.entropy_regularisation:Regulators",
            "reconstruction": "cseb.parts.terms.infonce:Reconstruction",
            "layer_noise": "cseb.parts.terms.layer_noise:LayerNoise",
            "mlm": "cseb.parts.terms.masked_language_modelling:MLM",
            "span_nt_xent": "cseb.parts.terms.contrast_in_batch:SpanNTXent",
            "anchor_mlm": "cseb.parts.terms.masked_language_modelling:AnchorMLM",
            "mean_cos": "cseb.parts.terms.dimension_contrast:MeanCos",
            "cross_correlation": "cseb.parts.terms.dimension_contrast:CrossCorrelation",
            "smooth": "cseb.parts.terms.smoothed_contrast:Smooth",
            "js_consistency": "cseb.parts.terms.contrast_in_batch:JSConsistency",
            "neg_entropy": "cseb.parts.terms.contrast_in_batch:NegEntropy",
            "rtd": "cseb.parts.terms.replaced_token_detection:RTD",
            "aux_mlm": "cseb.parts.terms.auxiliary_mlm:AuxMLM",
            "mntp": "cseb.parts.terms.masked_next_token:MNTP",
            "group_softmax_bce": "cseb.parts.terms.peer_networks:GroupSoftmaxBCE",
            "kl_peers": "cseb.parts.terms.peer_networks:KLPeers",
            "multi_layer_nce": "cseb.parts.terms.frozen_copy:MultiLayerNCE",
            "l2_to_init": "cseb.parts.terms.frozen_copy:L2ToInit",
            "arc_nce": "cseb.parts.terms.margins:ArcNCE",
            "triplet": "cseb.parts.terms.margins:Triplet",
            "mixed_infonce": "cseb.parts.terms.contrast_in_batch:MixedInfoNCE",
            "momentum_nce": "cseb.parts.terms.momentum_contrast:MomentumNCE",
            "bidir_margin": "cseb.parts.terms.margins:BidirMargin",
            "each_nce": "cseb.parts.terms.infonce:EachNCE",
            "jsd_local_global": "cseb.parts.terms.local_mutual_information:JSDLocalGlobal",
            "debiased_nce": "cseb.parts.terms.false_negatives:DebiasedNCE",
            "learnt_mask_nce": "cseb.parts.terms.learnt_masks:LearntMaskNCE",
            "virtual_nt_xent": "cseb.parts.terms.virtual_augment:VirtualNTXent",
            "rank_mse": "cseb.parts.terms.distillation:RankMSE",
            "listwise_ce": "cseb.parts.terms.distillation:ListwiseCE",
            "denoise": "cseb.parts.terms.denoising:Denoise",
            "enhanced_decoding": "cseb.parts.terms.enhanced_decoding:EnhancedDecoding",
            "guided_nce": "cseb.parts.terms.false_negatives:GuidedNCE",
            "gaussian_nce": "cseb.parts.terms.false_negatives:GaussianNCE",
            "filtered_bce": "cseb.parts.terms.false_negatives:FilteredBCE",
            "hardest_hinge": "cseb.parts.terms.margins:HardestHinge",
            "rank_scores": "cseb.parts.terms.rated_similarity:RankScores",
            "score_mse": "cseb.parts.terms.rated_similarity:ScoreMSE",
            "regress": "cseb.parts.terms.distillation:Regress",
            "relational": "cseb.parts.terms.distillation:Relational",
            "bank_ce": "cseb.parts.terms.distillation:BankCE",
            "cross_view_kl": "cseb.parts.terms.distillation:CrossViewKL",
        },
    ),
    "recipe": Registry("recipe", {"recipe": "cseb.methods.recipe:Recipe"}),
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
        "sts12": "cseb.tasks.senteval:STS12",
        "sts13": "cseb.tasks.senteval:STS13",
        "sts14": "cseb.tasks.senteval:STS14",
        "sts15": "cseb.tasks.senteval:STS15",
        "sts16": "cseb.tasks.senteval:STS16",
        "stsb": "cseb.tasks.senteval:STSB",
        "sickr": "cseb.tasks.senteval:SICKR",
        "stsb-dev": "cseb.tasks.senteval:STSB_DEV",
        "sickr-dev": "cseb.tasks.senteval:SICKR_DEV",
        **{name: f"cseb.tasks.transfer.labelled:{name.upper()}" for name in _TRANSFER},
        **{f"{name}-fast": f"cseb.tasks.transfer.labelled:{name.upper()}_FAST" for name in _TRANSFER},
        **{f"{name}-logreg": f"cseb.tasks.transfer.labelled:{name.upper()}_LOGREG" for name in _TRANSFER},
        "stsb-finetune": "cseb.tasks.transfer.relatedness:STSB_FINETUNE",
        "sickr-finetune": "cseb.tasks.transfer.relatedness:SICKR_FINETUNE",
        "snli": "cseb.tasks.open_tasks:SNLI_TEST",
        "snli-dev": "cseb.tasks.open_tasks:SNLI_DEV",
        "banking77": "cseb.tasks.open_tasks:BANKING77_TEST",
        "banking77-dev": "cseb.tasks.open_tasks:BANKING77_DEV",
        "clinc150": "cseb.tasks.open_tasks:CLINC150_TEST",
        "clinc150-dev": "cseb.tasks.open_tasks:CLINC150_DEV",
        "faqir": "cseb.tasks.faq_collections:FAQIR",
        "faqir-users": "cseb.tasks.faq_collections:FAQIR_USERS",
        "faqir-useful": "cseb.tasks.faq_collections:FAQIR_USEFUL",
        "cough": "cseb.tasks.faq_collections:COUGH",
        "cough-users": "cseb.tasks.faq_collections:COUGH_USERS",
        "alignment": "cseb.tasks.geometry:ALIGNMENT",
        "uniformity": "cseb.tasks.geometry:UNIFORMITY",
        "anisotropy": "cseb.tasks.geometry:ANISOTROPY",
        "effective-rank": "cseb.tasks.geometry:EFFECTIVE_RANK",
    },
)

# Several tasks under one name, in the order of the papers' tables; rated pairs for choosing a checkpoint are in none.
TASK_GROUPS: Mapping[str, tuple[str, ...]] = {
    "sts": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"),
    "transfer": _TRANSFER,
    "transfer-fast": tuple(f"{name}-fast" for name in _TRANSFER),
    "transfer-logreg": tuple(f"{name}-logreg" for name in _TRANSFER),
    "relatedness": ("stsb-finetune", "sickr-finetune"),
    "open": ("snli", "banking77", "clinc150"),
    "faq": ("faqir", "cough"),
    "mteb-msse": (  # figure 5 of MSSE
        "mteb:AmazonCounterfactualClassification/en",
        "mteb:Banking77Classification",
        "mteb:MassiveIntentClassification/en",
        "mteb:QuoraRetrieval",
        "mteb:AskUbuntuDupQuestions",
    ),
    "geometry": ("alignment", "uniformity", "anisotropy", "effective-rank"),
}

EMBEDDED = "open"  # the group whose data come with cseb, so that TF-IDF is shown below its tables

# Figures that are not points with higher ones better, by the first word of their protocol; averages leave them alone.
SCALES: Mapping[str, str] = {
    "alignment": "0 to 4, lower is better",
    "uniformity": "-8 to 0, lower is better",
    "anisotropy": "mean cosine, lower is better",
    "effective-rank": "1 to width, higher is better",
}


def part_names() -> set[str]:
    """Return every name that may stand behind a +."""
    return {*PRESETS, *(known for registry in SLOTS.values() for known in registry)}


def is_part(name: str) -> bool:
    """Whether it is one of these names, at the price of a look: readers of many records ask thousands of times."""
    return name in PRESETS or any(name in registry for registry in SLOTS.values())


def slot_of(name: str) -> str:
    """Return the slot a part of this name goes into; our own are found without asking other packages.

    Raises: UnknownName, and BadSpec for the name of a method.
    """
    found = (slot for own in (True, False) for slot, held in SLOTS.items() if name in (held.builtin if own else held))
    if (slot := next(found, None)) is None:
        if name in METHODS:
            said = f"{name!r} is a method and no part; a method stands first: {name}+PART, or list both by commas"
            raise BadSpec("; ".join([said, *left_out()]))
        raise UnknownName("part", name, part_names(), left_out())
    return slot


def scale_of(protocol: str) -> str:
    """What has to be said of figures of this protocol; "" for points, where higher is better."""
    return SCALES.get(protocol.partition("@")[0].partition("(")[0], "")


MTEB_PREFIX = "mteb:"  # of the tasks of that library
