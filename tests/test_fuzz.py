"""Whatever is typed and whatever a file contains: a command works, or says in one message what is wrong (exit code 2).

Hypothesis draws arguments of every command from the commands' own definitions, and damages sound files of every kind
that cseb reads. Another set of examples: `pytest tests/test_fuzz.py --hypothesis-profile=other`.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from hypothesis import given, note, settings
from hypothesis import strategies as st

from cseb.commands.application import app, main
from tests.world import WORLD

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fuzz")]
GRID = ("--corpus", "wikipedia:200", "--sizes", "16,32", "--seeds", "2", "--tasks", "toy-captions,toy-forum", "--steps",
        "2", "--workers", "1", "--threads", "1", "--device", "cpu", "--quiet")  # fmt: skip
PAIRS = (
    "sentence1\tsentence2\tscore\n"
    + "a man eats\ta man is eating\t4.5\na dog\tthe park\t1.25\nshe plays\tfood\t0\n" * 4
)
ROWS = [{"text": f"sentence number {row} of the corpus", "label": "yes" if row % 2 else "no"} for row in range(40)]

# Commands that only read or plan. `run` gets --dry-run; `check` and `recommend` would train.
OPTIONS = {"run": ("--dry-run", "--workers", "1"), "status": (), "report": (), "compare": (), "plot": (), "show": (),
           "export": ()}  # fmt: skip
NEVER = {"--help", "--processes", "--launcher", "--trust-remote-code", "--results", "--out"}
NUMBERS = ("0", "-1", "1", "0.5", "1e308", "1e400", "nan", "-inf", "9" * 400, "0x10", "1_000", "½", "٣", "1,5", "1.")
TEXTS = ("", " ", "\x1b[31mred\x1b[0m", "\u202egnihton", "a\nb", "\ufeff", "é" * 300, "x" * 5000, "../../etc", "-",
         "=1+1", "%s%n", "${HOME}", "~root", ".", "/", ",", "'", "[bold]red[/bold]", "simcse", "simcse,micse", "cls",
         "simcse+recipe(steps=", "simcse+queue(size=-1)", "declutr+spans(shortest='x')", "hub:a", "wikipedia:-1",
         "toy-captions", "stsb", "best", "last", "100", "0.1", "data:nothing", "None", "\ud800", "\0")  # fmt: skip


class Ended(NamedTuple):
    code: int
    output: str
    errors: str


def cseb(folder: Path, *argv: str) -> Ended:
    """Run a command in this process, in a folder. Any exception but SystemExit fails the test."""
    output, errors = (TextIOWrapper(BytesIO(), "utf-8", errors="surrogateescape") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, chdir(folder), redirect_stdout(output), redirect_stderr(errors):
        patch.setattr("sys.argv", ["cseb", *argv])
        with pytest.raises(SystemExit) as end:
            main()
    texts = []
    for stream in (output, errors):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    return Ended(int(end.value.code or 0), *texts)


def works_or_says_why(ended: Ended) -> None:
    """Check the exit code, and that a refusal is one short message without codes that a terminal obeys."""
    note(f"exit code {ended.code}: {ended.errors[-500:]}")
    assert ended.code in (0, 1, 2)
    assert "Traceback" not in ended.errors
    if ended.code == 2:
        message = ended.errors.splitlines()[-1]
        assert message.startswith("cseb: ")
        assert len(message) < 2000
        assert not {"\x1b", "\x07", "\u202e"} & {*message}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Iterator[Path]:
    """Return a folder of sound files: records, a benchmark, an encoder, a corpus and a task in each format."""
    folder = tmp_path_factory.mktemp("sound")
    grid = cseb(folder, "run", WORLD, "--methods", "simcse+recipe(batch_size=8),cls", *GRID)
    assert grid.code == 0, grid.errors
    shutil.copytree(tiny("bert"), folder / "encoder")
    benchmark = Path(WORLD).read_text("utf-8")
    (folder / "small.yaml").write_text(benchmark.replace("[0.01, 0.1]", "[0.2]"), "utf-8")
    (folder / "pairs.tsv").write_text(PAIRS, "utf-8")
    (folder / "labels.csv").write_text("text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in ROWS))
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    (folder / "corpus.txt").write_text("".join(f"{row['text']}\n" for row in ROWS), "utf-8")
    yield folder


def commands() -> dict[str, Any]:
    """Return the commands as click has them, by name."""
    return dict(typer.main.get_command(app).commands)


@st.composite
def arguments(draw: st.DrawFn) -> list[str]:
    """Draw a command with up to four of its options, each with a sound or an odd value."""
    name = draw(st.sampled_from(sorted(OPTIONS)))
    typed = [name, *OPTIONS[name]]
    value = st.one_of(st.sampled_from(TEXTS), st.sampled_from(NUMBERS), st.text(max_size=20))
    for parameter in draw(st.lists(st.sampled_from(commands()[name].params), max_size=4, unique_by=id)):
        flag = parameter.opts[0]
        if flag in NEVER:
            continue
        if parameter.param_type_name == "argument":
            typed.append(draw(st.one_of(st.sampled_from(("results", "small.yaml", "simcse", "nothing")), value)))
        elif parameter.is_flag:
            typed.append(flag)
        else:
            typed += [flag, draw(value)]
    return [word for word in typed if "\0" not in word and not any("\ud800" <= mark <= "\udfff" for mark in word)]


def test_an_option_is_checked_before_anything_reads_it(sound: Path) -> None:
    ended = cseb(sound, "run", "demo", "--dry-run", "--methods", "declutr+spans(shortest='x')")
    assert ended == (2, "", "cseb: spans: shortest is 'x'; it must be a whole number of at least 1\n")


@settings(max_examples=300)
@given(typed=arguments())
def test_arguments(sound: Path, typed: list[str]) -> None:
    note(repr(typed))
    works_or_says_why(cseb(sound, *typed))


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Draw a function that damages the content of a file."""
    start, length = draw(st.floats(0, 1)), draw(st.integers(0, 40))
    inserted = draw(st.one_of(st.binary(max_size=30), st.sampled_from([text.encode("utf-8", "replace") for text in
                                                                       (*TEXTS, *NUMBERS)])))  # fmt: skip

    def overwrite(content: bytes) -> bytes:
        place = int(start * len(content))
        return content[:place] + inserted + content[place + length :]

    whole: tuple[Callable[[bytes], bytes], ...] = (
        lambda content: content[: int(start * len(content))],
        lambda content: content * 2,
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.decode("utf-8", "replace").encode("utf-16"),
        lambda content: content.replace(b"\n", b"\r"),
        lambda content: content.replace(b" ", b"\0"),
        lambda content: b"",
        lambda content: b"[" * 100_000,
        lambda content: b'{"a":' * 100_000,
        lambda content: b"\x80\x04\x95" + content,
    )
    return draw(st.one_of(st.just(overwrite), st.sampled_from(whole)))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.just(10**400), st.floats(), st.text(max_size=10),
    st.just([]), st.just({}), st.just(["x"] * 40), st.just({"a": [{}]}),
)  # fmt: skip


