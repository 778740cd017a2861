"""What is fitted after training sees the texts of the corpus: the columns of its lines, and ratings not."""

import pytest
import torch

from cseb.parts.postprocessing import main_directions
from cseb.training.build import build
from tests.conftest import SENTENCES
from tests.training.small_runs import LINES, Tiny, method, run

FEW = "recipe(steps=1,warmup=0,batch_size=4,learning_rate=3e-3,eval_every=1)"
TRIPLES, RATED = LINES["simcse-sup"], LINES["cosent"]


def columns(lines: list[str], kept: int) -> list[str]:
    rows = [line.split("\t") for line in lines]
    return [row[place] for place in range(kept) for row in rows]


@pytest.mark.parametrize(
    ("name", "steps", "lines", "texts"),
    [
        ("simcse-sup", 1, TRIPLES, columns(TRIPLES, 3)),
        ("simcse-sup", 0, TRIPLES, columns(TRIPLES, 3)),
        ("simcse-sup+mix", 1, TRIPLES, columns(TRIPLES, 3)),
        ("simcse-positives", 1, TRIPLES, columns(TRIPLES, 2)),  # which does not read the third
        ("cosent", 1, RATED, columns(RATED, 2)),
        ("simcse", 1, SENTENCES, SENTENCES),
    ],
)
def test_it_is_fitted_on_texts(tiny: Tiny, name: str, steps: int, lines: list[str], texts: list[str]) -> None:
    built = build(
        method(f"{name}+remove_components(count=2)", FEW.replace("steps=1", f"steps={steps}")), tiny("bert"), 0
    )
    run(built, lines)
    encoder, post = built.encoder, built.encoder.post
    encoder.post = None
    vectors = torch.from_numpy(encoder.embed(texts))
    _, wanted = main_directions(vectors, 2, centre=False)
    assert torch.equal(post.get_buffer("directions"), wanted.float())  # type: ignore[union-attr]
