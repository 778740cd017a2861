"""Every name that a user can type, with its module and attribute. A module is imported when its name is used."""

from __future__ import annotations

import keyword
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from cseb.errors import BadSpec, UnknownName, did_you_mean

GROUP = "cseb."  # how the groups of entry points begin


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
    """Return every name that installed packages offer, with its fault. Their metadata is read, their code is not."""
    from importlib.metadata import distributions  # a fifth of what this file takes to load

    offers: dict[tuple[str, str, str], Offer] = {}
    for package in distributions():
        for point in package.entry_points:
            if point.group.startswith(GROUP):
                kind = point.group.removeprefix(GROUP)
                offer = Offer(kind, point.name, point.value, package.name, package.version)
                offers.setdefault((kind, point.name, package.name), offer)  # the first on the path is the one imported
    return tuple(replace(offer, fault=_fault(offer)) for offer in offers.values())


def left_out() -> tuple[str, ...]:
    """Return a line for each name that installed packages offer and that cannot be used, with the reason."""
    return tuple(str(offer) for offer in offered() if offer.fault)


def package_of(kind: str, name: str) -> tuple[str, str]:
    """Return name and version of the package that offers this name; ("", "") for our own."""
    usable = (offer for offer in offered() if (offer.kind, offer.name) == (kind, name) and not offer.fault)
    return next(((offer.package, offer.release) for offer in usable), ("", ""))


def _fault(offer: Offer) -> str:
    """Return why a name cannot be used: the grammar cannot read it, or it is that of a part for another slot."""
    kinds = {registry.kind for registry in (*SLOTS.values(), METHODS, PRESETS, LAUNCHERS, TASKS)}
    if offer.kind not in kinds:
        meant = did_you_mean(offer.kind, kinds).replace("?", "")
        return f"no group is called {GROUP}{offer.kind}; {meant} behind {GROUP}"
    if offer.kind == "task":
        return "" if re.fullmatch("[A-Za-z0-9_-]+", offer.name) else "a name is of letters, digits, _ and -"
    pieces = offer.name.split("-") if offer.kind in ("method", "launcher") else [offer.name]
    if not all(piece.isascii() and piece.isidentifier() and not keyword.iskeyword(piece) for piece in pieces):
        plain = re.sub("[^A-Za-z0-9_]+", "_", offer.name)
        such = plain if plain[:1].isalpha() else f"my_{plain}"
        return f"a spec cannot name it; letters, digits and _ are needed, a letter first, such as {such}"
    for slot, registry in SLOTS.items():
        own = registry.builtin.get(offer.name)
        if own is not None and (registry.kind, own) != (offer.kind, offer.value):
            return f"cseb has a part of this name, in the slot {slot}; take another name"
    return ""