@st.composite
def changes(draw: st.DrawFn) -> Callable[[Any], Any]:
    """Draw a function that replaces or removes one value of a JSON document, wherever it is."""
    place, value, remove = draw(st.floats(0, 0.999)), draw(VALUES), draw(st.booleans())

    def change(document: Any) -> Any:
        document = json.loads(json.dumps(document))
        spots: list[tuple[Any, Any]] = []
        waiting = [document]
        while waiting:
            node = waiting.pop()
            keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
            spots += [(node, key) for key in keys]
            waiting += [node[key] for key in keys]
        if spots:
            node, key = spots[int(place * len(spots))]
            if remove:
                del node[key]
            else:
                node[key] = value
        return document

    return change


def copied(sound: Path, name: str) -> tuple[Path, Path]:
    """Copy the sound files beside themselves; return the new folder and the path of `name` in it."""
    folder = sound.with_name("copy")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    return folder, folder / name


FILES = {
    "pairs.tsv": ("eval", "words:random", "--tasks", "pairs.tsv"),
    "labels.csv": ("eval", "words:random", "--tasks", "labels.csv"),
    "corpus.txt": ("data", "sample", "corpus.txt", "--size", "8"),
    "corpus.jsonl": ("run", "small.yaml", "--dry-run", "--corpus", "corpus.jsonl", "--sizes", "8"),
    "small.yaml": ("run", "small.yaml", "--dry-run"),
}


@settings(max_examples=60)
@pytest.mark.parametrize("name", FILES)
@given(damage=damages())
def test_damaged_files(sound: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
    folder, path = copied(sound, name)
    path.write_bytes(damage(path.read_bytes()))
    works_or_says_why(cseb(folder, *FILES[name]))


@settings(max_examples=60)
@pytest.mark.parametrize("command", [["report"], ["compare"], ["status"]])
@given(change=changes())
def test_changed_records(sound: Path, command: list[str], change: Callable[[Any], Any]) -> None:
    folder, runs = copied(sound, "results/runs")
    path = sorted(runs.glob("*.json"))[0]
    path.write_text(json.dumps(change(json.loads(path.read_text("utf-8")))), "utf-8", "surrogatepass")
    works_or_says_why(cseb(folder, *command, "results"))


@settings(max_examples=60)
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
@given(change=changes(), damage=damages())
def test_changed_encoders(
    sound: Path, name: str, change: Callable[[Any], Any], damage: Callable[[bytes], bytes]
) -> None:
    folder, path = copied(sound, f"encoder/{name}")
    if name.endswith(".json"):
        path.write_text(json.dumps(change(json.loads(path.read_text("utf-8")))), "utf-8", "surrogatepass")
    else:
        path.write_bytes(damage(path.read_bytes()))
    works_or_says_why(cseb(folder, "eval", "encoder", "--pooler", "mean", "--tasks", "pairs.tsv"))
