"""Every name that a user can type, with its module and attribute. A module is imported when its name is used."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from cseb import plugins
from cseb.errors import BadSpec, UnknownName, did_you_mean
from cseb.plugins import GROUP, Offer


@cache
def offered() -> tuple[Offer, ...]:
    """Return every name that installed packages offer, with its fault."""
    return tuple(replace(offer, fault=_fault(offer)) for offer in plugins.offers())


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
    fault = plugins.unspeakable(offer)
    if fault or offer.kind == "task":
        return fault
    for slot, registry in SLOTS.items():
        own = registry.builtin.get(offer.name)
        if own is not None and (registry.kind, own) != (offer.kind, offer.value):
            return f"cseb has a part of this name, in the slot {slot}; take another name"
    return ""


@dataclass(eq=False)
class Registry(Mapping[str, Any]):
    """Names of one kind; `registry[name]` imports the thing itself, on first use.

    Another package adds a name with one line in its own pyproject.toml, under [project.entry-points."cseb.<kind>"].

    modules: our own names by their module: "name:attribute", or "name" alone for NAME, of parts for the class Name.
    """

    kind: str  # of the names, in words
    modules: Mapping[str, str]
    parts: bool = False  # whether these are parts

    @cached_property
    def builtin(self) -> dict[str, str]:
        """Our own names, each with its "module:attribute"."""
        own = {}
        for module, names in self.modules.items():
            for name, _, attribute in (typed.partition(":") for typed in names.split()):
                usual = name.title().replace("_", "") if self.parts else name.upper().replace("-", "_")
                own[name] = f"{module}:{attribute or usual}"
        return own

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
        "cseb.methods.untrained": "cls mean first_last bert-whitening bert-flow sif",
        "cseb.methods.simcse": "simcse simcse-sup simcse-positives",
        "cseb.methods.micse": "micse",
        "cseb.methods.msse": "msse msse-released msse-literal",
        "cseb.methods.rcl": "continued rcl rcl-literal rcl-unsup entropy-model",
        "cseb.methods.compcse": "compcse compcse-large compcse-roberta",
        "cseb.methods.ct": "ct ct-sbert",
        "cseb.methods.mirror_bert": "mirror mirror-avg",
        "cseb.methods.auxiliary": "diffcse infocse",
        "cseb.methods.informin_cl": "informin-cl informin-cl-mlm",
        "cseb.methods.scd": "scd",
        "cseb.methods.iscse": "iscse",
        "cseb.methods.teachers": "rankencoder distillcse rankcse rankcse-released dclr",
        "cseb.methods.esimcse": "esimcse",
        "cseb.methods.consert": "consert",
        "cseb.methods.momentum": "mocose pt-bert pt-bert-released",
        "cseb.methods.pcl": "pcl pcl-released",
        "cseb.methods.sg_opt": "sg-opt",
        "cseb.methods.arccse": "arccse",
        "cseb.methods.prompts": "promptbert sncse",
        "cseb.methods.clsep": "clsep-unsup",
        "cseb.methods.whitenedcse": "whitenedcse",
        "cseb.methods.is_bert": "isbert",
        "cseb.methods.adversarial": "l2p-csr vascl mixcse mixcse-paper",
        "cseb.methods.crops": "crops",
        "cseb.methods.declutr": "declutr declutr-sentence",
        "cseb.methods.decoders": "tsdae retromae",
        "cseb.methods.gist": "gist gist-self",
        "cseb.methods.promcse": "promcse promcse-sup",
        "cseb.methods.llm2vec": "mntp llm2vec",
        "cseb.methods.generated_triples": "syncse multicsr gcse",
        "cseb.methods.labelled": "cosent angle sbert-regression setfit",
        "cseb.methods.outside_teachers": "distil-l2 distil-mse distil-relational skd congen sct",
    },
)

# Further names for a part with options of its own; otherwise `+name` puts in the part with what its class presets.
PRESETS = Registry("part", {"cseb.methods.micse": "moco:QUEUE", "cseb.methods.untrained": "all_but_the_top"})

# The parts themselves, by the slot of a method they go into. A name belongs to one slot only.
_PARTS: Mapping[str, Mapping[str, str]] = {
    "views": {
        "cseb.parts.views": "dropout paraphrase random_pairs embedding_edits identity multi_dropout",
        "cseb.parts.part_composition": "halves unit_halves",
        "cseb.parts.labelled_views": (
            "triples pairs generated_triples rated_pairs class_pairs mined_negatives mined_pairs"
        ),
        "cseb.parts.word_noise": "word_noise",
        "cseb.parts.online_augment": "shuffle delete repeat char_span_mask subword_repeat token_edits span_masks",
        "cseb.parts.prompt_views": "prompts negated_prompts repeated",
        "cseb.parts.spans": "crop spans",
    },
    "pooler": {
        "cseb.parts.poolers": (
            "cls:CLS cls_pooler:CLSPooler mean first_last last2 mask_prompt mean_last padded_mean "
            "cnn_mean:CNNMean last weighted_mean sif:SIF end_prompt"
        ),
        "cseb.parts.pseudo_tokens": "pseudo_tokens",
    },
    "head": {
        "cseb.parts.heads": (
            "none:NoHead mlp:MLP linear bn_mlp:BNMLP gelu_mlp:GELUMLP barlow_projector group_whiten "
            "relu_mlp:ReLUMLP project paraphraser"
        ),
        "cseb.parts.finished_model": "own_modules",
    },
    "compose": {"cseb.parts.part_composition": "compose"},
    "regulariser": {"cseb.parts.regularisers": "attention_dropout drophead:DropHead"},
    "memory": {"cseb.parts.networks": "queue"},
    "stages": {
        "cseb.parts.stages": "entropy_models teacher outside_teacher own_teacher",
    },
    "network": {"cseb.parts.networks": "second_encoder peer_encoder"},
    "tuning": {
        "cseb.parts.tuning": "last_layers lora:LoRA prefix",
        "cseb.parts.token_prepending": "token_prepending",
    },
    "wrapper": {"cseb.parts.matryoshka": "matryoshka"},
    "mixer": {"cseb.parts.regularisers": "mix"},
    "post": {
        "cseb.parts.postprocessing": "whiten rank_mix remove_components",
        "cseb.parts.flow": "flow",
    },
    "terms": {
        "cseb.parts.terms.infonce": "infonce:InfoNCE alignment reconstruction each_nce:EachNCE",
        "cseb.parts.terms.contrast_in_batch": (
            "nt_xent:NTXent bce_pairs:BCEPairs span_nt_xent:SpanNTXent js_consistency:JSConsistency "
            "neg_entropy mixed_infonce:MixedInfoNCE"
        ),
        "cseb.parts.terms.mutual_information": "ami:AMI jsd_local_global:JSDLocalGlobal",
        "cseb.parts.terms.dimension_contrast": "dcm:DCM mean_cos cross_correlation layer_noise",
        "cseb.parts.terms.decoders": "reconstruct denoise enhanced_decoding",
        "cseb.parts.terms.agreement": (
            "entropy regulators group_softmax_bce:GroupSoftmaxBCE kl_peers:KLPeers "
            "multi_layer_nce:MultiLayerNCE l2_to_init"
        ),
        "cseb.parts.terms.masked_language_modelling": "mlm:MLM anchor_mlm:AnchorMLM aux_mlm:AuxMLM mntp:MNTP",
        "cseb.parts.terms.memory_contrast": "smooth momentum_nce:MomentumNCE",
        "cseb.parts.terms.replaced_token_detection": "rtd:RTD",
        "cseb.parts.terms.margins": "arc_nce:ArcNCE triplet bidir_margin hardest_hinge rank_scores score_mse:ScoreMSE",
        "cseb.parts.terms.false_negatives": (
            "debiased_nce:DebiasedNCE guided_nce:GuidedNCE gaussian_nce:GaussianNCE filtered_bce:FilteredBCE"
        ),
        "cseb.parts.terms.adversarial": "learnt_mask_nce:LearntMaskNCE virtual_nt_xent:VirtualNTXent",
        "cseb.parts.terms.distillation": (
            "rank_mse:RankMSE listwise_ce:ListwiseCE regress relational bank_ce:BankCE cross_view_kl:CrossViewKL"
        ),
    },
    "recipe": {"cseb.methods.recipe": "recipe"},
}
_KINDS = {"views": "view", "compose": "composer", "stages": "stage", "post": "post-processor", "terms": "term"}
SLOTS = {slot: Registry(_KINDS.get(slot, slot), modules, parts=True) for slot, modules in _PARTS.items()}

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
        "cseb.tasks.senteval": "sts12 sts13 sts14 sts15 sts16 stsb sickr stsb-dev sickr-dev stsb-dev-clean sts-dev",
        "cseb.tasks.transfer.labelled": (
            "mr cr subj mpqa sst2 trec mrpc mr-fast cr-fast subj-fast mpqa-fast sst2-fast trec-fast mrpc-fast "
            "mr-logreg cr-logreg subj-logreg mpqa-logreg sst2-logreg trec-logreg mrpc-logreg"
        ),
        "cseb.tasks.open_tasks": (
            "snli:SNLI_TEST snli-dev banking77:BANKING77_TEST banking77-dev clinc150:CLINC150_TEST clinc150-dev"
        ),
        "cseb.tasks.geometry": "alignment uniformity anisotropy effective-rank",
    },
)

MTEB_PREFIX = "mteb:"  # of the tasks of that library

# Several tasks under one name, in the order of the papers' tables; rated pairs for choosing a checkpoint are in none.
TASK_GROUPS: Mapping[str, tuple[str, ...]] = {
    "sts": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"),
    "transfer": _TRANSFER,
    "transfer-fast": tuple(f"{name}-fast" for name in _TRANSFER),
    "transfer-logreg": tuple(f"{name}-logreg" for name in _TRANSFER),
    "open": ("snli", "banking77", "clinc150"),
    "mteb-msse": (  # figure 5 of MSSE
        "mteb:AmazonCounterfactualClassification/en",
        "mteb:Banking77Classification",
        "mteb:MassiveIntentClassification/en",
        "mteb:QuoraRetrieval",
        "mteb:AskUbuntuDupQuestions",
    ),
    "geometry": ("alignment", "uniformity", "anisotropy", "effective-rank"),
}
