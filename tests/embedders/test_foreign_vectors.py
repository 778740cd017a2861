"""Word vectors, functions and saved runs of strangers: what is wrong with them is one line, and never a wrong score."""

import json
from pathlib import Path

import pytest

from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import CsebError
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.export import export
from cseb.experiment.plan import plan
from cseb.training import build
from tests.conftest import SENTENCES
from tests.embedders.folders import Tiny, call, refused
from tests.world import WORLD


def test_what_is_no_file_of_vectors_is_refused_before_it_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of gigabytes took seconds to be refused for its first line."""
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it was hashed"))
    with Path("v.txt").open("wb") as file:
        file.truncate(1 << 30)  # takes no room
    refused("v.txt", "line 1 is longer than 1,048,576 bytes")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the " + b"1 " * 200_000, "is not a word and a vector of 2 to 16,384 numbers"),
        (b"the 1 2 nan\n", "finite numbers"),
        (b"the 1 2 3e38\n", "finite numbers"),
        (b"the 1 2 three\n", "finite numbers"),
        (b"the 1 2 3\na 1 2\nman 1\n", "finite numbers"),
        (b"the 1 2 3\na 1 2 -inf\n", "finite numbers"),
        (b"\xff\xfe\0\0", "is not a word and a vector"),
        (b"\0" * 3_000_000, "longer than"),
    ],
)  # fmt: skip
def test_text_that_holds_no_word_vectors_is_one_line(content: bytes, message: str) -> None:
    Path("v.txt").write_bytes(content)
    refused("v.txt", message)


FUNCTIONS = {
    "objects": "np.array([{} for _ in sentences], dtype=object)",
    "text": "np.array([[s] for s in sentences])",
    "no width": "np.zeros((len(sentences), 0))",
    "exit": "sys.exit(0)",
    "long error": "(_ for _ in ()).throw(ValueError('long ' * 10**6))",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_returns_no_vectors_is_one_line(name: str) -> None:
    module = f"strange_{'_'.join(name.split())}"
    Path(f"{module}.py").write_text(f"import sys, numpy as np\ndef f(sentences):\n    return {FUNCTIONS[name]}\n")
    refused(f"{module}:f", f"cseb: {module}:f ")


def test_a_module_that_ends_the_program_is_one_line() -> None:
    Path("strange_end.py").write_text("import sys\nsys.exit(0)\n")
    refused("strange_end:f", "cannot be imported: SystemExit")


@pytest.fixture
def saved(tiny: Tiny) -> Path:
    """A run whose head is kept at test, as `--save-models` writes it."""
    Path("corpus.txt").write_text("\n".join(SENTENCES))
    grid = benchmarks.override(
        benchmarks.load(WORLD), methods="simcse+mean+mlp(keep=True)+recipe(steps=1,warmup=0,batch_size=4)",
        encoder=str(tiny("bert")), corpus="corpus.txt", fractions="", sizes="8", seeds=1, tasks="toy-captions",
    )  # fmt: skip
    (job,) = plan(grid)
    export(build.build(job.method, tiny("bert"), 0).encoder, job, Path("saved"))
    return Path("saved")


def test_another_pooler_in_a_saved_run_is_another_encoder(saved: Path) -> None:
    """`resolved` said the old one, so the old record was found for vectors that it was not of."""
    before = find(str(saved), EncoderOptions())
    about = json.loads((saved / "cseb.json").read_text())
    (saved / "cseb.json").write_text(json.dumps({**about, "pooler": "cls"}))
    assert find(str(saved), EncoderOptions()).source.sha256 != before.source.sha256


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"{}", b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"\xff",
     b'{"method": "\\ud800"}', b"9" * 5000, b"x" * 2_000_000],
    ids=lambda content: f"{content!r:.20}",
)  # fmt: skip
def test_a_saved_run_that_says_nothing_is_one_line(saved: Path, content: bytes) -> None:
    (saved / "cseb.json").write_bytes(content)
    refused(saved, "cseb.json")


@pytest.mark.parametrize(
    "values",
    [{"pooler": 3}, {"pooler": None}, {"pooler": "none-such"}, {"pooler": "mean" * 10_000}, {"post": [3]},
     {"post": "infonce"}, {"pooler": "simcse"}, {"pooler": "mean+recipe(steps=10)"}, {"head": {"a": 1}},
     {"method": ["a"]}, {"resolved": None}, {"pooler": "[" * 500}, {"head": "mlp(keep=True,width=3)"}],
    ids=lambda values: f"{values!r:.30}",
)  # fmt: skip
def test_a_saved_run_that_says_what_cannot_be_is_one_line(saved: Path, values: dict[str, object]) -> None:
    about = json.loads((saved / "cseb.json").read_text())
    (saved / "cseb.json").write_text(json.dumps({**about, **values}))
    refused(saved, "")


def test_a_saved_run_is_scored(saved: Path) -> None:
    result = call(saved)
    assert result.exit_code == 0, result.output
    with pytest.raises(CsebError):
        find(str(saved / "missing"), EncoderOptions())
