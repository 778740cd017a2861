"""SetFit: an encoder is fine-tuned on pairs of labelled sentences, of one class or of two."""

from cseb.methods.spec import Method, preset, recipe

SETFIT = Method(
    name="setfit",
    source="Tunstall et al. 2022, arXiv:2209.11055, section 3; authors' script run_fewshot.py; setfit 1.2",
    views=preset("class_pairs", iterations=20),
    pooler=preset("mean"),
    head=preset("none"),
    terms=(preset("score_mse", lowest=0.0, highest=1.0),),
    recipe=recipe(
        steps=100, batch_size=16, learning_rate=2e-5, warmup=10, optimizer="adamw", max_length=256, eval_every=100
    ),
    deviations=(
        "class_pairs: lines `text TAB label`; the classifier is trained afterwards, on embeddings of the saved encoder",
        "recipe: one pass over all pairs is 2.5 steps per labelled sentence, 100 for eight of each of five classes, as "
        "SST-5 of the paper; kept for every number of sentences, a tenth of them warm-up",
        "recipe: learning rate 2e-5 of setfit and for encoders of the size of BERT. The authors' script has an option "
        "lr=1e-3 and does not pass it on",
        "recipe: weight decay 0 as in setfit 1.2; the authors' script has 0.01, the default of sentence-transformers 2",
    ),
)
