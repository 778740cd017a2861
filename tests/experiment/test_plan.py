"""From a benchmark to jobs: their identity, their order, and what is refused before anything trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cseb.data.weights import find_encoder
from cseb.errors import BadBenchmark, BadData, CsebError
from cseb.experiment.benchmark import Benchmark, load, override
from cseb.experiment.job import Job
from cseb.experiment.plan import like_records, longest_first, plan
from cseb.methods.grammar import parse_method
from cseb.records.record import Cost
from tests import standin_jobs

Make = Callable[..., Benchmark]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """A folder that looks like an encoder; planning reads no weights."""
    folder = tmp_path / "encoder"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def make(tmp_path: Path, encoder: Path) -> Make:
    (tmp_path / "corpus.txt").write_text("\n".join(f"sentence {number}" for number in range(1000)))

    def benchmark(**changes: Any) -> Benchmark:
        fields: dict[str, Any] = {
            "name": "mine",
            "methods": "simcse,cls",
            "encoder": str(encoder),
            "corpus": str(tmp_path / "corpus.txt"),
            "fractions": [0.5, 0.1],
            "seeds": 2,
            "tasks": "mw-captions,mw-mixed",
            "dev": "mw-dev",
            "scale": "recipe(steps=60, batch_size=32)",
        }
        return Benchmark.model_validate(fields | changes)

    return benchmark


def test_all_of_seed_0_comes_first_and_small_shares_before_large_ones(make: Make) -> None:
    jobs = plan(make())
    assert [(job.seed, job.fraction, job.size, job.label) for job in jobs] == [
        (seed, fraction, size, label)
        for seed in (0, 1)
        for fraction, size in ((0.1, 100), (0.5, 500))
        for label in ("simcse", "cls")
    ]
    assert len({job.key for job in jobs}) == 8


def test_the_scale_shortens_training_and_leaves_the_untrained_alone(make: Make) -> None:
    simcse, cls = plan(make())[:2]
    assert (simcse.recipe.steps, simcse.recipe.batch_size) == (60, 32)
    assert cls.recipe.steps == 0
    assert cls.method == parse_method("cls").at(0.1)


def test_steps_shorten_the_warm_up_in_proportion(make: Make) -> None:
    micse, typed = plan(make(methods="micse,micse+recipe(warmup=3)", scale="recipe(batch_size=32)", steps=80, seeds=1))[
        :2
    ]
    assert (micse.recipe.steps, micse.recipe.warmup) == (80, 1)  # 250 of 20,000 steps
    assert (typed.recipe.steps, typed.recipe.warmup) == (80, 3)


def test_steps_are_those_of_every_stage_too(make: Make) -> None:
    """Of a teacher, of RCL's entropy models and of a flow; an untrained method without one has none at all."""
    texts = "rankencoder", "rankencoder+teacher(steps=9)", "rcl-unsup", "bert-flow", "simcse+flow", "cls"

    def settled(**changes: Any) -> list[Job]:
        grid = make(methods=",".join(texts), scale="teacher(steps=70), recipe(batch_size=32)", seeds=1, **changes)
        return plan(grid)[: len(texts)]

    def lengths(job: Job) -> list[Any]:
        held = (job.method.stages, job.method.recipe, job.method.post)
        return [dict(one.options).get("steps") if one else None for one in held]

    assert [lengths(job) for job in settled(steps=8)] == [
        [8, 8, None], [9, 8, None], [8, 8, None], [None, 0, 8], [None, 8, 8], [None, 0, None],
    ]  # fmt: skip
    assert lengths(settled()[0])[0] == 70
    assert [lengths(job) for job in settled(steps=0)[::3]] == [[70, 0, None], [None, 0, 0]]  # no stage is trained then


def test_what_the_user_typed_wins_over_the_scale(make: Make) -> None:
    (job,) = plan(make(methods="simcse+recipe(steps=5)", fractions=[1], seeds=1))
    assert (job.label, job.recipe.steps, job.recipe.batch_size) == ("simcse+recipe(steps=5)", 5, 32)


def test_the_protocol_names_tasks_with_versions_and_counts_labels(make: Make) -> None:
    protocol = plan(make(), threads=3, device="cuda")[0].protocol
    assert protocol.tasks == ("mw-captions@1", "mw-mixed@1")
    assert protocol.dev == "mw-dev@1"
    assert protocol.dev_pairs > 100
    assert (protocol.threads, protocol.device) == (3, "cuda")
    assert plan(make(dev=""))[0].protocol.dev_pairs == 0


