"""DeCLUTR on single sentences: two spans of a sentence agree, and hidden words are named."""

from dataclasses import replace

from cseb.methods.crops import CROPS
from cseb.methods.spec import preset

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
        "nt_xent: gradients are not divided by the number of processes, as a fault of the release did",
    ),
)  # fmt: skip
