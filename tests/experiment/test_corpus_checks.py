"""Corpora that do not hold what a method learns from are refused before anything trains; what they are is kept."""

import json
from pathlib import Path

import pytest

from cseb.commands.provenance import story
from cseb.data.corpus import read_corpus
from cseb.errors import BadData
from cseb.experiment.run_job import run_job
from cseb.experiment.train_job import JobTraining
from cseb.records.store import Store
from cseb.training.batches import texts_of
from tests.conftest import SENTENCES
from tests.experiment.conftest import SMALL, Jobs

Make = Jobs
SIDECAR = "generator: some-model\ndate: 2026-01\nprompt_sha256: unknown\nlicence: CC0-1.0\nseed_sentences: subset\n"


EIGHT = "+recipe(batch_size=8)"


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    path = tmp_path / "triples.txt"
    path.write_text(
        "".join(f"{sentence}\t{sentence} again\tnot {sentence}\n" for sentence in SENTENCES), encoding="utf-8"
    )
    return path


def test_a_generated_corpus_needs_provenance_before_the_grid(jobs: Make, triples: Path) -> None:
    with pytest.raises(BadData, match=r"syncse.* trains on sentences that a language model wrote, .*triples\.txt says"):
        jobs(f"syncse{EIGHT}", corpus=str(triples))
    with pytest.raises(BadData, match=r"syncse.* reads 3 texts"):
        jobs(f"syncse{EIGHT}")
    assert len(jobs(f"simcse-sup{EIGHT},cls", corpus=str(triples))) == 2  # not declared as generated
    triples.with_name("triples.provenance.yaml").write_text(SIDECAR)
    assert len(jobs(f"syncse{EIGHT},simcse-sup{EIGHT}", corpus=f"generated:{triples}")) == 2


def test_a_record_says_who_wrote_its_sentences(jobs: Make, triples: Path, store: Store) -> None:
    triples.with_name("triples.provenance.yaml").write_text(SIDECAR)
    (job,) = jobs(f"syncse{SMALL}", corpus=str(triples), tasks="toy-captions", dev="none")
    record = run_job(job, store, lambda look: None)
    assert store.read(job.key) == record
    assert record.generated.generator == "some-model"
    assert record.data_seen == ("generated:some-model", "subset")
    assert ("written by", str(record.generated)) in dict(story(record, store))["job"]


def test_a_record_of_other_sentences_has_no_such_field(jobs: Make, store: Store) -> None:
    (job,) = jobs("cls", tasks="toy-captions", dev="none")
    run_job(job, store, lambda look: None)
    assert "generated" not in json.loads((store.runs / f"{job.key}.json").read_text())


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    path = tmp_path / "articles.jsonl"
    rows = [
        {"title": sentence, "body": f"{sentence} at length", "rated": at % 5} for at, sentence in enumerate(SENTENCES)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_what_a_method_may_use_is_by_the_names_of_columns(jobs: Make, articles: Path) -> None:
    pairs, rated = "anchor=title,positive=body", "left=title,right=body,score=rated"
    assert len(jobs(f"simcse-positives{EIGHT},simcse{EIGHT},cls", corpus=str(articles), column=pairs)) == 3
    assert len(jobs(f"cosent{EIGHT},simcse{EIGHT}", corpus=str(articles), column=rated)) == 2
    for methods, column, words in (
        ("simcse-sup", pairs, "columns anchor, positive, negative; of .* names anchor, positive; write `column` anch"),
        ("simcse-sup", rated, "columns anchor, positive, negative; .* names left, right, score"),  # three, too
        ("cosent", pairs, "reads the columns left, right, score"),
        ("cosent", rated.replace("rated", "body"), "a rated pair ends in"),
    ):
        with pytest.raises(BadData, match=words):
            jobs(f"{methods}{EIGHT}", corpus=str(articles), column=column)


def test_sentences_trained_on_are_those_of_the_columns(jobs: Make, articles: Path) -> None:
    column = "anchor=title,positive=body"
    for job in jobs(f"simcse{SMALL},simcse-positives{SMALL}", corpus=str(articles), column=column):
        corpus = read_corpus(job.corpus.name, job.column)
        result = JobTraining.of(job, corpus).sentences
        assert all(line in SENTENCES for line in result) == (job.method.name == "simcse")
        assert all(line.count("\t") == (job.method.name != "simcse") for line in result)


@pytest.mark.parametrize(("named", "wanted"), [(True, SENTENCES), (False, None)], ids=["columns", "plain lines"])
def test_sentences_to_fit_on(jobs: Make, articles: Path, triples: Path, named: bool, wanted: list[str] | None) -> None:
    """The first of named columns; of plain text the whole line, TABs included."""
    corpus, column = (articles, "anchor=title,positive=body") if named else (triples, "")
    result = {}
    methods = f"simcse+remove_components{SMALL},mean+remove_components"
    for job in jobs(methods, corpus=str(corpus), column=column):
        training = JobTraining.of(job, read_corpus(job.corpus.name, job.column))
        result[job.method.name] = list(texts_of(training.built.views, training.sentences))
    assert result["simcse"] == result["mean"]
    assert set(result["mean"]) <= set(wanted or triples.read_text("utf-8").splitlines())
