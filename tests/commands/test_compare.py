"""`cseb compare` from records on a disk, and what `--dry-run` says before the money is spent."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import cseb
from cseb.commands.progress import _power
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task
from tests.command_line import call, printed, refused
from tests.factory import record, stored
from tests.world import WORLD


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two methods, one share, five seeds on a task of the embedded world, with items."""
    import hashlib

    data = load_task("toy-captions", None)
    gold = np.concatenate([each.gold for each in data.subsets])
    digest = hashlib.sha256(data.sha256().encode()).hexdigest()
    store = stored(tmp_path / "results")
    rng = np.random.default_rng(0)
    for method, noise in (("simcse", 3.0), ("micse", 1.0)):
        for seed in range(5):
            items = (gold + noise * rng.standard_normal(len(gold))).astype(np.float32)
            points = 100 * float(spearmanr(items, gold).statistic)
            run = record(method, 100, seed, values=(points,), tasks=("toy-captions@1",), dev="")
            run = run.model_copy(update={"protocol": replace(run.protocol, data=digest)})
            store.write(run, {"toy-captions@1/last": items})
    (store.folder / "plan-world.tsv").write_text("key\tmethod\tfraction\tseed\n")  # a grid was run into it
    return store.folder


def test_a_folder_of_records_is_compared(results: Path) -> None:
    result = printed("compare", results, "--format", "json")
    effects = json.loads(result)[0]
    [row] = effects["rows"]
    assert (row["a"], row["b"], row["n"]) == ("simcse", "micse", 5)
    assert (row["conclusion"], row["scope"]) == ("better", "seeds and items")
    assert row["items_low"] < row["mean"] < row["items_high"]
    assert call("compare", results, "--format", "json").stdout == result
    assert call("compare", results, "--methods", "micse,simcse", "--format", "json").stdout == result
    twice = call("compare", results, "--sizes", "0.001,0.001", "--format", "json")
    assert twice.stdout == result
    assert call("compare", results, "--sizes", "100", "--format", "json").stdout == result
    shown = printed("compare", results, "--baseline", "all", "--detail", "--sizes", "0.001", "--tasks", "toy-captions")
    assert "simcse - micse" in shown


def test_the_baseline_needs_not_be_among_the_methods(results: Path) -> None:
    expected = printed("compare", results, "--baseline", "simcse", "--methods", "simcse,micse")
    assert printed("compare", results, "--baseline", "simcse", "--methods", "micse") == expected
    assert printed("compare", results, "--methods", "micse") == expected


def test_the_answer_is_one_line_for_each_pair_and_size(results: Path) -> None:
    lines = call("compare", results).stdout.splitlines()
    [row] = [line for line in lines if line.startswith("micse ")]
    assert row.split()[1:3] == ["100", "(0.1"]
    assert row.endswith(" better")
    assert (
        " ".join(" ".join(lines[-2:]).split())
        == "95 % interval and p (Holm, at each size): for new seeds and examples. --detail shows more."
    )
    assert len(lines) < 10
    unpaired = " ".join(call("compare", results, "--unpaired").stdout.split())
    assert "p (Cochran and Cox's t-test of all seeds, Holm, at each size): for new seeds and examples" in unpaired
    full = call("compare", results, "--detail").stdout
    assert "seeds needed" in full
    assert len(full.splitlines()) > 20


def test_one_shared_seed_has_the_interval_for_new_examples(results: Path) -> None:
    for path in (results / "runs").iterdir():
        if json.loads(path.read_text())["seed"]:
            path.unlink()
    [row] = [line for line in call("compare", results).stdout.splitlines() if line.startswith("micse ")]
    low, high = re.search(r"(-?[\d.]+) to (-?[\d.]+)", row).groups()
    assert 0 < float(low) < float(high) and "n = 1" in row


def test_the_answer_names_seeds_that_failed_or_collapsed(results: Path) -> None:
    store = Store(results)
    for run in store.load()[0]:
        if run.method == "micse" and run.seed in (1, 3):
            collapsed = tuple(replace(score, value=None) for score in run.scores)
            store.write(run.model_copy(update={"scores": collapsed}), {})
    shown = " ".join(call("compare", results).stdout.split())
    note = "Failed or collapsed at 0.1 % of the corpus (100 sentences), and so in no difference: micse (seeds 1,3)."
    assert note in shown


