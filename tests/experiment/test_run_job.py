"""A job from text to record: complete or failed, the same bits twice, and nothing that is not written down."""

import errno
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.data import weights
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.encoder import tokenizer
from cseb.encoder.encoder import Encoder
from cseb.errors import BadData, BadResults
from cseb.experiment.benchmark import load, override
from cseb.experiment.evaluate import evaluate
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.experiment.run_job import run_job
from cseb.launchers import launch
from cseb.launchers.local import Local
from cseb.records.progress import Progress
from cseb.records.record import Record
from cseb.records.staleness import stale
from cseb.records.store import Store
from cseb.tasks.evaluate import data_sha256, load_task
from cseb.tasks.names import parse_tasks
from cseb.training import loop as training
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
SMALL = "+recipe(steps=6,warmup=0,batch_size=8,eval_every=3,learning_rate=1e-3)"


def prepared(folder: Path) -> Store:
    store = Store(folder)
    store.prepare()
    return store


@pytest.fixture
def jobs(tiny: Tiny, tmp_path: Path) -> Callable[..., list[Job]]:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")

    def make(methods: str, **options: object) -> list[Job]:
        settled = {"encoder": str(tiny("bert")), "corpus": str(corpus), "fractions": "", "sizes": "16", "seeds": 1,
                   "tasks": "mw-captions,mw-relations", **options}  # fmt: skip
        return plan(override(load("microworld"), methods=methods, **settled))  # type: ignore[arg-type]

    return make


def scores(record: Record) -> dict[tuple[str, str], float | None]:
    return {(score.task, score.select): score.value for score in record.scores}


