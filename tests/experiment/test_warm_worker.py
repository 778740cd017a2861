"""What a worker keeps from job to job: never more than is still true."""

import errno
import io
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cseb.data import weights
from cseb.encoder import tokenizer
from cseb.errors import BadData
from cseb.experiment.run_job import run_job
from cseb.launchers import launch
from cseb.launchers.local import Local
from cseb.records.record import Foreign
from cseb.records.store import Store
from cseb.tasks.evaluate import data_sha256, load_task
from tests.conftest import SENTENCES
from tests.experiment.conftest import SMALL, Jobs, Tiny


@pytest.mark.slow
def test_a_warm_worker_finds_the_bits_of_a_fresh_process(jobs: Jobs, tmp_path: Path) -> None:
    """Whatever earlier jobs have left in the process: tokenizers, corpora, data of tasks, grown memory."""
    methods = [f"simcse{SMALL}", f"micse+ami(layers=(0,1))+queue(size=16){SMALL}", f"simcse+mean{SMALL}"]
    *before, job = jobs(",".join(methods), seeds=2)
    stores = [Store(tmp_path / name) for name in ("warm", "fresh")]
    for store in stores:
        store.prepare()
    for each in (*before, job):
        run_job(each, stores[0], lambda seen: None)
    launch([job], stores[1], Local(2), lambda event: None)  # two workers: a process of its own
    warm, fresh = (store.read(job.key) for store in stores)
    assert warm.model_dump(exclude={"cost", "origin"}) == fresh.model_dump(exclude={"cost", "origin"})
    for name, items in stores[0].read_items(job.key).items():
        assert np.array_equal(items, stores[1].read_items(job.key)[name])


def test_a_tokenizer_is_read_again_when_its_file_has_changed(tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(tiny("bert"), folder)
    first = tokenizer.read(folder, False)
    assert tokenizer.read(folder, False) is first
    os.utime(folder / "tokenizer.json", ns=(0, 0))
    assert tokenizer.read(folder, False) is not first
    texts = ["a man is eating", "a dog"]
    assert tokenizer.own_ids(first, texts) is tokenizer.own_ids(first, list(texts))
    assert tokenizer.own_ids(first, texts[::-1]) == tokenizer.own_ids(first, texts)[::-1]


@pytest.mark.parametrize("what", ["corpus", "tasks", "encoder", "pairs"])
def test_changed_inputs_are_not_trained_on(jobs: Jobs, tiny: Tiny, tmp_path: Path, store: Store, what: str) -> None:
    encoder, labels, pairs = tmp_path / "encoder", tmp_path / "labels.csv", tmp_path / "pairs.tsv"
    shutil.copytree(tiny("bert"), encoder)
    labels.write_text("text,label\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(SENTENCES)))
    pairs.write_text("".join(f"{text}\t{text}\n" for text in SENTENCES))
    (job,) = jobs(f"simcse+paraphrase(file='{pairs}'){SMALL}", encoder=str(encoder), tasks=str(labels))
    config = encoder / "tokenizer_config.json"
    changed = {"corpus": tmp_path / "corpus.txt", "tasks": labels, "encoder": config, "pairs": pairs}[what]
    changed.write_text(changed.read_text().replace("the dog", "a horse") + "\n")
    load_task.cache_clear()  # the job as a process of its own would run it
    data_sha256.cache_clear()
    with pytest.raises(BadData, match=r"changed: sha256 .*; run the benchmark again"):
        run_job(job, store, lambda seen: None)
    assert not store.keys()


def test_a_changed_corpus_is_read_again_in_a_new_run(jobs: Jobs, tmp_path: Path, store: Store) -> None:
    (before,) = jobs("cls")
    run_job(before, store, lambda seen: None)
    with (tmp_path / "corpus.txt").open("a") as file:
        file.write("\none more sentence\n")
    (job,) = jobs("cls")
    assert run_job(job, store, lambda seen: None).corpus.sha256 != before.corpus.sha256


def test_changed_code_of_another_package_is_not_run(jobs: Jobs, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs(f"simcse{SMALL}")
    planned, installed = (
        Foreign(name="cosent", package="cosent-kit", version=version, code="0" * 16) for version in ("1.0", "1.1")
    )
    monkeypatch.setattr("cseb.experiment.run_job.foreign", lambda *_: (installed,))
    with pytest.raises(BadData, match=r"the code of cosent has changed: cosent-kit 1\.1, before cosent-kit 1\.0"):
        run_job(replace(job, foreign=(planned,)), store, lambda seen: None)


def test_an_unchanged_encoder_is_hashed_once(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read = tmp_path / "encoder", []
    shutil.copytree(tiny("bert"), folder)
    whole = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **more: read.append(path) or whole(path, *how, **more))
    first = weights.encoder_sha256(folder, "it")
    assert weights.find_encoder(str(folder))[1] == first
    assert sorted(read) == sorted(set(read)) != []
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    assert weights.encoder_sha256(folder, "it") != first


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Torn(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise OSError(errno.EIO, "Input/output error")  # of a disk; it names no file

    (tmp_path / "model").write_text("x")
    for wrong in (tmp_path / "model", tmp_path / "gone"):
        monkeypatch.setattr(Path, "open", lambda *_: Torn())
        with pytest.raises(BadData, match=f"^{wrong} cannot be read: (Input/output error|No such file)"):
            weights.sha256_of([wrong])
