"""A trained encoder that is written out: it gives the vectors that were scored."""

from pathlib import Path

import pytest

from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData
from cseb.experiment.evaluate import evaluate
from cseb.experiment.run_job import run_job
from cseb.records.store import Store
from tests.experiment.conftest import SMALL, Jobs, scores


def test_an_export_has_what_pooler_and_post_processor_need(jobs: Jobs, tmp_path: Path, store: Store) -> None:
    from safetensors.torch import load_file

    text = f"isbert+cnn_mean(widths=(1,3))+whiten(dimensions=6){SMALL}"
    (job,) = jobs(text)
    record = run_job(job, store, lambda look: None, models=tmp_path / "models")
    assert record.status == "done"
    folder = tmp_path / "models" / job.key
    weights = load_file(folder / "cseb.safetensors")
    assert weights["post.mean"].shape == (16,)
    assert weights["post.map"].shape == (16, 6)
    assert weights["pooler.convolutions.1.weight"].shape == (8, 16, 3)
    assert "saved_module" in (folder / "modules.json").read_text()
    plain, whitened = jobs(f"simcse{SMALL},simcse+whiten(dimensions=6){SMALL}")
    for job in (plain, whitened):
        run_job(job, store, lambda look: None, models=tmp_path / "models")
        is_plain = job is plain  # SentenceTransformer knows of no whitening
        assert (tmp_path / "models" / job.key / "cseb.safetensors").exists() is not is_plain
        modules = (tmp_path / "models" / job.key / "modules.json").read_text()
        assert ("saved_module" in modules) is not is_plain


@pytest.mark.parametrize(
    "text",
    ["isbert+cnn_mean(widths=(1,3))+whiten(dimensions=6)", "simcse+mlp(keep=true)+flow(levels=2,steps=4,every=2)"],
)
def test_what_is_exported_is_scored_again_as_it_was(jobs: Jobs, tmp_path: Path, store: Store, text: str) -> None:
    models = tmp_path / "models"
    (job,) = jobs(f"{text}{SMALL}")
    record = run_job(job, store, lambda look: None, models=models)
    how = EncoderOptions(results=tmp_path)
    again = evaluate(find(job.key, how), how, "toy-captions,toy-relations", "", store).record
    assert (again.method, again.resolved, again.data_seen) == (record.method, record.resolved, record.data_seen)
    for score in again.scores:
        assert score.value == pytest.approx(scores(record)[score.task, "best"], abs=1e-3)
    half = evaluate(
        find(job.key, EncoderOptions(results=tmp_path, dtype="bf16")), how, "toy-captions", "", store
    ).record
    assert half.scores[0].value is not None
    (models / job.key / "cseb.safetensors").unlink()
    with pytest.raises(BadData, match=r"lacks cseb\.safetensors with [0-9]+ tensors of pooler, head or"):
        evaluate(find(job.key, how), how, "toy-captions", "", None)