def test_the_key_changes_with_all_that_can_change_a_number_and_nothing_else(make: Make, encoder: Path) -> None:
    def key(**changes: Any) -> str:
        return plan(make(**({"methods": "simcse"} | changes)))[0].key

    first = key()
    assert key() == first
    assert key(name="other", notes="x", seeds=5, fractions=[0.1, 1.0]) == first
    assert key(fractions=(), sizes=[100]) == first  # the same sentences, asked for in another way
    different = {
        key(scale="recipe(steps=61, batch_size=32)"),
        key(tasks="mw-captions"),
        key(dev=""),
        key(fractions=[0.2]),
        key(methods="simcse+ami"),
    }
    (encoder / "model.safetensors").write_text("other weights")
    different.add(key())
    assert len(different | {first}) == 7


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"fractions": [0.01]},
            ["simcse at fraction 0.01", "10 sentences", "one batch of 32", "0.032", "batch_size=10"],
        ),
        ({"scale": "recipe(batch_size=5000)"}, ["corpus 1000", "one batch of 5000", "larger corpus"]),
        ({"fractions": [0.0001]}, ["0.0001", "less than one"]),
        ({"fractions": (), "sizes": [1001]}, ["1001", "1000"]),
        ({"fractions": [0.1, 0.1001]}, ["0.1 and 0.1001", "both 100 sentences"]),
        ({"methods": "simcse-infonce"}, ["simcse-infonce", "steps", "no term"]),
        ({"dev": "mw-mixed"}, ["dev 'mw-mixed'", "also a test task"]),
        ({"dev": "sts"}, ["one task"]),
        ({"tasks": "mw-caption"}, ["did you mean mw-captions"]),
        ({"corpus": "nowhere.txt"}, ["nowhere.txt"]),
        ({"tasks": "stsb", "data_dir": "/nowhere"}, ["/nowhere"]),
    ],
)
def test_what_cannot_run_is_said_before_anything_trains(make: Make, changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(CsebError) as caught:
        plan(make(**changes))
    for word in words:
        assert word in str(caught.value)


def test_an_untrained_method_needs_no_batch(make: Make) -> None:
    assert [job.size for job in plan(make(methods="cls", fractions=[0.001], seeds=1))] == [1]


def test_two_methods_are_not_run_under_one_key(make: Make) -> None:
    with pytest.raises(BadBenchmark, match="keep one"):
        plan(make(methods="cls", fractions=[0.1, 0.10001]))


def test_time_is_estimated_from_like_records(make: Make) -> None:
    jobs = plan(make(methods="simcse,cls,micse"))
    simcse, cls, micse = jobs[:3]
    same = standin_jobs.record(simcse, seconds=4.0)
    longer = same.model_copy(update={"cost": Cost(train_seconds=8.0, score_seconds=0.0, peak_rss_mb=1.0)})
    elsewhere = standin_jobs.record(replace(cls, encoder=standin_jobs.SOURCE), seconds=1.0)
    failed = standin_jobs.record(micse, failed="nan")
    found = like_records(jobs, [same, longer, elsewhere, failed])
    assert [found[job.key] for job in (simcse, cls, micse)] == [[4.0, 8.0], [1.0], []]


def test_an_encoder_is_what_is_in_its_files(encoder: Path) -> None:
    folder, first = find_encoder(str(encoder))
    assert folder == encoder
    (encoder / "README.md").write_text("no part of it")
    assert find_encoder(str(encoder))[1] == first
    hashes = {first}
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (encoder / name).write_text("changed")
        hashes.add(find_encoder(str(encoder))[1])
    (encoder / "vocab.txt").write_text("new")
    hashes.add(find_encoder(str(encoder))[1])
    assert len(hashes) == 5


def test_pickles_are_never_opened(encoder: Path) -> None:
    (encoder / "model.safetensors").rename(encoder / "pytorch_model.bin")
    with pytest.raises(BadData, match=r"pytorch_model.bin.*never opened.*save_pretrained"):
        find_encoder(str(encoder))


def test_a_folder_that_is_no_encoder_is_told_what_is_missing(
    encoder: Path,
) -> None:
    (encoder / "model.safetensors").unlink()
    with pytest.raises(BadData, match=r"has no model\.safetensors"):
        find_encoder(str(encoder))
    (encoder / "config.json").unlink()
    with pytest.raises(BadData, match=r"no config.json"):
        find_encoder(str(encoder))
    with pytest.raises(BadData, match="is a file"):
        find_encoder(str(encoder / "tokenizer.json"))
    for name in ("", "a b", "a/b/c", "\x00", "../up", "x" * 5000):
        with pytest.raises(BadData, match="no such folder"):
            find_encoder(name)


def test_without_a_network_the_hub_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BadData, match=r"someone/no-such-model.*no such folder.*microworld") as caught:
        find_encoder("someone/no-such-model@main")
    assert "\n" not in str(caught.value)