@dataclass(eq=False)
class Registry(Mapping[str, Any]):
    """Names of one kind; `registry[name]` imports the thing itself, on first use.

    Another package adds a name with one line in its own pyproject.toml, under [project.entry-points."cseb.<kind>"].

    Attributes:
        kind: of the names, in words.
        modules: our own names by their module: "name:Class", or "name" alone for the attribute NAME.
    """

    kind: str
    modules: Mapping[str, str]

    @cached_property
    def builtin(self) -> dict[str, str]:
        """Our own names, each with its "module:attribute"."""
        names = [(module, *name.split(":")) for module, names in self.modules.items() for name in names.split()]
        return {
            name: f"{module}:{attribute[0] if attribute else name.upper().replace('-', '_')}"
            for module, name, *attribute in names
        }

    @cached_property
    def targets(self) -> dict[str, str]:
        """Name to "module:attribute": our own names, then those of installed packages. Raises: BadSpec."""
        targets = dict(self.builtin)
        for offer in (offer for offer in offered() if offer.kind == self.kind and not offer.fault):
            if targets.setdefault(offer.name, offer.value) != offer.value:
                raise BadSpec(f"{self.kind} {offer.name!r} is both {targets[offer.name]} and {offer.value}")
        return targets

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
        "cseb.methods.untrained": "cls mean first_last",
        "cseb.methods.simcse": "simcse",
        "cseb.methods.micse": "micse",
        "cseb.methods.msse": "msse msse-released msse-literal",
        "cseb.methods.simcse_supervised": "simcse-sup simcse-positives",
        "cseb.methods.rcl": "continued rcl rcl-literal rcl-unsup entropy-model",
        "cseb.methods.compcse": "compcse compcse-large compcse-roberta",
        "cseb.methods.ct": "ct ct-sbert",
        "cseb.methods.mirror_bert": "mirror mirror-avg",
        "cseb.methods.informin_cl": "informin-cl informin-cl-mlm",
        "cseb.methods.scd": "scd",
        "cseb.methods.iscse": "iscse",
        "cseb.methods.rankcse": "rankcse rankcse-released",
        "cseb.methods.esimcse": "esimcse",
        "cseb.methods.consert": "consert",
        "cseb.methods.diffcse": "diffcse",
        "cseb.methods.infocse": "infocse",
        "cseb.methods.pt_bert": "pt-bert pt-bert-released",
        "cseb.methods.pcl": "pcl pcl-released",
        "cseb.methods.sg_opt": "sg-opt",
        "cseb.methods.arccse": "arccse",
        "cseb.methods.mocose": "mocose",
        "cseb.methods.sncse": "sncse",
        "cseb.methods.promptbert": "promptbert",
        "cseb.methods.clsep": "clsep-unsup",
        "cseb.methods.bert_whitening": "bert-whitening",
        "cseb.methods.bert_flow": "bert-flow",
        "cseb.methods.sif": "sif",
        "cseb.methods.whitenedcse": "whitenedcse",
        "cseb.methods.is_bert": "isbert",
        "cseb.methods.dclr": "dclr",
        "cseb.methods.vascl": "vascl",
        "cseb.methods.rankencoder": "rankencoder",
        "cseb.methods.distillcse": "distillcse",
        "cseb.methods.mixcse": "mixcse mixcse-paper",
        "cseb.methods.crops": "crops",
        "cseb.methods.l2p_csr": "l2p-csr",
        "cseb.methods.declutr": "declutr declutr-sentence",
        "cseb.methods.tsdae": "tsdae",
        "cseb.methods.retromae": "retromae",
        "cseb.methods.gist": "gist gist-self",
        "cseb.methods.promcse": "promcse promcse-sup",
        "cseb.methods.llm2vec": "mntp llm2vec",
        "cseb.methods.generated_triples": "syncse multicsr gcse",
        "cseb.methods.rated_pairs": "cosent angle sbert-regression",
        "cseb.methods.outside_teachers": "distil-l2 distil-mse distil-relational skd congen sct",
    },
)

# Further names for a part with options of its own; otherwise `+name` puts in the part with what its class presets.
PRESETS = Registry("part", {"cseb.methods.micse": "moco:QUEUE", "cseb.methods.sif": "all_but_the_top"})

