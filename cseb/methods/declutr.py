"""DeCLUTR: spans of one document agree, and hidden words are named; on single sentences, two spans of each."""

from dataclasses import replace

from cseb.methods.crops import CROPS
from cseb.methods.spec import preset

_SCALE = "nt_xent: gradients are not divided by the number of processes, as a fault of the release did"

DECLUTR = replace(
    CROPS,
    name="declutr",
    source="Giorgi et al., ACL 2021, arXiv:2006.03659 (DeCLUTR); released code (RoBERTa-base)",
    views=preset("spans"),
    terms=(preset("span_nt_xent"), preset("anchor_mlm")),
    recipe=preset(
        "recipe", batch_size=4, learning_rate=5e-5, warmup=1_562, optimizer="adamw_uncorrected", weight_decay=0.1,
        max_length=512, last_batch="drop",
    ),
    deviations=(
        "spans: word pieces as they stand in the document; the release writes them out and splits them again. A "
        "document too short for spans of `longest` has shorter ones; the release refuses it",
        "anchor_mlm: one more pass over the anchors, with other dropout masks; the release reads both losses off one",
        "recipe: SimCSE's 15,625 steps; one pass over half a million documents there. Released in fp16 (AMP), fp32 "
        "here; a linear schedule with a tenth of warm-up in the place of the slanted triangle",
        "span_" + _SCALE,
    ),
)  # fmt: skip

DECLUTR_SENTENCE = replace(
    CROPS,
    name="declutr-sentence",
    source="ours, after Giorgi et al., ACL 2021 (DeCLUTR): its loss and rates on spans of single sentences",
    views=preset("crop", first="crop"),
    terms=(preset("nt_xent", temperature=0.05), preset("mlm", weight=1.0)),
    recipe=preset(
        "recipe", learning_rate=5e-5, warmup=1_562, optimizer="adamw_uncorrected", weight_decay=0.1,
    ),
    deviations=(
        "crop: DeCLUTR takes spans of up to 512 tokens out of documents of 2,048 and more, two anchors and the mean of "
        "two positives for each; a line of a corpus here is a sentence, so both views are crops of it, and its printed "
        "rows (RoBERTa-base 69.99) are of another method",
        "recipe: AMP there, fp32 here; a linear schedule with a tenth of warm-up in the place of the slanted triangle",
        _SCALE,
    ),
)  # fmt: skip