def test_a_record_holds_both_checkpoints_of_every_task(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    seen: list[Progress] = []
    (job,) = jobs(f"simcse{SMALL}")
    store = prepared(tmp_path / "results")
    record = run_job(job, store, seen.append)
    assert record.status == "done"
    assert set(scores(record)) == {(t, s) for t in ("mw-captions@1", "mw-relations@1") for s in ("best", "last")}
    assert record.trace is not None
    assert [step for step, _, _ in record.trace.curve] == [3, 6]
    assert all(dev is not None for _, _, dev in record.trace.curve)
    assert record.protocol.dev_pairs > 100
    assert [(look.step, look.steps, look.key) for look in seen] == [(3, 6, job.key), (6, 6, job.key)]
    assert store.read(job.key) == record
    items = store.read_items(job.key)
    assert set(items) == {f"{task}/{select}" for task, select in scores(record)}
    from scipy.stats import spearmanr

    from cseb.microworld import pairs

    again = 100 * spearmanr(items["mw-captions@1/best"], pairs("mw-captions").gold).statistic
    assert scores(record)["mw-captions@1", "best"] == pytest.approx(again)


def test_the_same_job_gives_the_same_bits(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    (job,) = jobs(f"micse+ami(layers=(0,1))+queue(size=16){SMALL}")
    records = []
    for folder in ("one", "two"):
        store = prepared(tmp_path / folder)
        records.append(run_job(job, store, lambda look: None))
    assert records[0].scores == records[1].scores
    assert records[0].trace == records[1].trace
    one, two = (Store(tmp_path / folder).read_items(job.key) for folder in ("one", "two"))
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_seeds_sizes_and_options_are_other_jobs(jobs: Callable[..., list[Job]]) -> None:
    found = jobs(f"simcse{SMALL},micse+ami(layers=(0,1))+queue(size=16){SMALL}", seeds=2, sizes="16,24")
    assert len({job.key for job in found}) == len(found) == 8
    assert jobs(f"simcse{SMALL}")[0].key == jobs(f"simcse{SMALL}", seeds=3)[0].key
    assert jobs(f"simcse{SMALL}")[0].key != jobs(f"simcse{SMALL}", dev="none")[0].key


def test_untrained_methods_score_what_the_encoder_is(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    job = jobs("mean")[0]
    store = prepared(tmp_path / "results")
    record = run_job(job, store, lambda look: None)
    found = scores(record)
    assert found["mw-captions@1", "best"] == found["mw-captions@1", "last"]
    how = EncoderOptions(pooler="mean")
    direct = evaluate(find(job.folder, how), how, "mw-captions", "", store).record
    assert direct is not None
    assert direct.scores[0].value == pytest.approx(found["mw-captions@1", "last"], abs=1e-3)
    assert (direct.method, direct.resolved.split()[0]) == (record.method, record.resolved.split()[0])


def test_a_loss_that_is_no_number_becomes_a_failed_record(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    (job,) = jobs("simcse+recipe(steps=40,warmup=0,batch_size=8,learning_rate=1e30,clip=0)")
    store = prepared(tmp_path / "results")
    record = run_job(job, store, lambda look: None)
    assert record.status == "failed"
    assert record.failure is not None
    assert 1 < record.failure.step <= 40
    assert "loss is" in record.failure.reason
    assert record.scores == ()
    assert store.read(job.key) == record


@pytest.mark.parametrize("more", ["", "+recipe(learning_rate=1e30,clip=0)"])
def test_a_cost_is_that_of_all_processes(
    jobs: Callable[..., list[Job]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    (job,) = jobs(f"simcse{SMALL}{more}")
    store = prepared(tmp_path / "results")
    monkeypatch.setattr("cseb.encoder.distributed.DistributedContext.others", lambda *_: 1000.0)
    record = run_job(job, store, lambda look: None)
    assert record.status == ("failed" if more else "done")
    assert record.cost.cpu_seconds is not None
    assert 1000 < record.cost.cpu_seconds < 2000


def test_saved_models_give_the_vectors_that_were_scored(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    (job,) = jobs(f"simcse+mean{SMALL}")
    store = prepared(tmp_path / "results")
    record = run_job(job, store, lambda look: None, models=tmp_path / "models")
    folder = tmp_path / "models" / job.key
    assert (folder / "modules.json").is_file()
    how = EncoderOptions(results=tmp_path)
    again = evaluate(find(job.key, how), how, "mw-captions,mw-relations", "", store).record
    assert again is not None
    assert (again.method, again.resolved, again.data_seen) == (record.method, record.resolved, ("subset",))
    for score in again.scores:
        assert score.value == pytest.approx(scores(record)[score.task, "best"], abs=1e-3)


def test_no_job_leaves_a_trace_on_torch(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    import torch

    store = prepared(tmp_path / "results")
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    run_job(jobs(f"simcse{SMALL}")[0], store, lambda look: None)
    assert torch.equal(before, torch.random.get_rng_state())
    assert training.LOOK > 1


def test_an_export_holds_what_pooler_and_post_processor_need_at_test(
    jobs: Callable[..., list[Job]], tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    store = prepared(tmp_path / "results")
    text = f"isbert+cnn_mean(widths=(1,3))+whiten(dimensions=6){SMALL}"
    (job,) = jobs(text)
    record = run_job(job, store, lambda look: None, models=tmp_path / "models")
    assert record.status == "done"
    folder = tmp_path / "models" / job.key
    held = load_file(folder / "cseb.safetensors")
    assert held["post.mean"].shape == (16,)
    assert held["post.map"].shape == (16, 6)
    assert held["pooler.convolutions.1.weight"].shape == (8, 16, 3)
    assert not (folder / "modules.json").exists()
    plain, whitened = jobs(f"simcse{SMALL},simcse+whiten(dimensions=6){SMALL}")
    for one in (plain, whitened):
        run_job(one, store, lambda look: None, models=tmp_path / "models")
        is_plain = one is plain  # SentenceTransformer knows of no whitening
        assert (tmp_path / "models" / one.key / "cseb.safetensors").exists() is not is_plain
        assert (tmp_path / "models" / one.key / "modules.json").exists() is is_plain


@pytest.mark.parametrize(
    "text",
    ["isbert+cnn_mean(widths=(1,3))+whiten(dimensions=6)", "simcse+mlp(keep=true)+flow(levels=2,steps=4,every=2)"],
)
def test_what_is_exported_is_scored_again_as_it_was(jobs: Callable[..., list[Job]], tmp_path: Path, text: str) -> None:
    store, models = Store(tmp_path / "results"), tmp_path / "models"
    store.prepare()
    (job,) = jobs(f"{text}{SMALL}")
    record = run_job(job, store, lambda look: None, models=models)
    how = EncoderOptions(results=tmp_path)
    again = evaluate(find(job.key, how), how, "mw-captions,mw-relations", "", store).record
    assert again is not None
    for score in again.scores:
        assert score.value == pytest.approx(scores(record)[score.task, "best"], abs=1e-3)
    half = evaluate(find(job.key, EncoderOptions(results=tmp_path, dtype="bf16")), how, "mw-captions", "", store).record
    assert half is not None
    assert half.scores[0].value is not None
    (models / job.key / "cseb.safetensors").unlink()
    with pytest.raises(BadData, match=r"lacks cseb\.safetensors; [0-9]+ tensors of pooler, head or"):
        evaluate(find(job.key, how), how, "mw-captions", "", store, fresh=True)


def test_every_kind_of_task_is_scored_and_its_figures_follow_from_its_items(
    jobs: Callable[..., list[Job]], tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    labels = tmp_path / "own" / "my labels.csv"
    labels.write_text("text,label\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(SENTENCES)))
    typed = f"mw-faq,mw-clusters,mw-geometry,{labels},{labels}:clustering"
    (job,) = jobs(f"simcse{SMALL}", tasks=typed)
    store = prepared(tmp_path / "results")
    record = run_job(job, store, lambda _: None)
    names = [score.task for score in record.scores if score.select == "last"]
    assert names[0] == "mw-faq@1"
    assert names[-2:] == ["my_labels.csv@1", "my_labels.csv:clustering@1"]
    assert stale(record) == ""
    items = store.read_items(job.key)
    loaded = {f"{task.name}@{task.version}": load_task(task, None) for task in parse_tasks(typed)}
    for score in record.scores:
        own = items[f"{score.task}/{score.select}"]
        outcome = loaded[score.task].outcome(own)
        assert (outcome.value, outcome.detail, len(own)) == (score.value, score.detail, score.items)


def test_tasks_followed_along_training_choose_nothing(tiny: Tiny, tmp_path: Path) -> None:
    grid = override(load("microworld"), methods="simcse+recipe(batch_size=16)", encoder=str(tiny("bert")), sizes="60",
                    corpus="microworld:100", seeds=1, tasks="mw-captions", steps=4)  # fmt: skip
    quiet = lambda progress: None
    (plain,), (followed,) = plan(grid), plan(grid, along="mw-geometry,mw-captions")
    assert plain.key == followed.key
    without, beside = (
        run_job(job, prepared(tmp_path / name), quiet) for name, job in (("plain", plain), ("along", followed))
    )
    assert without.trace is not None
    assert beside.trace is not None
    assert (without.scores, without.trace.curve) == (beside.scores, beside.trace.curve)
    assert without.trace.along == ()
    assert [step for step, _ in beside.trace.along] == [step for step, _, _ in beside.trace.curve]
    last = beside.trace.along[-1][1]
    assert set(last) == {"mw-alignment", "mw-uniformity", "mw-anisotropy", "mw-effective-rank", "mw-captions"}
    assert last["mw-captions"] == next(score.value for score in beside.scores if score.select == "last")


CUDA = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ...")
CPU = RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")


@pytest.mark.parametrize("error", [CUDA, CPU, MemoryError()])
def test_too_little_memory_is_a_failed_record(
    jobs: Callable[..., list[Job]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    (job,) = jobs(f"simcse{SMALL}")
    store = prepared(tmp_path / "results")
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
    assert record.failure is not None
    assert record.failure.step == 3  # the last that was looked at
    assert record.failure.reason.startswith(f"out of memory: {str(error)[:60] or 'MemoryError'}")
    assert "--retry-failed" in record.failure.reason


def test_another_error_while_training_is_no_record(
    jobs: Callable[..., list[Job]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs(f"simcse{SMALL}")
    store = prepared(tmp_path / "results")

    def train(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(training, "train", train)
    with pytest.raises(RuntimeError, match="shapes"):
        run_job(job, store, lambda seen: None)
    assert not store.keys()


def test_a_smaller_batch_at_test_is_written_down(
    jobs: Callable[..., list[Job]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs(f"simcse{SMALL}")
    store = prepared(tmp_path / "results")
    usual = run_job(job, store, lambda seen: None)
    pool, called = Encoder.pool, []

    def once(*args: object) -> object:
        called.append(0)
        if len(called) == 1:
            raise CUDA
        return pool(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(Encoder, "pool", once)
    record = run_job(job, store, lambda seen: None)
    assert record.status == "done"
    assert usual.trace is not None
    assert record.trace is not None
    assert record.trace.notes == (*usual.trace.notes, "scored in batches 4 times smaller, for want of memory")
    assert [loss for _, loss, _ in record.trace.curve] == [loss for _, loss, _ in usual.trace.curve]  # trained alike


@pytest.mark.slow
def test_a_warm_worker_finds_the_bits_of_a_fresh_process(jobs: Callable[..., list[Job]], tmp_path: Path) -> None:
    """Whatever earlier jobs have left in the process: tokenizers, corpora, data of tasks, grown memory."""
    methods = [f"simcse{SMALL}", f"micse+ami(layers=(0,1))+queue(size=16){SMALL}", f"simcse+mean{SMALL}"]
    *before, job = jobs(",".join(methods), seeds=2)
    stores = [Store(tmp_path / name) for name in ("warm", "fresh")]
    for store in stores:
        store.prepare()
    for one in (*before, job):
        run_job(one, stores[0], lambda seen: None)
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
def test_what_changed_after_it_was_planned_is_not_trained_on(
    jobs: Callable[..., list[Job]], tiny: Tiny, tmp_path: Path, what: str
) -> None:
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
    store = prepared(tmp_path / "results")
    with pytest.raises(BadData, match="changed after the grid was planned; run the same command again"):
        run_job(job, store, lambda seen: None)
    assert not store.keys()


def test_an_encoder_is_hashed_once_while_its_files_stay_as_they_are(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read = tmp_path / "encoder", []
    shutil.copytree(tiny("bert"), folder)
    whole = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **more: read.append(path) or whole(path, *how, **more))  # type: ignore[func-returns-value]
    first = weights.encoder_sha256(folder, "it")
    assert weights.find_encoder(str(folder))[1] == first
    assert sorted(read) == sorted(set(read)) != []
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    assert weights.encoder_sha256(folder, "it") != first


def test_a_file_that_cannot_be_read_is_named_though_the_system_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Torn(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise OSError(errno.EIO, "Input/output error")  # of a disk; it names no file

    (tmp_path / "model").write_text("x")
    for wrong in (tmp_path / "model", tmp_path / "gone"):
        monkeypatch.setattr(Path, "open", lambda *_: Torn())
        with pytest.raises(BadData, match=f"^{wrong} cannot be read: (Input/output error|No such file)"):
            weights.sha256_of([wrong])


def test_a_model_that_cannot_be_written_costs_no_record_and_leaves_nothing_torn(
    jobs: Callable[..., list[Job]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs(f"simcse+mean{SMALL}")
    store, models = prepared(tmp_path / "results"), tmp_path / "models"
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


def test_a_record_says_which_tasks_have_texts_among_its_sentences(
    jobs: Callable[..., list[Job]], tmp_path: Path
) -> None:
    text = load_task("mw-captions", None).sentences()[0]
    corpus = tmp_path / "seen.txt"
    corpus.write_text("\n".join([text, *SENTENCES[:15]]), encoding="utf-8")
    simcse, cls = jobs(f"simcse{SMALL},cls", corpus=str(corpus), tasks="mw-captions")
    store = prepared(tmp_path / "results")
    (found,) = run_job(simcse, store, lambda _: None).overlap or ()
    assert (found.task, found.exact) == ("mw-captions@1", 1)
    assert run_job(cls, store, lambda _: None).overlap is None  # nothing is trained
