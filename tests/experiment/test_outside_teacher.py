"""A teacher from elsewhere in a job: found and hashed when it is planned, its vectors kept, the record marked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cseb.data.corpus import pack
from cseb.errors import BadData
from cseb.experiment import train_job
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.experiment.train_job import JobTraining
from cseb.parts.stages import OutsideTeacher
from tests.conftest import SENTENCES

STEPS = "recipe(steps=2,warmup=0,batch_size=8,eval_every=1)"


@pytest.fixture
def teacher(tmp_path: Path) -> str:
    """A file of vectors of all sentences, 5 numbers each."""
    vectors = np.array(
        [[len(sentence), sentence.count("a"), sentence.count("i"), sentence.count("p"), 1.0] for sentence in SENTENCES]
    )
    np.savez(tmp_path / "teacher.npz", sentences=SENTENCES, vectors=vectors)
    return str(tmp_path / "teacher.npz")


@pytest.fixture
def job_of(tmp_path: Path) -> Callable[..., Job]:
    """A function that returns the job of a teacher on all sentences."""
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES))

    def planned(teacher: str, more: str = "") -> Job:
        text = f"distil-l2+outside_teacher(encoder={teacher!r}){more}+{STEPS}"
        grid = {"methods": text, "fractions": (1.0,), "seeds": 1, "tasks": "toy-mixed"}
        return plan(Benchmark(name="mine", corpus=str(tmp_path / "corpus.txt"), encoder="cseb-tiny", **grid))[0]

    return planned


def test_the_content_of_a_teacher_is_part_of_the_identity(teacher: str, job_of: Callable[..., Job]) -> None:
    once = job_of(teacher)
    (source,) = once.external_inputs
    assert source.name == teacher
    np.savez(teacher, sentences=SENTENCES, vectors=np.ones((len(SENTENCES), 5)))
    assert job_of(teacher).key != once.key
    assert once.method.data_seen() == ("external", "subset")


def test_a_job_trains_with_its_teacher_and_gives_the_same_bits_from_kept_vectors(
    teacher: str, job_of: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_job, "cache_folder", lambda: tmp_path / "kept")
    job = job_of(teacher)
    curves = []
    for _ in range(2):
        training = JobTraining.of(job, pack("mine", SENTENCES))
        curves.append(training.run(lambda look: None).curve)
    assert curves[0] == curves[1]
    assert len(list((tmp_path / "kept").rglob("*.npz"))) == 1


def test_vectors_are_kept_for_the_same_list_of_texts_alone(
    teacher: str, job_of: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_job, "cache_folder", lambda: tmp_path / "kept")
    asked: list[int] = []
    embedder = train_job.find(teacher, "")

    def counting() -> object:
        def embed(texts: Sequence[str]) -> np.ndarray:
            asked.append(len(texts))
            return embedder.open()(texts)

        return embed

    monkeypatch.setattr(train_job, "find", lambda *a, **k: replace(embedder, open=counting))
    stage = JobTraining.of(job_of(teacher), pack("mine", SENTENCES)).built.outside
    assert isinstance(stage, OutsideTeacher)
    embed = train_job.vectors(stage, "cpu", 1, False)
    once, again = embed(SENTENCES[:6]), embed(SENTENCES[:6])
    embed(SENTENCES[:7])
    assert asked == [6, 7]
    assert np.array_equal(once, again)
    monkeypatch.setattr(train_job, "cache_folder", lambda: tmp_path / "teacher.npz")  # a file is no folder
    assert np.array_equal(embed(SENTENCES[:6]), once)


def test_a_teacher_that_is_not_there_is_named_before_anything_trains(job_of: Callable[..., Job]) -> None:
    with pytest.raises(BadData, match=r"outside_teacher: encoder: .* no such folder.*; it may be a folder, a hub name"):
        job_of("st:no/such/folder/here")


def test_its_width_is_asked_of_the_teacher_itself(teacher: str, job_of: Callable[..., Job]) -> None:
    stage = JobTraining.of(job_of(teacher, "+outside_teacher(width=own)+project(width=5)"), pack("mine", SENTENCES))
    assert train_job.width_of(stage.built.outside) == 5