def test_triples_that_are_not_there_are_missed_before_anything_trains(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.txt"
    mixed.write_text("a\tb\tc\n" * 70 + "a sentence\n")
    grid = override(load("microworld"), methods="simcse-sup", corpus=str(mixed), sizes="70", seeds=1)
    with pytest.raises(BadData, match=r"simcse-sup reads 3 texts joined by TABs .* 1 of 71 lines .* 'a sentence'"):
        plan(grid)
    mixed.write_text("a\tb\tc\n" * 70)
    assert len(plan(override(grid, methods="simcse-sup,simcse+pairs,mean"))) == 3


def test_views_that_were_put_in_or_replaced_decide_what_a_line_must_hold(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(f"a sentence {number}\n" for number in range(70)))
    grid = override(load("microworld"), corpus=str(plain), sizes="70", seeds=1)
    for views, texts in (("triples", "3"), ("pairs", "2 or 3")):
        with pytest.raises(BadData, match=rf"mirror\+{views} reads {texts} texts .* 70 of 70 lines"):
            plan(override(grid, methods=f"mirror+{views}"))
    assert len(plan(override(grid, methods="simcse-positives+dropout"))) == 1


def test_a_task_file_is_known_by_what_it_says_wherever_it_lies(make: Make, tmp_path: Path) -> None:
    content = "one\tother\t1\na\tb\t2\nc\td\t3\n"
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.tsv").write_text(content)
    here, there = (plan(make(tasks=str(tmp_path / folder / "my.tsv")))[0] for folder in ("here", "there"))
    assert here.protocol.tasks == ("my.tsv@1",)
    assert here.key == there.key
    assert (here.tasks, here.dev) == (str(tmp_path / "here/my.tsv"), "mw-dev")
    (tmp_path / "there/my.tsv").write_text(content.replace("3", "0"))
    assert plan(make(tasks=str(tmp_path / "there/my.tsv")))[0].key != here.key
    chosen = plan(make(dev=str(tmp_path / "here/my.tsv")))[0].protocol
    assert (chosen.dev, chosen.dev_pairs) == ("my.tsv@1", 3)


def test_geometry_does_not_choose_a_checkpoint(make: Make) -> None:
    with pytest.raises(BadBenchmark, match="whose figure is 0 to 4, lower is better; a task in points"):
        plan(make(dev="mw-alignment"))


def test_what_a_method_reads_from_elsewhere_is_part_of_its_identity(make: Make, tmp_path: Path) -> None:
    """The content of a generator, a file of paraphrases, a translator's folder; not the files of other methods."""
    model, translator, pairs = tmp_path / "generator", tmp_path / "translator", tmp_path / "pairs.tsv"
    for folder in (model, translator):
        folder.mkdir()
        for name in ("config.json", "model.safetensors", "README.md"):
            (folder / name).write_text(name)
    pairs.write_text("a\tb\n")
    texts = [
        f"diffcse+rtd(generator='{model}')",
        f"simcse+paraphrase(file='{pairs}')",
        f"simcse+back_translation(forward='{translator}')",
        "simcse",
        "diffcse+rtd(generator=self)",
    ]

    def planned() -> list[Job]:
        return plan(make(methods=",".join(texts), fractions=[0.5], seeds=1))

    before = planned()
    assert [[one.name for one in job.external_inputs] for job in before] == [
        [str(model)],
        [str(pairs)],
        [str(translator)],
        [],
        [],
    ]
    assert before[0].external_inputs[0].sha256 == find_encoder(str(model))[1]
    for change in (model / "model.safetensors", pairs, translator / "config.json"):
        change.write_text("c\td\n")
    (model / "README.md").write_text("more words")
    after = planned()
    assert [one.key == other.key for one, other in zip(before, after, strict=True)] == [False] * 3 + [True] * 2
    with pytest.raises(BadData, match=r"rtd: generator: .*no such folder.*generator=self\) avoids the other model"):
        plan(make(methods="diffcse+rtd(generator='./nowhere')"))


def test_long_jobs_are_run_first_seed_by_seed(make: Make) -> None:
    jobs = plan(make(methods="cls,simcse+recipe(steps=70),micse,msse"))
    took = {"micse": 50.0, "simcse+recipe(steps=70)": 80.0}
    seconds = {job.key: took.get(job.label) for job in jobs}
    order = longest_first(jobs, seconds, 2)
    labels = ["msse", "cls", "simcse+recipe(steps=70)", "micse"]  # msse and cls: unknown; cls trains nothing
    assert [job.label for job in order] == [label for seed in range(2) for label in labels for share in range(2)]
    assert [job.seed for job in order] == sorted(job.seed for job in jobs)
    assert {job.key for job in order} == {job.key for job in jobs}


def test_a_launcher_with_room_for_all_jobs_takes_the_long_ones_of_every_seed_first(make: Make) -> None:
    jobs = plan(make(methods="simcse,micse"))
    seconds = {job.key: 50.0 if job.label == "micse" else 20.0 for job in jobs}
    assert [job.label for job in longest_first(jobs, seconds, 16)] == ["micse"] * 4 + ["simcse"] * 4


def test_keys_of_the_microworld_stay_what_they_are() -> None:
    """Whoever moves a key without raising a version orphans every record that users have."""
    keys = [(job.label, job.size, job.key) for job in plan(override(load("microworld"), seeds=1))]
    assert keys == [
        ("simcse", 100, "773217d25d49fab1"),
        ("micse", 100, "317c620fa01a4382"),
        ("msse", 100, "b3208674cc1570ad"),
        ("simcse", 1000, "6d9336338fb2adef"),
        ("micse", 1000, "0b69cb5db9afdb13"),
        ("msse", 1000, "6d91e100c250f60e"),
    ]
