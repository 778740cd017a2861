"""Benchmark files: what is read, what is refused, and in which words."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cseb.data import shipped
from cseb.errors import BadBenchmark, CsebError
from cseb.experiment import benchmark as benchmarks
from tests.world import WORLD

FIELDS: dict[str, Any] = {
    "name": "mine",
    "methods": ["simcse", "micse+recipe(steps=500)"],
    "encoder": "cseb-tiny",
    "corpus": "my.txt",
    "fractions": [0.1, 1],
    "seeds": 3,
    "tasks": ["sts12", "stsb"],
}


def written(folder: Path, **changes: Any) -> str:
    fields = {key: value for key, value in (FIELDS | changes).items() if value is not ...}
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(fields))
    return str(path)


@pytest.mark.parametrize("name", shipped.benchmark_names())
def test_a_built_in_benchmark_reads_back_from_its_own_text(name: str, tmp_path: Path) -> None:
    loaded = benchmarks.load(name)
    assert loaded.name == name
    assert loaded.description
    path = tmp_path / "again.yaml"
    path.write_text(benchmarks.text(loaded))
    assert benchmarks.load(str(path)) == loaded


def test_lists_and_single_values_and_yaml_s_small_numbers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(FIELDS).replace("- 0.1\n- 1\n", "\n").replace("fractions:\n", "fractions: 1e-3\n"))
    loaded = benchmarks.load(str(path))
    assert loaded.fractions == (0.001,)  # YAML 1.1 takes 1e-3 for text
    assert loaded.methods == "simcse,micse+recipe(steps=500)"
    assert loaded.tasks == "sts12,stsb"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fraction": [0.1]}, ["'fraction'", "did you mean fractions"]),
        ({"seeds": ...}, ["seeds", "missing"]),
        ({"seeds": 0}, ["seeds", "0"]),
        ({"table": "tasks by method"}, ["table", "tasks by method"]),
        ({"seeds": "3"}, ["seeds", "'3'"]),
        ({"fractions": [0.1, 1.5]}, ["fractions.1", "1.5"]),
        ({"fractions": [float("nan")]}, ["fractions.0"]),
        ({"fractions": [0.1, 0.1]}, ["fractions", "0.1 twice"]),
        ({"fractions": ...}, ["fractions or sizes", "one of them"]),
        ({"sizes": [100]}, ["fractions or sizes", "not both"]),
        ({"fractions": ..., "sizes": [2.5]}, ["sizes.0", "2.5"]),
        ({"methods": "simcse("}, ["methods", "'simcse(' is not a spec"]),
        ({"methods": "simcse,simcse"}, ["methods", "twice"]),
        ({"methods": []}, ["methods"]),
        ({"scale": "recipe(stepz=3)"}, ["scale", "did you mean steps"]),
        ({"per_method": {"simcse": "recipe(stepz=3)"}}, ["per_method simcse", "did you mean steps"]),
        ({"per_method": {"simcse+ami( )": "recipe(steps=3)"}}, ["per_method has 'simcse+ami( )'", "simcse+ami"]),
        ({"per_method": ["simcse"]}, ["per_method"]),
        ({"per_method": {"simsce": "recipe(steps=3)"}}, ["per_method names 'simsce'", "did you mean simcse"]),
        (
            {"dev": "stsb-dev", "tune": {"per_method": {"micse": {"recipe.steps": [1, 2, 3, 4]}}}},
            ["tune: per_method names 'micse'"],
        ),
        ({"check": {"sizes": [0]}}, ["check.sizes.0"]),
        ({"name": "../up"}, ["name", "'../up'"]),
        ({"encoder": "a\x00b"}, ["encoder"]),
        ({"tolerance": -1}, ["tolerance", "-1"]),
        ({"corpus": None}, ["corpus", "None"]),
    ],
)
def test_faults_are_named_with_file_and_field(changes: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(BadBenchmark) as caught:
        benchmarks.load(path)
    message = str(caught.value)
    assert message.startswith(path)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_last_word_is_the_command_line_s() -> None:
    demo = benchmarks.load(WORLD)
    assert benchmarks.override(demo) is demo
    changed = benchmarks.override(demo, methods="simcse", fractions="1e-3,1", seeds=2, steps=7, corpus="my.csv")
    assert (changed.methods, changed.fractions, changed.seeds, changed.corpus) == ("simcse", (0.001, 1.0), 2, "my.csv")
    assert (changed.scale, changed.steps) == (demo.scale, 7)
    sized = benchmarks.override(demo, sizes="100,200", dev="none")
    assert (sized.sizes, sized.fractions, sized.dev) == ((100, 200), (), "")
    assert benchmarks.override(sized, fractions="0.5").sizes == ()


def test_a_file_says_none_as_the_command_line_does(tmp_path: Path) -> None:
    loaded = benchmarks.load(written(tmp_path, dev="none"))
    assert loaded.dev == ""
    assert loaded == benchmarks.override(benchmarks.load(written(tmp_path, dev="toy-captions")), dev="none")
    assert "dev" not in benchmarks.text(loaded)


def test_another_corpus_drops_the_column_of_the_file(tmp_path: Path) -> None:
    loaded = benchmarks.load(written(tmp_path, column="text"))
    assert benchmarks.override(loaded, seeds=1).column == "text"
    assert benchmarks.override(loaded, corpus="other.txt").column == ""
    assert benchmarks.override(loaded, corpus="other.csv", column="body").column == "body"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"just text",
        b"- a\n- list",
        b"{a: 1",
        b"a: 2020-99-99",
        b"name: " + b"9" * 5000,
        b"[" * 5000,
        b"? [a]\n: b",
        b'name: "\\ud800"',
        b'"\\ud800": 1',
        b"a: &a [*a]",
        b"<<: 3",
        b"name: demo\nmethods: &a [&b [*a, *b]]",
        b"=: 1",
    ],
)
def test_no_bytes_give_a_traceback(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(CsebError):
        benchmarks.load(str(path))


def test_reading_a_file_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(f"a: !!python/object/apply:os.mkdir ['{tmp_path}/made']")
    with pytest.raises(BadBenchmark, match="not readable as YAML"):
        benchmarks.load(str(tmp_path / "bad.yaml"))
    assert not (tmp_path / "made").exists()


def test_a_folder_or_an_endless_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_bytes(b"# padding\n" * 200_000)
    with pytest.raises(BadBenchmark, match="larger than"):
        benchmarks.load(str(tmp_path / "big.yaml"))
    with pytest.raises(BadBenchmark, match="no such file"):
        benchmarks.load(str(tmp_path))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
FUZZ = settings(max_examples=150)


@FUZZ
@given(changes=st.dictionaries(st.sampled_from([*benchmarks.Benchmark.model_fields, "other"]), VALUES, max_size=4))
def test_any_field_may_hold_anything(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "fuzz.yaml"
    path.write_text(yaml.safe_dump(FIELDS | changes, allow_unicode=False))
    try:
        loaded = benchmarks.load(str(path))
    except CsebError as error:
        assert "\n" not in str(error)
    else:
        path.write_text(benchmarks.text(loaded), encoding="utf-8")
        assert benchmarks.load(str(path)) == loaded


def test_a_misspelt_field_is_named_before_those_that_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nmethods: simcse\nencoder: cseb-tiny\ncorpus: wikipedia\nseed: 2\ntasks: snli\n")
    with pytest.raises(BadBenchmark, match="no field is called 'seed'; did you mean seeds"):
        benchmarks.load(str(path))


def test_any_field_can_be_overridden() -> None:
    demo = benchmarks.load(WORLD)
    result = benchmarks.override(demo, scale="recipe(steps=3)", table="tasks", description="")
    assert (result.scale, result.table, result.description) == ("recipe(steps=3)", "tasks", demo.description)
    with pytest.raises(BadBenchmark, match="no field is called 'colum'; did you mean column"):
        benchmarks.override(demo, colum="text")
