"""Corpora that do not hold what a method learns from are refused before anything trains; what they are is kept."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.errors import BadData
from cseb.experiment.job import Job
from cseb.experiment.run_job import run_job
from cseb.explain.provenance import story
from tests.conftest import SENTENCES
from tests.experiment.conftest import SMALL, prepared

Make = Callable[..., list[Job]]
SIDECAR = "generator: some-model\ndate: 2026-01\nprompt_sha256: unknown\nlicence: CC0-1.0\nseed_sentences: subset\n"


EIGHT = "+recipe(batch_size=8)"


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    path = tmp_path / "triples.txt"
    path.write_text("".join(f"{one}\t{one} again\tnot {one}\n" for one in SENTENCES), encoding="utf-8")
    return path


def test_a_generated_corpus_needs_provenance_before_the_grid(jobs: Make, triples: Path) -> None:
    with pytest.raises(BadData, match=r"syncse.* trains on sentences that a language model wrote, .*triples\.txt says"):
        jobs(f"syncse{EIGHT}", corpus=str(triples))
    with pytest.raises(BadData, match=r"syncse.* reads 3 texts"):
        jobs(f"syncse{EIGHT}")
    assert len(jobs(f"simcse-sup{EIGHT},cls", corpus=str(triples))) == 2  # not declared as generated
    assert len(jobs(f"syncse{EIGHT}", corpus="microworld:triples:100")) == 1  # known without a file
    triples.with_name("triples.provenance.yaml").write_text(SIDECAR)
    assert len(jobs(f"syncse{EIGHT},simcse-sup{EIGHT}", corpus=f"generated:{triples}")) == 2


def test_a_record_says_who_wrote_its_sentences(jobs: Make, triples: Path, tmp_path: Path) -> None:
    triples.with_name("triples.provenance.yaml").write_text(SIDECAR)
    store = prepared(tmp_path / "results")
    found = {}
    for job in jobs(f"syncse{SMALL},simcse{SMALL},cls", corpus=str(triples), tasks="mw-captions", dev="none"):
        record = run_job(job, store, lambda look: None)
        assert store.read(job.key) == record
        assert record.generated is not None
        assert record.generated.generator == "some-model"
        assert ("written by", str(record.generated)) in dict(story(record, store))["job"]
        found[job.method.name] = record.data_seen
    assert found == {
        "syncse": ("generated:some-model", "subset"),
        "simcse": ("generated:some-model", "subset"),
        "cls": (),
    }


def test_a_record_of_other_sentences_has_no_such_field(jobs: Make, tmp_path: Path) -> None:
    store = prepared(tmp_path / "results")
    (job,) = jobs("cls", tasks="mw-captions", dev="none")
    run_job(job, store, lambda look: None)
    assert "generated" not in json.loads((store.runs / f"{job.key}.json").read_text())
