"""What is not the same about two records."""

from pathlib import Path

from cseb.commands.provenance import score_differences
from cseb.data.corpus import read_corpus
from cseb.records.differences import computation, conditions, differences, inputs
from cseb.records.store import Store
from cseb.registry import TASK_GROUPS
from tests.command_line import call, printed
from tests.factory import record
from tests.world import WORLD

FACTS = (inputs, computation, conditions)
STS = tuple(f"{name}@1" for name in TASK_GROUPS["sts"])


def test_fields_that_differ_and_no_others() -> None:
    a, b = record(), record(seed=1, torch="2.8.0", resolved="dropout()@1 mean()@1 recipe(steps=90, dropout='model')@1")
    assert {name: (x, y) for name, x, y in differences(a, b, *FACTS)} == {
        "part cls@1": ("no options", "absent"),
        "part mean@1": ("absent", "no options"),
        "part recipe@1": ("steps=60", "steps=90"),
        "seed": ("0", "1"),
        "torch": ("2.7.0", "2.8.0"),
    }
    assert list(differences(a, a, *FACTS)) == []


def test_scores_are_compared_by_task_and_checkpoint() -> None:
    a, b = record(values=(60.0, None, 61.0)), record(tasks=("sts13@1",), values=(65.0,), dev="")
    rows = {row[0]: row[1:] for row in score_differences(a, b)}
    assert rows["sts12@1 best"] == ("60.00", "--", "--")
    assert all(row[1] == "--" for name, row in rows.items() if not name.startswith("sts13"))


def test_two_records_are_shown_side_by_side(ran: Path) -> None:
    keys = sorted(Store(ran).keys())
    result = printed("show", *keys, "--results", str(ran))
    assert "part ami@2" in result
    assert "B - A" in result
    same = call("show", keys[0], keys[0], "--results", str(ran))
    assert same.output.startswith("nothing differs but the run itself")
    assert "+0.00" in same.output


def test_failed_records_have_nothing_to_read(store: Store) -> None:
    for seed in (0, 1):
        store.write(record("msse", seed=seed, tasks=STS, failed="the loss is not finite"), {})
    keys = sorted(store.keys())
    result = call("show", *keys, "--results", str(store.folder))
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "neither has scores: failed or collapsed")


def test_what_a_benchmark_replaces_is_said(tmp_path: Path) -> None:
    """200 steps became 50 and nobody said so: `show` had the paper's, the record what was run."""
    listed = printed("run", WORLD, "--methods", "simcse,micse", "--seeds", "1", "--dry-run", "--results", tmp_path)
    assert "the benchmark replaces:" in listed
    assert "  micse   queue@2   size=384 became size=64" in listed
    assert "recipe@1  steps=15625, learning_rate=3e-05" in listed
    own = printed("run", WORLD, "--methods", "cls", "--seeds", "1", "--dry-run", "--results", tmp_path / "x")
    assert "replace" not in own


def test_a_record_says_what_its_benchmark_replaced(ran: Path) -> None:
    by_name = {run.method.partition("+")[0]: run.key for run in Store(ran).load()[0]}
    shown = {name: call("show", key, "--results", str(ran)).stdout for name, key in by_name.items()}
    assert "replaced by" not in shown["cls"]
    block = shown["simcse"].partition("replaced by the benchmark\n")[2].partition("\n\n")[0]
    assert block == "  recipe@1  learning_rate=3e-05 became learning_rate=0.003"  # the rest was typed
    expected = Path(__file__).parents[2] / "benchmarks/expected/demo"
    key = next(run.key for run in Store(expected).load()[0] if run.method == "micse")
    result = call("show", key, "--results", str(expected)).stdout
    assert "replaced by the benchmark\n  queue@2   size=384 became size=16\n" in result


def test_a_record_tells_its_origin(ran: Path) -> None:
    run = next(run for run in Store(ran).load()[0] if run.method.startswith("simcse"))
    shown = printed("show", run.key, "--results", ran)
    for fact in (run.encoder.sha256, run.corpus.sha256, run.subset.sha256, run.protocol.data, run.origin.started):
        assert fact in shown
    assert "best on toy-dev@1 (200 labelled items), and last" in shown
    assert f"{run.scores[0].value:.4f}" in shown
    assert "torch " in shown


def test_a_file_that_a_method_reads_is_named(tmp_path: Path) -> None:
    pairs, results = tmp_path / "pairs.tsv", tmp_path / "results"
    sentences = read_corpus("wikipedia:100", "").take(range(100))
    pairs.write_text("".join(f"{sentence}\t{sentence}\n" for sentence in sentences))
    method = f"simcse+paraphrase(file='{pairs}')+recipe(steps=1,warmup=0,batch_size=4)"
    options = ("--corpus", "wikipedia:100", "--sizes", 8, "--seeds", 1, "--tasks", "toy-captions", "--dev", "none",
               "--workers", 1)  # fmt: skip
    printed("run", WORLD, "--methods", method, "--results", results, *options)
    (run,) = Store(results).load()[0]
    assert [source.name for source in run.outside] == [str(pairs)]
    assert f"{pairs}, sha256 {run.outside[0].sha256}" in call("show", run.key, "--results", results).output
