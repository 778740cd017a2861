"""`cseb data`: its words and exit codes, and that no other command asks the network when files are named."""

import hashlib
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import cseb
from cseb.data import manifest
from cseb.data.manifest import data_sets
from cseb.registry import TASKS
from cseb.tasks.names import parse_names
from tests.command_line import call, printed, refused
from tests.conftest import SENTENCES
from tests.world import WORLD


@pytest.fixture(autouse=True)
def empty_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(manifest, "user_cache_path", lambda name: tmp_path / "unpacked")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_list_says_what_is_here(senteval: Path, tmp_path: Path) -> None:
    lines = call("data", "list", "--data-dir", senteval).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["name", *data_sets()]
    said = {line.split()[0]: line for line in lines}
    assert "3000 of 8500 rated  yes" in said["sts15"]
    assert "2 of 3 files" in said["stsb"]  # the made-up files have no training part
    assert "CC BY-NC-SA 3.0" in said["sick"]
    assert "sickr" in said["sick"]
    assert said["mr"].split()[1:4] == ["10662", "no", "mr"]
    assert "yes" not in call("data", "list").stdout


def test_list_of_one_shows_its_files() -> None:
    text = call("data", "list", "trec", "snli").stdout
    assert "ABBR 86, DESC 1162" in text
    assert "homepage: https://nlp.stanford.edu/projects/snli/" in text
    assert "hub: princeton-nlp/datasets-for-simcse, senteval.tar" in text
    assert "MR/rt-polarity.pos  5331  1 5331" in call("data", "list", "mr").stdout


def test_a_named_file_has_its_place_or_the_way_to_it(senteval: Path) -> None:
    said = call("data", "list", "stsb-dev", "snli", "wiki1m", "--data-dir", senteval).stdout
    places = {line.split()[0]: line.split()[-1] for line in said.splitlines()}
    assert Path(places["STS/STSBenchmark/sts-dev.csv"]).samefile(senteval / "STS/STSBenchmark/sts-dev.csv")
    for way in ("cseb data fetch stsb", "get it from https://nlp.stanford.edu", "cseb data fetch wiki1m"):
        assert f"missing files: {way}" in said


def test_verify_names_what_is_wrong_and_exits_with_1(senteval: Path) -> None:
    result = call("data", "check", "--data-dir", senteval)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert "STS.gs.FNWN.txt: 189 rows as expected, but another text" in result.stdout
    assert "missing STS/STSBenchmark/sts-train.csv: 5,749 rows expected" in lines
    assert lines[-1].startswith("52 wrong, 2 missing")
    result = call("data", "check", "mr", "--data-dir", senteval)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "2 missing")


