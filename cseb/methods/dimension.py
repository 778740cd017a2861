"""MSSE: contrast of embedding dimensions and a decoder that rebuilds the sentence."""

from dataclasses import replace

from cseb.methods.presets import DCM, INFONCE, LINEAR, MASK_PROMPT, RECIPE, RECONSTRUCT
from cseb.methods.simcse import SIMCSE
from cseb.spec import part

MSSE = replace(
    SIMCSE,
    name="msse",
    source="Harnessing Dimensional Contrast and Information Compensation, ICASSP 2025 (openreview ICf8y366kK): "
    "eq. 2 to 10, table 5; released code for weights, decoder and prompt",
    pooler=MASK_PROMPT,
    head=LINEAR,
    terms=(INFONCE, DCM, RECONSTRUCT),
    recipe=RECIPE.updated(part("recipe", steps=3_907, batch_size=256, warmup=500)),
    deviations=(
        "views: the positive is an English-German-English translation; without one the second view is dropout alone, "
        "`msse+paraphrase(file=...)` reads translations from a file",
        "terms: the text has 0.8 DCM + 0.2 ICM with sums, the code 0.2 DCM + 1.0 ICM with means and a fourth term of "
        "0.8; we take the text's three terms at the code's scale",
        "dcm: the code pairs consecutive rows, which are different sentences, and looks at the first token; we pair "
        "(h, h+) of the pooler, standardised in population form",
        "reconstruct: the code's target is the positive while its memory is the original; our target is the sentence "
        "itself (`target=positive` is the code's)",
        "reconstruct: prompt and special tokens are left out of the mean; the code counts them",
        "recipe: only table 5's optimiser settings are stated; linear decay and batches as SimCSE",
        "pooler: test sentences are not cut to 32 tokens; the code cuts, decodes and tokenises them again",
    ),
)
