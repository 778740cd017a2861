"""MSSE: contrast of embedding dimensions and a decoder that rebuilds the sentence."""

from dataclasses import replace

from cseb.methods.spec import Method, preset, recipe

MSSE = Method(
    name="msse",
    source="Harnessing Dimensional Contrast and Information Compensation, ICASSP 2025 (openreview ICf8y366kK): "
    "eq. 2 to 10, table 5; authors' code for weights, decoder and prompt",
    views=preset("dropout"),
    pooler=preset("mask_prompt"),
    head=preset("linear"),
    terms=(
        preset("infonce", temperature=0.05),
        preset("dcm", weight=0.2),
        preset("reconstruct", layers=16, heads=1, inner=2_048, dropout=0.1, rate=0.825),
    ),
    recipe=recipe(steps=3_907, batch_size=256, learning_rate=3e-5, warmup=500, max_length=32, eval_every=125),
    deviations=(
        "views: the positive is an English-German-English translation; without translations the second view is dropout "
        "alone; `msse+paraphrase(file=...)` reads them from a file",
        "terms: the text has 0.8 DCM + 0.2 ICM with sums, the code 0.2 DCM + 1.0 ICM with means and a fourth term of "
        "0.8; we take the text's three terms at the code's scale",
        "dcm: the code pairs consecutive rows, which are different sentences, and uses the first token; we pair (h, "
        "h+) of the pooler, standardised in population form",
        "reconstruct: the code's target is the positive while its memory is the original; our target is the sentence "
        "itself (`target=positive` is the code's)",
        "reconstruct: prompt and special tokens are left out of the mean; the code counts them",
        "head: the linear map behind the pooler, in training alone, is the code's; the text has none",
        "data: the code sets a tenth of its file aside and trains on the others; we train on all of the subset",
        "recipe: table 5 states batch and learning rate, appendix A AdamW, 500 steps of warm-up, one epoch and an "
        "evaluation every 125 steps; linear decay, clipping and precision are SimCSE's, length 32 is the code's",
        "pooler: test sentences are not cut to 32 tokens; the code cuts, decodes and tokenises them again",
    ),
)

MSSE_RELEASED = replace(
    MSSE,
    name="msse-released",
    source="authors' code of MSSE (ICASSP 2025, openreview ICf8y366kK), with the one line fixed that cannot run; "
    "eq. 2 to 9",
    terms=(
        preset("infonce", temperature=0.05),
        preset("dcm", weight=0.2, deviation="unbiased", on="first"),
        preset("reconstruct", layers=16, heads=1, inner=2_048, dropout=0.1, rate=0.825, target="positive"),
        preset("layer_noise", weight=0.8, deviation=0.01, scale=20.0),
    ),
    deviations=(
        *(deviation for deviation in MSSE.deviations if not deviation.startswith(("dcm", "terms", "reconstruct"))),
        "dcm: the code adds 0.2 times a function, not its value, and stops there; we add the value",
        "dcm: the code pairs consecutive rows, which are different sentences; we pair (h, h+)",
        "reconstruct: prompt and special tokens are left out of the mean; the code counts them",
        "layer_noise: in the code alone, no text mentions it; taken over the sentences, not over their positives too",
        "infonce: of 0.8 and 0.2 in the text and the code it is unknown which belongs to which term",
    ),
)

MSSE_LITERAL = replace(
    MSSE,
    name="msse-literal",
    source="Harnessing Dimensional Contrast and Information Compensation, ICASSP 2025 (openreview ICf8y366kK): "
    "eq. 3, 4, 9 and 10 as printed, weights of appendix A",
    terms=(
        preset("infonce", temperature=0.05),
        preset("dcm", weight=0.8, form="sum", centre=False),
        preset("reconstruct", weight=0.2, layers=16, heads=1, inner=2_048, dropout=0.1, rate=0.825, reduction="sum"),
    ),
    deviations=(
        *(deviation for deviation in MSSE.deviations if not deviation.startswith(("dcm", "terms", "reconstruct"))),
        "dcm: the printed sum is 10^4 to 10^6 times the contrast, which has no say; by table 4 it matters most",
        "dcm: eq. 3 divides columns by their norms and does not centre them; neither do we here",
        "reconstruct: eq. 9 conditions every token on the others; the decoder, which no text describes, is the code's",
        "reconstruct: eq. 9 sums over the sentence's tokens; prompt and special tokens are left out",
    ),
)