def test_a_page_is_written_to_a_file(results: Path, tmp_path: Path) -> None:
    out, asked = tmp_path / "page.csv", ("compare", results, "--format", "csv")
    assert call(*asked, "--out", out).stdout == f"written to {out}\n"
    assert out.read_text("utf-8") == call(*asked).stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--baseline", "simcs"], "did you mean simcse"),
        (["--methods", "msse"], "no record is of the method 'msse'"),
        (["--sizes", "70"], "no record has the size 70; known: 100"),
        (["--sizes", "1e2"], "100,1000"),
        (["--checkpoint", "first"], "'last'"),
        (["--checkpoint", "best"], "no dev set"),
        (["--tasks", "toy-mixed"], "known: toy-captions"),
        (["--margin", "inf", "--format", "json"], "--margin is inf; a finite number is needed"),
        (["--margin", "1e308"], "it must lie between 0 and 1000000.0"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_2(results: Path, options: list[str], words: str) -> None:
    assert words in refused("compare", results, *options)


def test_versions_are_mixed_when_asked_and_the_page_says_so(tmp_path: Path) -> None:
    store = stored(tmp_path)
    for seed in range(3):
        store.write(record("simcse", seed=seed, values=(70.0 + seed, 60.0, 50.0)), {})
        store.write(
            record("micse", seed=seed, values=(72.0 + 2 * seed, 61.0, 50.0), torch="2.8.0" if seed else "2.7.0"), {}
        )
    with pytest.raises(BadResults, match="`mixed`"):
        cseb.compare(tmp_path, baseline="simcse")
    assert "Mixed (--mixed): version of torch" in str(cseb.compare(tmp_path, baseline="simcse", mixed=True))


def test_untrained_encoders_are_compared_for_new_examples(results: Path, tmp_path: Path) -> None:
    """Is my encoder better than that one, with an interval?"""
    from dataclasses import replace

    store, evaluated = Store(results), stored(tmp_path / "evals")
    for place, name in enumerate(("mine", "theirs")):
        run = next(each for each in store.load()[0] if each.method == ("micse", "simcse")[place] and each.seed == 0)
        encoder, subset = replace(run.encoder, name=name, sha256=name * 9), replace(run.subset, size=0, fraction=1.0)
        changed = {"key": f"{place}" * 16, "encoder": encoder, "subset": subset, "method": "mean", "benchmark": "eval"}
        evaluated.write(run.model_copy(update=changed), store.read_items(run.key))
    encoder, protocol = replace(run.encoder, name="a", sha256="a" * 9), replace(run.protocol, tasks=("toy-other@1",))
    scores = tuple(replace(score, task="toy-other@1") for score in run.scores[:1])
    changed |= {"key": "2" * 16, "encoder": encoder, "protocol": protocol, "scores": scores}
    evaluated.write(run.model_copy(update=changed), {})  # alone with its tasks
    result = printed("compare", evaluated.folder, "--baseline", "theirs")
    assert result.startswith("Comparison with theirs: encoders, toy-captions")
    [row] = [line.split() for line in result.splitlines() if line.startswith("mine ")]
    assert float(row[1]) > float(row[2]) > 0 and row[-1] == "better"
    assert "known: mine, theirs" in call("compare", evaluated.folder, "--baseline", "mean").stderr


@pytest.fixture
def scored_encoder(results: Path) -> Record:
    """An encoder that `cseb eval` scored, better than every method, in the folder of the trained ones."""
    import hashlib

    store, data = Store(results), load_task("toy-captions", None)
    gold = np.concatenate([each.gold for each in data.subsets]).astype(np.float32)
    items = gold + 0.1 * np.random.default_rng(1).standard_normal(len(gold)).astype(np.float32)
    run = next(each for each in store.load()[0] if each.seed == 0)
    score = replace(run.scores[0], value=100 * float(spearmanr(items, gold).statistic), data=data.sha256())
    changed = {
        "key": "3" * 16,
        "encoder": replace(run.encoder, name="hub/theirs", sha256="3" * 64),
        "corpus": replace(run.corpus, name="none"),
        "subset": replace(run.subset, size=0, fraction=1.0),
        "method": "mean",
        "benchmark": "eval",
        "protocol": replace(run.protocol, data=hashlib.sha256(data.sha256().encode()).hexdigest()),
        "scores": (score,),
        "trace": replace(run.trace, steps=0, best_step=0, curve=()),
    }
    encoder = run.model_copy(update=changed)
    store.write(encoder, {"toy-captions@1/last": items})
    return encoder


@pytest.mark.parametrize("name", ["theirs", "theirs mean", "hub/theirs", "hub/theirs@33333333 mean"])
def test_methods_are_compared_with_an_encoder_that_was_scored(results: Path, scored_encoder: Record, name: str) -> None:
    """Is training worth it, beside a finished encoder?"""
    frame = cseb.compare(results, baseline=name).frame().set_index("method")
    assert list(frame.conclusion) == ["worse", "worse"] and set(frame.baseline) == {name}
    theirs = scored_encoder.scores[0].value
    for method in ("simcse", "micse"):
        own = [run.scores[0].value - theirs for run in Store(results).load()[0] if run.method == method]
        assert frame["mean"][method] == pytest.approx(np.mean(own)) and frame.scope[method] == "seeds and items"
        assert frame.items_low[method] < np.mean(own) < frame.items_high[method] < 0
    shown = " ".join(printed("compare", results, "--baseline", name).split())
    assert shown.startswith(f"Comparison with {name}: bert@")
    assert shown.endswith(f"Baseline: hub/theirs@{'3' * 8}, mean, scored by cseb eval; record {'3' * 16}.")
    assert "theirs" not in printed("compare", results)


def test_an_encoder_has_the_same_scores_at_the_best_checkpoint_as_at_the_last(
    results: Path, scored_encoder: Record
) -> None:
    import hashlib

    store, digest = Store(results), load_task("toy-captions", None).sha256()
    for run in [run for run in store.load()[0] if run.subset.size]:
        data = hashlib.sha256(2 * digest.encode()).hexdigest()
        protocol = replace(run.protocol, dev="toy-captions@1", dev_pairs=100, data=data)
        scores = (replace(run.scores[0], select="best"), replace(run.scores[0], value=0.0))
        [items] = store.read_items(run.key).values()
        store.write(
            run.model_copy(update={"protocol": protocol, "scores": scores}),
            {"toy-captions@1/best": items, "toy-captions@1/last": -items},
        )
    best, last = (cseb.compare(results, baseline="theirs", checkpoint=each).frame() for each in ("best", "last"))
    assert set(best.scope) == {"seeds and items"}
    assert best["mean"].min() > -50 and set(last["mean"]) == {-scored_encoder.scores[0].value}


def test_an_encoder_is_no_baseline_where_it_has_other_tasks_data_or_names(
    results: Path, scored_encoder: Record
) -> None:
    assert "did you mean theirs mean" in refused("compare", results, "--baseline", "thairs mean")
    store = Store(results)
    for changed in ({"data": "e" * 64}, {"task": "toy-mixed@1"}):
        other = scored_encoder.model_copy(update={"scores": (replace(scored_encoder.scores[0], **changed),)})
        store.write(other, {})
        trained = [run for run in store.load()[0] if run.subset.size]
        for run in trained:
            scores = tuple(replace(score, data=scored_encoder.scores[0].data) for score in run.scores)
            store.write(run.model_copy(update={"scores": scores}), {})
        message = refused("compare", results, "--baseline", "theirs")
        assert "theirs was not scored on toy-captions" in message
        assert "cseb eval --tasks toy-captions" in message
    store.write(scored_encoder.model_copy(update={"key": "4" * 16, "method": "cls"}), {})
    message = refused("compare", results, "--baseline", "theirs")
    assert f"several encoders are called theirs: hub/theirs@{'3' * 8} cls, hub/theirs@{'3' * 8} mean" in message


def test_the_encoder_that_was_scored_like_the_methods_is_taken(results: Path, scored_encoder: Record) -> None:
    best = float(cseb.compare(results, baseline="theirs").frame()["mean"].max())
    score = replace(scored_encoder.scores[0], value=0.0)
    for key, torch in ("1", "0.1"), ("4", "0.2"):  # before and behind the other in the order of keys
        origin = replace(scored_encoder.origin, versions={**scored_encoder.origin.versions, "torch": torch})
        other = scored_encoder.model_copy(update={"key": key * 16, "origin": origin, "scores": (score,)})
        Store(results).write(other, {})
    assert float(cseb.compare(results, baseline="theirs").frame()["mean"].max()) == best


def test_too_few_seeds_are_said_before_they_are_run() -> None:
    [five] = _power(5)
    assert "exact tests have no p below 0.0625 (6 seeds: 0.031)." in five
    assert "only differences above 1.7 standard deviations" in five
    assert "below 0.25 " in _power(3)[0]
    assert "no test for new seeds is possible" in _power(1)[0]
    assert _power(6) == []
    listed = call("run", WORLD, "--dry-run", "--device", "cpu").stdout.splitlines()
    assert listed[-1] == five


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", ["compare", "report", "status", "plot"])
def test_what_reads_a_folder_of_others_leaves_it_as_it_is(results: Path, tmp_path: Path, command: str) -> None:
    """Such as the expected records of a benchmark."""
    (results / "plan-world.tsv").unlink()
    before = tree(results)
    options = ["--out", tmp_path / "plot.svg"] if command == "plot" else []
    assert call(command, results, *options).exit_code == 0
    assert tree(results) == before
