"""Every kind of encoder as a user would type it, its record, and what is said when something is wrong with it."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from cseb.data.corpus import read_corpus
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.embedders.word_vectors import WordVectors
from cseb.experiment.export import export
from cseb.experiment.plan import plan
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from tests import command_line
from tests.conftest import SENTENCES
from tests.stderr_lines import without_progress
from tests.world import WORLD

Tiny = Callable[[str], Path]
MINE = """
import numpy as np

calls = []

def lengths(sentences):
    calls.append(len(sentences))
    return np.array([[len(s), s.count("a"), 1.0] for s in sentences])

def nan(sentences):
    return lengths(sentences) * np.where([[s.endswith("ing") or len(s) > 20] for s in sentences], np.nan, 1)

def short(sentences):
    return lengths(sentences)[1:]

def moody(sentences):
    return lengths(sentences) if len(sentences) < 10 else lengths(sentences)[:, :2]

def broken(sentences):
    raise KeyError("no such word")

number = 3
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """The user's current directory, with a module of functions whose name no other test has imported."""
    name = f"mine_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name


def call(*arguments: object, tasks: str = "toy-captions") -> Result:
    words = ["eval", *map(str, arguments), "--tasks", tasks, "--device", "cpu"]
    return command_line.call(*words)


def table(result: Result) -> dict[str, str]:
    head, values = [line for line in result.stdout.splitlines() if not line.startswith("No average: ")][-2:]
    return dict(zip(head.split(), values.split(), strict=True))


def records() -> list[Record]:
    return Store(Path("results")).load()[0]


def test_a_folder_with_a_pooler_is_the_untrained_method(tiny: Tiny) -> None:
    result = call(tiny("bert"), "--pooler", "mean")
    assert result.exit_code == 0, result.output
    (record,) = records()
    assert (record.method, record.subset.size, record.data_seen, record.benchmark) == ("mean", 0, (), "eval")
    assert record.resolved.startswith("dropout()@1 mean()@1 none()@1 recipe(steps=0")
    assert table(result)["toy-captions"] == f"{record.scores[0].value:.2f}"
    items = Store(Path("results")).read_items(record.key)
    assert list(items) == ["toy-captions@1/last"]
    assert call(tiny("bert")).exit_code == 0
    assert call(tiny("bert"), "--pooler", "first_last(first=0)").exit_code == 0
    assert {each.method for each in records()} == {"mean", "cls", "cls+first_last(first=0)"}


def test_a_function_that_changes_is_another_encoder(module: str) -> None:
    embedder = find(f"{module}:lengths", EncoderOptions())
    __import__(module).lengths.__globals__["len"] = lambda sentence: 7  # its file is the same, what it does is not
    assert find(f"{module}:lengths", EncoderOptions()).source.sha256 != embedder.source.sha256


@pytest.mark.parametrize(
    "measure", [lambda text: min(len(text), 300), lambda text: len(str(text).encode("ascii", "ignore"))]
)
def test_a_function_that_changes_on_long_or_rare_text_is_another_encoder(
    module: str, measure: Callable[[str], int]
) -> None:
    """As by a maximum length, or a vocabulary, that it reads from a file of settings."""
    embedder = find(f"{module}:lengths", EncoderOptions())
    __import__(module).lengths.__globals__["len"] = measure
    assert find(f"{module}:lengths", EncoderOptions()).source.sha256 != embedder.source.sha256


def test_a_function_that_refuses_long_text_is_an_encoder(module: str) -> None:
    """As a network with 512 positions does; no text of a task needs to be so long."""

    def measure(text: str) -> int:
        if isinstance(text, str) and len(text) > 300:
            raise IndexError("no such position")
        return len(text)

    __import__(module).lengths.__globals__["len"] = measure
    assert call(f"{module}:lengths").exit_code == 0