def test_verify_is_content_with_the_right_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"one line\nanother line\n"
    file = manifest.DataFile("lines.txt", 2, hashlib.sha256(text).hexdigest())
    data = manifest.DataSet("lines", "", "CC BY", "http://x", (file,), also=("text",))
    monkeypatch.setattr(manifest, "data_sets", lambda: {"lines": data})
    (tmp_path / "text").mkdir()
    (tmp_path / "text/lines.txt").write_bytes(text)
    result = printed("data", "check", "--data-dir", tmp_path)
    assert result == f"ok      {tmp_path}/text/lines.txt: 2 rows\n1 ok\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "sbuj"], "no data set or file is called 'sbuj'; did you mean subj"),
        (["list", "wiki"], "did you mean wiki1m"),
        (["list", "mine.txt"], "'mine.txt'; known: sts12, sts13, sts14,"),
        (["list", "mine.txt"], "; `cseb data list NAME` lists the files of one"),
        (["list", "stsb", "--data-dir", "/nowhere"], "no folder /nowhere"),
        (["check"], "the cache contains no file of the manifest"),
        (["check", "--data-dir", str(Path(__file__).parent)], "contains no file of the manifest"),
        (["fetch", "wiki1m-head"], "wiki1m-head is not on the hub: make it: head -n 11913 wiki1m_for_simcse.txt"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_2(arguments: list[str], words: str) -> None:
    assert words in refused("data", *arguments)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was asked of the network; every attempt fails."""
    made: list[object] = []

    def refuse(*arguments: object, **options: object) -> None:
        made.append(arguments)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    return made


def test_named_files_need_no_hub(
    senteval: Path, tmp_path: Path, tiny: Callable[[str], Path], calls: list[object]
) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES * 4))
    grid = ["--encoder", tiny("bert"), "--corpus", tmp_path / "corpus.txt", "--sizes", "64", "--data-dir", senteval]
    grid += ["--methods", "simcse,cls", "--device", "cpu", "--results", tmp_path / "results"]
    for command in (
        ["run", "few-shot", *grid, "--dry-run"],
        ["eval", tiny("bert"), "--tasks", "sickr-dev", "--data-dir", senteval, "--results", tmp_path / "results"],
        ["data", "sample", tmp_path / "corpus.txt", "--size", "3"],
        ["data", "sample", tmp_path / "corpus.txt", "--size", "3", "--out", tmp_path / "few.txt"],
        ["data", "list"],
        ["data", "list", "stsb", "--data-dir", senteval],
        ["data", "check", "trec", "--data-dir", senteval],
    ):
        assert call(*command).exit_code in (0, 1), command
        assert calls == [], command
    for name in parse_names("sts,stsb-dev,sickr-dev"):
        TASKS[name].load(senteval)
    assert calls == []


def test_the_environment_may_name_the_folder(senteval: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES))
    commands = (["data", "list", "stsb-dev"], ["data", "overlap", tmp_path / "corpus.txt", "--tasks", "stsb"])
    typed = [call(*command, "--data-dir", senteval) for command in commands]
    monkeypatch.setenv("CSEB_DATA_DIR", str(senteval))
    results = [call(*command) for command in commands]
    assert [(result.exit_code, result.stdout) for result in results] == [(0, result.stdout) for result in typed]
    assert str(senteval) in results[0].stdout
    monkeypatch.setenv("CSEB_DATA_DIR", "/nowhere")
    missing = [call(*command) for command in commands]
    assert all(result.exit_code == 2 and "/nowhere" in result.stderr for result in missing)
    assert call(*commands[1], "--data-dir", senteval).stdout == typed[1].stdout  # what is typed counts


PAIRS = [
    {"gold_label": "entailment", "sentence1": "a  dog runs", "sentence2": "an animal moves", "pairID": "1"},
    {"gold_label": "contradiction", "sentence1": "a dog runs", "sentence2": "a dog sleeps", "pairID": "2"},
    {"gold_label": "-", "sentence1": "a cat sits", "sentence2": "nobody agreed", "pairID": "3"},
]


def pairs(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_triples_are_made_of_sentence_pairs_and_can_be_trained_on(tmp_path: Path) -> None:
    more = [{**row, "sentence1": f"another {row['sentence1']}"} for row in PAIRS]
    files = pairs(tmp_path / "snli_1.0_dev.jsonl", PAIRS), pairs(tmp_path / "multinli.jsonl", more)
    made = call("data", "triples", *files, "--out", tmp_path / "triples.txt")
    assert (made.exit_code, made.stdout) == (0, f"2 triples in {tmp_path / 'triples.txt'}\n")
    first = "a dog runs\tan animal moves\ta dog sleeps"
    assert (tmp_path / "triples.txt").read_text() == f"{first}\nanother {first}\n"
    options = ("--sizes", 2, "--seeds", 1, "--device", "cpu", "--dry-run", "--results", tmp_path / "results")
    method = "simcse-sup+recipe(batch_size=2)"
    printed("run", WORLD, "--methods", method, "--corpus", tmp_path / "triples.txt", *options)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"label": "entailment", "premise": "a", "hypothesis": "b"}], "has no column 'gold_label'"),
        ([{**PAIRS[0], "gold_label": "maybe"}], "line 1: gold_label is 'maybe'; allowed: entailment"),
        ([{**PAIRS[0], "sentence2": 3}], "line 1: sentence1 and sentence2 must be text"),
        (PAIRS[:1], "no premise has both an entailment and a contradiction"),
        (None, "there is no file"),
    ],
)
def test_pairs_that_give_no_triples_are_one_line(tmp_path: Path, rows: list[dict[str, str]] | None, said: str) -> None:
    path = tmp_path / "pairs.jsonl"
    if rows is not None:
        pairs(path, rows)
    assert said in refused("data", "triples", path, "--out", tmp_path / "triples.txt")
    assert not (tmp_path / "triples.txt").exists()


def test_pairs_are_not_replaced_by_their_triples(tmp_path: Path) -> None:
    path = pairs(tmp_path / "pairs.jsonl", PAIRS)
    assert "which the triples would replace" in refused("data", "triples", path, "--out", path)
    assert len(path.read_text().splitlines()) == len(PAIRS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "few.csv", "--size", "3"], "few.csv would be no .csv file: a sample has one sentence per line"),
        (["--out", "few.txt"], "--size is missing; give one number of sentences"),
        (["--out", "few.txt", "--size", "3", "--seed=-1"], "it must be a whole number of at least 0"),
    ],
)
def test_a_sample_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES))
    result = call("data", "sample", "corpus.txt", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_a_path_is_a_corpus_by_name(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES))
    assert cseb.sample(tmp_path / "corpus.txt", size=3) == cseb.sample(str(tmp_path / "corpus.txt"), size=3)