# The parts themselves, by the slot of a method they go into. A name belongs to one slot only.
_PARTS: Mapping[str, Mapping[str, str]] = {
    "views": {
        "cseb.parts.views": (
            "dropout:Dropout paraphrase:Paraphrase random_pairs:RandomPairs embedding_edits:EmbeddingEdits "
            "identity:Identity multi_dropout:MultiDropout"
        ),
        "cseb.parts.part_composition": "halves:Halves unit_halves:UnitHalves",
        "cseb.parts.labelled_views": (
            "triples:Triples pairs:Pairs generated_triples:GeneratedTriples rated_pairs:RatedPairs"
        ),
        "cseb.parts.mined_negatives": "mined_negatives:MinedNegatives mined_pairs:MinedPairs",
        "cseb.parts.back_translation": "back_translation:BackTranslation",
        "cseb.parts.online_augment": (
            "shuffle:Shuffle delete:Delete repeat:Repeat char_span_mask:CharSpanMask "
            "subword_repeat:SubwordRepeat token_edits:TokenEdits span_masks:SpanMasks"
        ),
        "cseb.parts.prompt_views": "prompts:Prompts negated_prompts:NegatedPrompts repeated:Repeated",
        "cseb.parts.crops": "crop:Crop",
        "cseb.parts.spans": "spans:Spans",
        "cseb.parts.word_noise": "word_noise:WordNoise",
    },
    "pooler": {
        "cseb.parts.poolers": (
            "cls cls_pooler:CLSPooler mean:Mean first_last:FirstLast last2:Last2 mask_prompt:MaskPrompt "
            "mean_last:MeanLast padded_mean:PaddedMean cnn_mean:CNNMean last:Last weighted_mean:WeightedMean "
            "sif end_prompt:EndPrompt"
        ),
        "cseb.parts.pseudo_tokens": "pseudo_tokens:PseudoTokens",
    },
    "head": {
        "cseb.parts.heads": (
            "none:NoHead mlp linear:Linear bn_mlp:BNMLP gelu_mlp:GELUMLP barlow_projector:BarlowProjector "
            "group_whiten:GroupWhiten relu_mlp:ReLUMLP project:Project paraphraser:Paraphraser"
        ),
        "cseb.parts.finished_model": "own_modules:OwnModules",
    },
    "compose": {"cseb.parts.part_composition": "compose:Compose"},
    "regulariser": {"cseb.parts.regularisers": "attention_dropout:AttentionDropout drophead:DropHead"},
    "memory": {"cseb.parts.momentum_queue": "queue:Queue"},
    "stages": {
        "cseb.parts.pretrained_stages": "entropy_models:EntropyModels teacher:Teacher",
        "cseb.parts.outside_teacher": "outside_teacher:OutsideTeacher",
    },
    "network": {"cseb.parts.networks": "second_encoder:SecondEncoder peer_encoder:PeerEncoder"},
    "tuning": {
        "cseb.parts.tuning": "last_layers:LastLayers",
        "cseb.parts.lora": "lora:LoRA",
        "cseb.parts.prefixes": "prefix:Prefix",
        "cseb.parts.token_prepending": "token_prepending:TokenPrepending",
    },
    "wrapper": {"cseb.parts.matryoshka": "matryoshka:Matryoshka"},
    "mixer": {"cseb.parts.weight_mixing": "mix:Mix"},
    "post": {
        "cseb.parts.postprocessing": "whiten:Whiten rank_mix:RankMix remove_components:RemoveComponents",
        "cseb.parts.flow": "flow:Flow",
    },
    "terms": {
        "cseb.parts.terms.infonce": (
            "infonce:InfoNCE alignment:Alignment reconstruction:Reconstruction each_nce:EachNCE"
        ),
        "cseb.parts.terms.contrast_in_batch": (
            "nt_xent:NTXent bce_pairs:BCEPairs span_nt_xent:SpanNTXent js_consistency:JSConsistency "
            "neg_entropy:NegEntropy mixed_infonce:MixedInfoNCE"
        ),
        "cseb.parts.terms.attention_mutual_information": "ami",
        "cseb.parts.terms.dimension_contrast": "dcm mean_cos:MeanCos cross_correlation:CrossCorrelation",
        "cseb.parts.terms.decoder_reconstruction": "reconstruct:Reconstruct",
        "cseb.parts.terms.entropy_regularisation": "entropy:Entropy regulators:Regulators",
        "cseb.parts.terms.layer_noise": "layer_noise:LayerNoise",
        "cseb.parts.terms.masked_language_modelling": "mlm anchor_mlm:AnchorMLM",
        "cseb.parts.terms.smoothed_contrast": "smooth:Smooth",
        "cseb.parts.terms.replaced_token_detection": "rtd",
        "cseb.parts.terms.auxiliary_mlm": "aux_mlm:AuxMLM",
        "cseb.parts.terms.masked_next_token": "mntp",
        "cseb.parts.terms.peer_networks": "group_softmax_bce:GroupSoftmaxBCE kl_peers:KLPeers",
        "cseb.parts.terms.frozen_copy": "multi_layer_nce:MultiLayerNCE l2_to_init:L2ToInit",
        "cseb.parts.terms.margins": (
            "arc_nce:ArcNCE triplet:Triplet bidir_margin:BidirMargin hardest_hinge:HardestHinge"
        ),
        "cseb.parts.terms.momentum_contrast": "momentum_nce:MomentumNCE",
        "cseb.parts.terms.local_mutual_information": "jsd_local_global:JSDLocalGlobal",
        "cseb.parts.terms.false_negatives": (
            "debiased_nce:DebiasedNCE guided_nce:GuidedNCE gaussian_nce:GaussianNCE filtered_bce:FilteredBCE"
        ),
        "cseb.parts.terms.learnt_masks": "learnt_mask_nce:LearntMaskNCE",
        "cseb.parts.terms.virtual_augment": "virtual_nt_xent:VirtualNTXent",
        "cseb.parts.terms.distillation": (
            "rank_mse:RankMSE listwise_ce:ListwiseCE regress:Regress relational:Relational bank_ce:BankCE "
            "cross_view_kl:CrossViewKL"
        ),
        "cseb.parts.terms.denoising": "denoise:Denoise",
        "cseb.parts.terms.enhanced_decoding": "enhanced_decoding:EnhancedDecoding",
        "cseb.parts.terms.rated_similarity": "rank_scores:RankScores score_mse:ScoreMSE",
    },
    "recipe": {"cseb.methods.recipe": "recipe:Recipe"},
}
_KINDS = {"views": "view", "compose": "composer", "stages": "stage", "post": "post-processor", "terms": "term"}
SLOTS = {slot: Registry(_KINDS.get(slot, slot), modules) for slot, modules in _PARTS.items()}

