"""Every name a user can type, and where the thing behind it lives. Nothing is imported before it is asked for."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
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
            "padded_mean": "cseb.parts.poolers:PaddedMean",
        },
    ),
    "head": Registry(
        "head",
        {
            "none": "cseb.parts.heads:NoHead",
            "mlp": "cseb.parts.heads:MLP",
            "linear": "cseb.parts.heads:Linear",
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
    "stages": Registry("stage", {"entropy_models": "cseb.parts.stages:EntropyModels"}),
    "network": Registry("network", {"second_encoder": "cseb.parts.networks:SecondEncoder"}),
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
        },
    ),
    "recipe": Registry("recipe", {"recipe": "cseb.recipe:Recipe"}),
}

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
        "mw-captions": "cseb.tasks.microworld:CAPTIONS",
        "mw-headlines": "cseb.tasks.microworld:HEADLINES",
        "mw-questions": "cseb.tasks.microworld:QUESTIONS",
        "mw-definitions": "cseb.tasks.microworld:DEFINITIONS",
        "mw-forum": "cseb.tasks.microworld:FORUM",
        "mw-mixed": "cseb.tasks.microworld:MIXED",
        "mw-relations": "cseb.tasks.microworld:RELATIONS",
        "mw-dev": "cseb.tasks.microworld:DEV",
    },
)

# Several tasks under one name, in the order of the papers' tables; rated pairs for choosing a checkpoint are in none.
TASK_GROUPS: Mapping[str, tuple[str, ...]] = {
    "sts": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"),
    "microworld": tuple(name for name in TASKS.builtin if name.startswith("mw-") and name != "mw-dev"),
}

# Raised when the numbers of an unchanged spec would change: older records then count as stale. The default is 1.
VERSIONS: Mapping[str, int] = {}

# View makers that read several texts from a line of the corpus, joined by TABs: how many a line may have.
COLUMNS: Mapping[str, tuple[int, ...]] = {"triples": (3,), "pairs": (2, 3)}

# What a part has looked at besides the encoder's own pre-training and the training subset.
DATA_SEEN: Mapping[str, str] = {
    "paraphrase": "external",
    "back_translation": "external",
    "unit_halves": "external",
    "triples": "labels",
    "pairs": "labels",
}


def slot_of(name: str) -> str:
    """The slot a part of this name goes into. Raises: UnknownName."""
    for slot, registry in SLOTS.items():
        if name in registry:
            return slot
    raise UnknownName("part", name, {*PRESETS, *(known for registry in SLOTS.values() for known in registry)})