def test_a_run_of_ours_says_itself_how_it_pools(tiny: Tiny) -> None:
    from cseb.experiment import benchmark as benchmarks
    from cseb.training import build

    Path("corpus.txt").write_text("\n".join(SENTENCES))
    grid = benchmarks.override(
        benchmarks.load(WORLD), methods="simcse+mean+recipe(steps=1,warmup=0,batch_size=4)",
        encoder=str(tiny("bert")), corpus="corpus.txt", fractions="", sizes="8", seeds=1, tasks="toy-captions",
    )  # fmt: skip
    (job,) = plan(grid)
    folder = Path("results/models") / job.key
    export(build.build(job.method, tiny("bert"), 0).encoder, job, folder)
    assert call(job.key).exit_code == 0
    assert call(folder).exit_code == 0
    assert (call(job.key[:8]).exit_code, len(records())) == (0, 1)  # by the beginning of its key: the same encoder
    (folder.parent / f"{job.key[:8]}00000000").mkdir()
    several = call(job.key[:8])
    assert (several.exit_code, several.stdout) == (2, "")
    assert f"2 models in results/models begin with {job.key[:8]}; give more of it: " in several.stderr
    first, second = records()[0], call(tiny("bert"), "--pooler", "mean", "--results", "other")
    assert (first.method, first.resolved, first.data_seen) == (job.label, job.method.resolved(), ("subset",))
    assert table(second)["toy-captions"] == f"{first.scores[0].value:.2f}"  # not trained yet: the same vectors
    about = json.loads((folder / "cseb.json").read_text())
    (folder / "cseb.json").write_text(json.dumps({**about, "head_at_test": True, "head": "mlp(keep=True)"}))
    assert "lacks cseb.safetensors with 2 tensors of pooler, head" in call(folder).stderr
    (folder / "cseb.json").write_text("{")
    assert "cseb.json is not JSON" in call(folder).stderr
    missing = call("0123456789abcdef")
    assert missing.exit_code == 2
    assert "no model of the run 0123456789abcdef in results/models" in missing.stderr


def test_word_vectors_are_averaged_over_known_words() -> None:
    lines = ["a 1 0 0", "the 0 2 0", "guitar 0 0 3", ", 4 4 4", "no way 1 1 1"]
    Path("v.txt").write_text("\n".join(lines))
    Path("w.vec").write_text("\n".join(["4 3", *lines[:4]]))
    with gzip.open("z.txt.gz", "wt") as stream:
        stream.write("\n".join(lines))
    sentences = ["A guitar , xyz", "", "xyz", "guitar,a", "the the the guitar"]
    expected = [[5 / 3, 4 / 3, 7 / 3], [0, 0, 0], [0, 0, 0], [5 / 3, 4 / 3, 7 / 3], [0, 1.5, 0.75]]
    for name in ("v.txt", "w.vec", "z.txt.gz", "glove:v.txt"):
        np.testing.assert_allclose(find(name, EncoderOptions()).open()(sentences), expected, rtol=1e-6)
    embed = find("v.txt", EncoderOptions()).open()
    assert isinstance(embed, WordVectors)
    assert embed(["a"]).tolist() == [[1, 0, 0]]
    assert set(embed.table) == {"a"}  # nothing else was kept
    assert embed(["the a"]).tolist() == [[0.5, 1, 0]]
    result = call("v.txt")  # most pairs have a sentence of which nothing is known: their cosine is 0
    assert result.exit_code == 0, result.output
    assert records()[0].method == "mean of word vectors"


def test_counting_words_is_an_encoder_too() -> None:
    from cseb.embedders.word_vectors import TfIdf, random_words, transductive_tf_idf

    (task,) = parse_tasks("toy-captions")
    Path("mine.txt").write_text("a man\na dog\na man and a dog\n")
    embeds = {
        "tf-idf": TfIdf(read_corpus("wikipedia")),
        "tf-idf:mine.txt": TfIdf(["a man", "a dog", "a man and a dog"]),
        "tf-idf-transductive": transductive_tf_idf,
        "random": random_words,
    }
    for name, embed in embeds.items():
        [(outcome, _)] = score_all([(task, load_task(task, None))], embed)
        assert table(call(f"words:{name}"))["toy-captions"] == f"{outcome.value:.2f}"
    assert "allowed: 'tf-idf', 'tf-idf-transductive', 'random'" in call("words:of-wisdom").stderr
    assert "there is no file none.txt" in call("words:tf-idf:none.txt").stderr


def test_the_corpus_of_tf_idf_is_read_from_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """`data:FILE` lies in the folder of `--data-dir`, which goes before the environment variable."""
    for folder in ("typed", "variable"):
        Path(folder).mkdir()
        Path(folder, "wiki1m_head.txt").write_text(f"a man\na dog\na {folder}\n")
    name = "words:tf-idf:data:wiki1m_head.txt"
    monkeypatch.setenv("CSEB_DATA_DIR", "variable")
    assert call(name, "--data-dir", "typed").exit_code == 0
    assert call(name).exit_code == 0
    files = [f"words:tf-idf:{folder}/wiki1m_head.txt" for folder in ("typed", "variable")]
    wanted = {find(file, EncoderOptions()).source.sha256 for file in files}
    assert {record.encoder.sha256 for record in records()} == wanted


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (":short", r"returned float64 of shape \(2, 3\) for 3 sentences; numbers of shape \(3, width\)"),
        (":broken", r"fails on 3 sentences: KeyError: 'no such word' \(mine_\d+.py, line 20\)"),
        (":nothing", "has no attribute 'nothing'; write module:function"),
        (":number", "is a int; a function of a list of strings is needed"),
        (":moody", "returned vectors of 3 numbers and then of 2"),
    ],
)
def test_a_function_that_is_no_encoder(name: str, message: str, module: str) -> None:
    result = call(f"{module}{name}")
    [line] = without_progress(result.stderr)
    assert result.exit_code == 2 and re.search(message, line), line


