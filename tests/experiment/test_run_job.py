"""A job from text to record: complete or failed, the same bits twice, and nothing that is not written down."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cseb.analysis.comparable import stale
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.encoder.encoder import Encoder
from cseb.errors import BadResults
from cseb.experiment.benchmark import load, override
from cseb.experiment.evaluate import evaluate
from cseb.experiment.plan import plan
from cseb.experiment.run_job import run_job
from cseb.records.progress import Progress
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_tasks
from cseb.training import loop as training
from tests.conftest import SENTENCES
from tests.experiment.conftest import SMALL, Jobs, Tiny, scores
from tests.factory import stored
from tests.world import WORLD

GEOMETRY = "toy-alignment,toy-uniformity,toy-anisotropy,toy-effective-rank"


def test_a_record_holds_both_checkpoints_of_every_task(jobs: Jobs, store: Store) -> None:
    seen: list[Progress] = []
    (job,) = jobs(f"simcse{SMALL}")
    record = run_job(job, store, seen.append)
    assert record.status == "done"
    assert set(scores(record)) == {(t, s) for t in ("toy-captions@1", "toy-relations@1") for s in ("best", "last")}
    assert [step for step, _, _ in record.trace.curve] == [3, 6]
    assert all(dev is not None for _, _, dev in record.trace.curve)
    assert record.protocol.dev_pairs > 100
    assert [(look.step, look.steps, look.key) for look in seen] == [(3, 6, job.key), (6, 6, job.key)]
    assert store.read(job.key) == record
    items = store.read_items(job.key)
    assert set(items) == {f"{task}/{select}" for task, select in scores(record)}
    from scipy.stats import spearmanr
    from toy_world import pairs

    again = 100 * spearmanr(items["toy-captions@1/best"], pairs("toy-captions").gold).statistic
    assert scores(record)["toy-captions@1", "best"] == pytest.approx(again)


def test_untrained_methods_score_what_the_encoder_is(jobs: Jobs, store: Store) -> None:
    job = jobs("mean")[0]
    record = run_job(job, store, lambda look: None)
    result = scores(record)
    assert result["toy-captions@1", "best"] == result["toy-captions@1", "last"]
    how = EncoderOptions(pooler="mean")
    direct = evaluate(find(job.folder, how), how, "toy-captions", "", store).record
    assert direct.scores[0].value == pytest.approx(result["toy-captions@1", "last"], abs=1e-3)
    assert (direct.method, direct.resolved.split()[0]) == (record.method, record.resolved.split()[0])


def test_a_loss_that_is_no_number_becomes_a_failed_record(jobs: Jobs, store: Store) -> None:
    (job,) = jobs("simcse+recipe(steps=40,warmup=0,batch_size=8,learning_rate=1e30,clip=0)")
    record = run_job(job, store, lambda look: None)
    assert record.status == "failed"
    assert 1 < record.failure.step <= 40
    assert "loss is" in record.failure.reason
    assert record.scores == ()
    assert store.read(job.key) == record


@pytest.mark.parametrize("more", ["", "+recipe(learning_rate=1e30,clip=0)"])
def test_a_cost_is_that_of_all_processes(jobs: Jobs, store: Store, monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    (job,) = jobs(f"simcse{SMALL}{more}")
    monkeypatch.setattr("cseb.encoder.distributed.DistributedContext.others", lambda *_: 1000.0)
    record = run_job(job, store, lambda look: None)
    assert record.status == ("failed" if more else "done")
    assert 1000 < record.cost.cpu_seconds < 2000


def test_deterministic_mode(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[tuple[bool, str]] = []
    monkeypatch.setattr("cseb.experiment.run_job.set_deterministic", lambda *given: settings.append(given))
    (job,) = jobs("mean")
    for deterministic in (True, False):
        again = replace(job, deterministic=deterministic)
        record = run_job(again, stored(tmp_path / str(deterministic)), lambda look: None)
        assert (record.key, record.origin.deterministic) == (job.key, deterministic)
    assert settings == [(True, "cpu"), (False, "cpu")]


def test_every_kind_of_task_is_scored_from_its_items(jobs: Jobs, tmp_path: Path, store: Store) -> None:
    (tmp_path / "own").mkdir()
    labels = tmp_path / "own" / "my labels.csv"
    labels.write_text("text,label\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(SENTENCES)))
    typed = f"clinc150-dev,{GEOMETRY},{labels},{labels}:clustering"
    (job,) = jobs(f"simcse{SMALL}", tasks=typed)
    record = run_job(job, store, lambda _: None)
    names = [score.task for score in record.scores if score.select == "last"]
    assert names[0] == "clinc150-dev@1"
    assert names[-2:] == ["my_labels.csv@1", "my_labels.csv:clustering@1"]
    assert stale(record) == ""
    items = store.read_items(job.key)
    loaded = {f"{task.name}@{task.version}": load_task(task, None) for task in parse_tasks(typed)}
    for score in record.scores:
        own = items[f"{score.task}/{score.select}"]
        outcome = loaded[score.task].outcome(own)
        assert (outcome.value, outcome.detail, len(own)) == (score.value, score.detail, score.items)


def test_tasks_followed_along_training_choose_nothing(tiny: Tiny, tmp_path: Path) -> None:
    grid = override(load(WORLD), methods="simcse+recipe(batch_size=16)", encoder=str(tiny("bert")), sizes="60",
                    corpus="wikipedia:100", seeds=1, tasks="toy-captions", steps=4)  # fmt: skip
    quiet = lambda progress: None
    (plain,), (followed,) = (plan(grid), plan(grid, along=f"{GEOMETRY},toy-captions"))
    assert plain.key == followed.key
    without, beside = (
        run_job(job, stored(tmp_path / name), quiet) for name, job in (("plain", plain), ("along", followed))
    )
    assert (without.scores, without.trace.curve) == (beside.scores, beside.trace.curve)
    assert without.trace.along == ()
    assert [step for step, _ in beside.trace.along] == [step for step, _, _ in beside.trace.curve]
    last = beside.trace.along[-1][1]
    assert set(last) == {"toy-alignment", "toy-uniformity", "toy-anisotropy", "toy-effective-rank", "toy-captions"}
    assert last["toy-captions"] == next(score.value for score in beside.scores if score.select == "last")


CUDA = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ...")
CPU = RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")


@pytest.mark.parametrize("error", [CUDA, CPU, MemoryError()])
def test_too_little_memory_is_a_failed_record(
    jobs: Jobs, store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    (job,) = jobs(f"simcse{SMALL}")
    step = torch.optim.AdamW.step
    steps = []

    def stepping(*args: object, **options: object) -> object:
        steps.append(0)
        if len(steps) == 5:
            raise error
        return step(*args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", stepping)
    record = run_job(job, store, lambda seen: None)
    assert store.read(job.key) == record
    assert (record.status, record.scores, len(steps)) == ("failed", (), 5)
    assert record.failure.step == 3  # the last that was looked at
    assert record.failure.reason.startswith(f"out of memory: {str(error)[:60] or 'MemoryError'}")
    assert "--rerun failed" in record.failure.reason


def test_other_errors_no_record(jobs: Jobs, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs(f"simcse{SMALL}")

    def train(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(training, "train", train)
    with pytest.raises(RuntimeError, match="shapes"):
        run_job(job, store, lambda seen: None)
    assert not store.keys()


def test_smaller_batch_recorded(jobs: Jobs, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs(f"simcse{SMALL}")
    usual = run_job(job, store, lambda seen: None)
    pool, called = Encoder.pool, []

    def once(*args: object) -> object:
        called.append(0)
        if len(called) == 1:
            raise CUDA
        return pool(*args)

    monkeypatch.setattr(Encoder, "pool", once)
    record = run_job(job, store, lambda seen: None)
    assert record.status == "done"
    assert record.trace.notes == (*usual.trace.notes, "scored in batches 4 times smaller, for want of memory")
    assert [loss for _, loss, _ in record.trace.curve] == [loss for _, loss, _ in usual.trace.curve]  # trained alike


def test_unwritable_model(jobs: Jobs, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs(f"simcse+mean{SMALL}")
    models = tmp_path / "models"
    real = Path.write_text

    def full(path: Path, text: str) -> int:
        if path.name == "modules.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, text)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(BadResults, match="No space left on device"):
            run_job(job, store, lambda seen: None, models=models)
    assert store.keys() == {job.key}
    assert not list(models.iterdir())
    for _ in range(2):  # the second one takes the place of the first
        run_job(job, store, lambda seen: None, models=models)
        assert [path.name for path in models.iterdir()] == [job.key]
        assert (models / job.key / "modules.json").is_file()


def test_a_record_names_tasks_with_texts_in_its_sentences(jobs: Jobs, tmp_path: Path, store: Store) -> None:
    text = load_task("toy-captions", None).sentences()[0]
    corpus = tmp_path / "seen.txt"
    corpus.write_text("\n".join([text, *SENTENCES[:15]]), encoding="utf-8")
    simcse, cls = jobs(f"simcse{SMALL},cls", corpus=str(corpus), tasks="toy-captions")
    (result,) = run_job(simcse, store, lambda _: None).overlap or ()
    assert (result.task, result.exact) == ("toy-captions@1", 1)
    assert run_job(cls, store, lambda _: None).overlap is None  # nothing is trained