LAUNCHERS = Registry(
    "launcher",
    {
        "cseb.launchers.local": "local:Local",
        "cseb.launchers.ray": "ray:Ray",
        "cseb.launchers.slurm": "slurm:Slurm",
    },
)

_TRANSFER = ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc")

TASKS = Registry(
    "task",
    {
        "cseb.tasks.senteval": "sts12 sts13 sts14 sts15 sts16 stsb sickr stsb-dev sickr-dev stsb-dev-clean",
        "cseb.tasks.transfer.labelled": (
            "mr cr subj mpqa sst2 trec mrpc mr-fast cr-fast subj-fast mpqa-fast sst2-fast trec-fast mrpc-fast "
            "mr-logreg cr-logreg subj-logreg mpqa-logreg sst2-logreg trec-logreg mrpc-logreg"
        ),
        "cseb.tasks.open_tasks": (
            "snli:SNLI_TEST snli-dev banking77:BANKING77_TEST banking77-dev clinc150:CLINC150_TEST clinc150-dev"
        ),
        "cseb.tasks.faq_collections": "faqir faqir-users faqir-useful cough cough-users",
        "cseb.tasks.geometry": "alignment uniformity anisotropy effective-rank",
    },
)

# Several tasks under one name, in the order of the papers' tables; rated pairs for choosing a checkpoint are in none.
TASK_GROUPS: Mapping[str, tuple[str, ...]] = {
    "sts": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"),
    "transfer": _TRANSFER,
    "transfer-fast": tuple(f"{name}-fast" for name in _TRANSFER),
    "transfer-logreg": tuple(f"{name}-logreg" for name in _TRANSFER),
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

# Figures that are not points with higher ones better, by the first word of their protocol; averages leave them alone.
SCALES: Mapping[str, str] = {
    "alignment": "0 to 4, lower is better",
    "uniformity": "-8 to 0, lower is better",
    "anisotropy": "mean cosine, lower is better",
    "effective-rank": "1 to width, higher is better",
}


def part_names() -> set[str]:
    """Return every name that may stand behind a +."""
    return {*PRESETS, *(name for registry in SLOTS.values() for name in registry)}


def is_part(name: str) -> bool:
    """Return whether a part has this name, without building the set: readers of records ask thousands of times."""
    return name in PRESETS or any(name in registry for registry in SLOTS.values())


def slot_of(name: str) -> str:
    """Return the slot that a part of this name goes into.

    Raises: UnknownName, and BadSpec for the name of a method.
    """
    for registries in ({slot: registry.builtin for slot, registry in SLOTS.items()}, SLOTS):  # our own names first
        for slot, names in registries.items():
            if name in names:
                return slot
    if name in METHODS:
        message = f"{name!r} is a method and no part; write {name}+PART, or list both with a comma"
        raise BadSpec("; ".join([message, *left_out()]))
    raise UnknownName("part", name, part_names(), left_out())


def scale_of(protocol: str) -> str:
    """Return the range of figures of this protocol and which are better; "" for scores, where higher is better."""
    return SCALES.get(protocol.partition("@")[0].partition("(")[0], "")


# What `cseb show tasks` says of tasks that share their data with a task of mteb and not its protocol.
MTEB_NAMESAKES: Mapping[str, str] = {
    **{name: f"; mteb:{name.upper()} has the raw texts" for name in ("sts12", "sts13", "sts14", "sts15", "sts16")},
    "stsb": "; mteb:STSBenchmark has the raw texts",
    "sickr": "; mteb:SICK-R has the raw texts",
    "banking77": "; mteb:Banking77Classification is another protocol",
}

MTEB_PREFIX = "mteb:"  # of the tasks of that library

# Systems of the five papers' tables that do not run here, by their names in benchmarks/published/scores.csv.
NOT_OFFERED: Mapping[str, str] = {
    "osscse": "no code was found and its abstract leaves generators, loss and every number open",
    "clsep": "printed is its supervised form, whose code was not read; without labels it is `clsep-unsup`",
    "sroberta": "a finished encoder: `cseb eval FOLDER --pooler mean`",
    "skip-thought": "learns from books read in order, for days",
}
