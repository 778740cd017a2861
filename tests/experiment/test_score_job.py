"""What was scored before in a process: taken where the vectors cannot have changed, and nowhere else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cseb.encoder.encoder import Encoder
from cseb.experiment.benchmark import load, override
from cseb.experiment.plan import plan
from cseb.experiment.run_job import _scored_before, run_job
from cseb.records.store import Store
from tests.conftest import SENTENCES
from tests.world import WORLD


@pytest.mark.parametrize(
    ("method", "encoder", "scored"),
    [
        ("mean", "cseb-tiny", 1),
        ("mean", "tiny", 3),  # its pooler has no weights in the file: each seed draws them
        ("mean+whiten(dimensions=4)", "cseb-tiny", 3),  # fitted to each seed's subset
        ("simcse+recipe(steps=1,warmup=0,batch_size=4,eval_every=1)", "cseb-tiny", 3),
    ],
)
def test_an_untrained_encoder_is_scored_once(
    method: str,
    encoder: str,
    scored: int,
    tiny: Callable[[str], Path],
    tmp_path: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _scored_before.cache_clear()
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")
    folder = str(tiny("bert")) if encoder == "tiny" else encoder
    small: dict[str, Any] = {"corpus": str(corpus), "fractions": "", "sizes": "16"}
    small |= {"tasks": "toy-captions", "dev": "none"}
    jobs = plan(override(load(WORLD), methods=method, encoder=folder, seeds=3, **small))
    times = 0
    embed = Encoder.embed

    def counted(self: Encoder, *given: Any, **named: Any) -> Any:
        nonlocal times
        times += 1
        return embed(self, *given, **named)

    monkeypatch.setattr(Encoder, "embed", counted)
    once = [run_job(job, store, lambda look: None) for job in jobs]
    calls, times = times, 0
    _scored_before.cache_clear()
    alone = run_job(jobs[0], store, lambda look: None)
    assert calls == scored * times
    assert alone.scores == once[0].scores
    if scored == 1:
        (other,) = plan(override(load(WORLD), methods="cls", encoder=folder, seeds=1, **small))
        assert run_job(other, store, lambda look: None).scores != alone.scores  # of the same weights
        assert [record.scores for record in once[1:]] == [once[0].scores] * 2
        for key in (record.key for record in once[1:]):
            for name, items in store.read_items(once[0].key).items():
                assert np.array_equal(items, store.read_items(key)[name])