def test_what_cannot_be_found_is_one_line() -> None:
    for name, message in (
        ("no_such_module:f", "No module named 'no_such_module'; the module must be in"),
        ("./nowhere", "encoder './nowhere': no such folder"),
        ("glove:nowhere.txt", "word vectors nowhere.txt: no such file"),
        ("st:./nowhere", "./nowhere: no such folder"),
    ):
        result = call(name)
        assert (result.exit_code, len(without_progress(result.stderr))) == (2, 1)
        assert message in result.stderr
    assert "so --pooler mean does not apply" in call("words:tf-idf", "--pooler", "mean").stderr
    assert "--dtype is 'fp8'; allowed: 'fp32', 'bf16'" in call("cseb-tiny", "--dtype", "fp8").stderr


def test_vectors_that_are_not_finite_fail_the_tasks_they_touch(module: str) -> None:
    result = call(f"{module}:nan", tasks="toy-captions,toy-mixed")
    assert result.exit_code == 1
    assert table(result) == {"toy-captions": "failed", "toy-mixed": "failed"}
    assert "No average: no score on toy-captions, toy-mixed." in result.stdout
    (line,) = without_progress(result.stderr)  # one reason for both
    assert line.startswith("cseb: toy-captions, toy-mixed have no score: ")
    assert "all similarities are equal or not finite; the encoder gives no finite vector for" in line
    again = call(f"{module}:nan", tasks="toy-captions,toy-mixed")
    assert (again.exit_code, table(again)) == (1, table(result))


def test_a_task_without_data_fails_alone(module: str) -> None:
    result = call(f"{module}:lengths", "--data-dir", ".", tasks="stsb,toy-captions,toy-mixed")
    assert result.exit_code == 1
    shown = table(result)
    assert (shown["stsb"], "Avg." in shown) == ("failed", False)
    assert "No average: no score on stsb." in result.stdout
    assert shown["toy-captions"] == table(call(f"{module}:lengths"))["toy-captions"]
    (line,) = without_progress(result.stderr)
    assert line.startswith("cseb: stsb has no score: ")
    assert {each.protocol.tasks for each in records()} == {("toy-captions@1", "toy-mixed@1"), ("toy-captions@1",)}
    nothing = call(f"{module}:lengths", "--data-dir", ".", tasks="stsb")
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert "stsb has no score: . holds none of" in nothing.stderr


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_half_precision_is_said_and_is_another_record(tiny: Tiny, dtype: str) -> None:
    assert call(tiny("bert"), "--pooler", "mean").exit_code == 0
    assert call(tiny("bert"), "--pooler", "mean", "--dtype", dtype).exit_code == 0
    half, full = sorted(records(), key=lambda record: record.origin.dtype == "fp32")
    assert (full.origin.dtype, half.origin.dtype) == ("fp32", dtype)
    assert half.resolved == f"{full.resolved} encode(dtype={dtype!r})@1"
    a, b = (
        find(str(tiny("bert")), EncoderOptions(pooler="mean", dtype=kind)).open()(SENTENCES) for kind in ("fp32", dtype)
    )
    assert b.dtype == np.float32
    assert 0 < np.abs(a - b).max() < 0.1


def test_the_report_has_a_row_for_each_encoder_and_a_table_for_each_set_of_tasks(tiny: Tiny, module: str) -> None:
    for encoder in (tiny("bert"), tiny("roberta"), f"{module}:lengths", "words:tf-idf"):
        assert call(encoder, tasks="toy-captions,toy-mixed").exit_code == 0
    assert call("words:tf-idf", tasks="toy-mixed").exit_code == 0
    shown = command_line.printed("report", "--format", "markdown")
    rows = [line.split("|")[1].strip(" `") for line in shown.splitlines() if line.startswith("| `")]
    folders = [f"{Path(name).name} cls" for name in (tiny("bert"), tiny("roberta"))]
    for row in (*folders, f"{module}:lengths function", "words:tf-idf words alone", "words:tf-idf"):
        assert rows.count(row) == 1, (row, rows)
    assert shown.count("Scores by cseb eval; protocol") == 1  # rows name the methods
    assert shown.count("Scores by cseb eval (words alone); protocol") == 1
    assert "corpus" not in shown
