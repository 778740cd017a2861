"""The manifest: its entries, and the real files beside it."""

import re
from pathlib import Path

import pytest
import yaml

from cseb.data import shipped
from cseb.data.manifest import DataSet, below, check, count, data_sets, named
from cseb.errors import UnknownName
from cseb.registry import TASKS

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
real = pytest.mark.skipif(not (SHARED / "senteval/STS").is_dir(), reason="needs the task files beside the repository")
FILES = [file for data in data_sets().values() for file in data.files]

# Source: the tables of Conneau & Kiela 2018 (transfer sets), Marelli et al. 2014 (SICK) and Cer et al. 2017 (STS-B),
# and the row counts of the evaluation that Gao et al. 2021 released.
ROWS = {
    **{"sts12": 3108, "sts13": 1500, "sts14": 3750, "stsb": 5749 + 1500 + 1379, "sick": 4500 + 500 + 4927},
    **{"mr": 10662, "cr": 3775, "subj": 10000, "mpqa": 10606, "sst2": 67349 + 872 + 1821, "trec": 5952, "mrpc": 5801},
    **{"wiki1m": 10**6, "snli": 9842 + 9824},
}


@pytest.mark.parametrize("name", ROWS)
def test_data_sets_have_the_rows_of_the_literature(name: str) -> None:
    assert data_sets()[name].rows == ROWS[name]


def test_every_file_is_described_once_and_in_full() -> None:
    names = [file.file for file in FILES]
    assert len(names) == len(set(names)) > 70
    for data in data_sets().values():
        assert data.licence
        assert data.homepage.startswith("http")
    for file in FILES:
        assert file.rows > 0
        assert re.fullmatch("[0-9a-f]{64}", file.sha256), file.file
        assert sum(file.counts.values()) in (0, file.rows), file.file
        assert not Path(file.file).is_absolute()
    hashes = [file.sha256 for file in FILES]
    assert len(hashes) == len(set(hashes))


def test_every_task_on_files_and_every_corpus_of_a_benchmark_is_listed() -> None:
    for task, where in TASKS.builtin.items():
        embedded = ".open_tasks" in where  # their data come with cseb
        assert any(data.serves(task) for data in data_sets().values()) != embedded, task
    listed = {file.file for file in FILES}
    on_hub = {f"hub:{data.hub.repository}/{data.hub.file}" for data in data_sets().values() if data.hub}
    asked = {str(yaml.safe_load(path.read_text()).get("corpus", "")) for path in shipped.benchmarks().glob("*.yaml")}
    assert any(corpus.startswith("hub:") for corpus in asked)
    assert {corpus for corpus in asked if corpus.startswith("hub:")} <= on_hub
    assert {corpus.removeprefix("data:") for corpus in asked if corpus.startswith("data:")} <= listed


@pytest.mark.parametrize(
    ("name", "sets", "files"),
    [
        ("stsb", ["stsb"], 3),
        ("sts", ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"], 54),
        ("sickr-dev", ["sick"], 3),
        ("sst2", ["sst2"], 3),
        ("subj.subjective", ["subj"], 1),
        ("SUBJ/subj.subjective", ["subj"], 1),
        ("wiki1m_for_simcse.txt", ["wiki1m"], 1),
    ],
)
def test_a_name_may_be_that_of_a_set_a_task_a_group_or_a_file(name: str, sets: list[str], files: int) -> None:
    result = named([name])
    assert [data.name for data in result] == sets
    assert sum(map(len, result.values())) == files


def test_names_add_up_and_the_archive_is_all_that_lies_in_it() -> None:
    assert [data.name for data in named(["trec", "cr", "trec"])] == ["cr", "trec"]
    assert [len(files) for files in named(["TREC_10.label", "train_5500.label"]).values()] == [2]
    archive = [data.name for data in named(["senteval"])]
    assert archive[0] == "sts12"
    assert archive[-1] == "mrpc"
    assert [data.name for data in named(())] == list(data_sets())
    with pytest.raises(UnknownName, match=r"did you mean .*subj"):
        named(["sbuj"])
    for unknown in ("stsb-nothing", "toy-captions", ""):
        with pytest.raises(UnknownName):
            named([unknown])


@real
@pytest.mark.parametrize("data", [*named(["senteval"]), data_sets()["snli"]], ids=lambda data: data.name)
def test_the_real_files_are_as_listed(data: DataSet) -> None:
    for file in data.files:
        path = below(SHARED, data, file)
        content = path.read_bytes()
        assert check(file, path).state == "ok"
        assert count(file, content) == file.rows  # what check() skips when the hash is right
        assert file.rated in (None, sum(bool(line.strip()) for line in content.split(b"\n")))
        assert not any(sign.encode() in content for each in file.broken for sign in each.holds)
