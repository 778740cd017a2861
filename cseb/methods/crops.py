"""Crops: a random run of a sentence's own words is its positive."""

from cseb.methods.spec import Method, preset, recipe

CROPS = Method(
    name="crops",
    source="Gonzalez-Marquez, Berens & Kobak, TMLR 2026, arXiv:2508.03453 (loss, pooling, rates); Izacard et al., TMLR "
    "2022, arXiv:2112.09118 (how a crop is drawn); code of both",
    views=preset("crop", least=0.3, most=0.7, shortest=3),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(preset("infonce", temperature=0.05),),
    recipe=recipe(
        steps=15_625, batch_size=64, learning_rate=2e-5, warmup=1_562, optimizer="adamw", max_length=32, eval_every=125
    ),
    deviations=(
        "crop: the papers cut spans out of abstracts (two sentences each) or of 256 tokens; a sentence here is a line "
        "of its own, so the crop is of that sentence, beside the whole; both views cropped is `+crop(first=crop)`",
        "recipe: one epoch of 23,500 abstracts there, SimCSE's 15,625 steps here with the same tenth of warm-up; "
        "length 32 instead of 512; Adam without weight decay is AdamW with 0",
    ),
)
