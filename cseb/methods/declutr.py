"""DeCLUTR: spans of one document agree, and hidden words are named; on single sentences, two spans of each."""

from cseb.methods.spec import Method, preset, recipe

_SCALE = "nt_xent: gradients are not divided by the number of processes, as a fault of the authors' code did"

DECLUTR = Method(
    name="declutr",
    source="Giorgi et al., ACL 2021, arXiv:2006.03659 (DeCLUTR); authors' code (RoBERTa-base)",
    views=preset("spans", anchors=2, positives=2, shortest=32, longest=512),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(
        preset("span_nt_xent", temperature=0.05, anchors=2, positives=2),
        preset("anchor_mlm", rate=0.15, anchors=2, positives=2),
    ),
    recipe=recipe(
        steps=15_625,
        batch_size=4,
        learning_rate=5e-5,
        warmup=1_562,
        optimizer="adamw_uncorrected_matrix_decay",
        weight_decay=0.1,
        max_length=512,
        eval_every=125,
        last_batch="drop",
    ),
    deviations=(
        "spans: word pieces as they stand in the document; the authors' code writes them out and splits them again. A "
        "document too short for spans of `longest` has shorter ones; the authors' code refuses it",
        "anchor_mlm: one more pass over the anchors, with other dropout masks; the authors' code reads both losses off "
        "one",
        "recipe: SimCSE's 15,625 steps; one pass over half a million documents there. Trained in fp16 by the authors "
        "(AMP), fp32 here; a linear schedule with a tenth of warm-up in the place of the slanted triangle",
        "span_" + _SCALE,
    ),
)

DECLUTR_SENTENCE = Method(
    name="declutr-sentence",
    source="ours, after Giorgi et al., ACL 2021 (DeCLUTR): its loss and rates on spans of single sentences",
    views=preset("crop", first="crop", least=0.3, most=0.7, shortest=3),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(preset("nt_xent", temperature=0.05), preset("mlm", weight=1.0, rate=0.15)),
    recipe=recipe(
        steps=15_625,
        batch_size=64,
        learning_rate=5e-5,
        warmup=1_562,
        optimizer="adamw_uncorrected",
        weight_decay=0.1,
        max_length=32,
        eval_every=125,
    ),
    deviations=(
        "crop: DeCLUTR takes spans of up to 512 tokens out of documents of 2,048 and more, two anchors and the mean of "
        "two positives for each; a line of a corpus here is a sentence, so both views are crops of it, and its printed "
        "rows (RoBERTa-base 69.99) are of another method",
        "recipe: weight decay also on biases and layer norms, where DeCLUTR has none",
        "recipe: AMP there, fp32 here; a linear schedule with a tenth of warm-up in the place of the slanted triangle",
        _SCALE,
    ),
)
