"""A whole recommendation with an encoder of two layers: what is trained, continued, printed and written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cseb
from cseb.commands import trials
from cseb.commands.application import app
from cseb.errors import CsebError
from cseb.progress import listening, reading
from cseb.records.store import Store
from tests.conftest import OBJECTS, SENTENCES
from tests.pages import ROOT

LINES = [f"{sentence} and {other}" for sentence in SENTENCES for other in OBJECTS]


@pytest.fixture
def ask(tmp_path: Path, tiny: Callable[[str], Path]) -> Callable[..., object]:
    """Recommend with one step of training, judged by 40 pairs of sentences that have an object in common or not."""
    (tmp_path / "my.txt").write_text("\n".join(LINES))
    rows = [f"{LINES[n]}\t{LINES[n + 64 + n % 3]}\t{n % 4}" for n in range(40)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))

    def recommend(**options: object) -> object:
        given = {"eval": tmp_path / "pairs.tsv", "methods": "crops,simcse+mean", **options}
        given.setdefault("encoder", str(tiny("bert")))
        settings = {name: value for name, value in given.items() if value is not None}
        return cseb.recommend(str(tmp_path / "my.txt"), steps=1, workers=1, device="cpu", **settings)

    return recommend


def runs(tmp_path: Path) -> list[tuple[str, int]]:
    """Method and seed of the trained records."""
    records = Store(tmp_path / "my.recommend").load()[0]
    return sorted((record.method, record.seed) for record in records if record.benchmark == "recommend")


def test_two_methods_three_seeds_then_five_other_seeds_of_the_best(ask: Callable[..., object], tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    with listening(lambda what, done, total: reports.append((done, total)) if what == "training" else None):
        result = ask()
    assert {total for _, total in reports} == {11} and reports == sorted(reports) and reports[-1] == (11, 11)
    done = runs(tmp_path)
    best = max(("crops", "simcse+mean"), key=lambda method: sum(name == method for name, _ in done))
    assert {seed for name, seed in done if name == best} == set(range(8))
    assert len(done) == 2 * 3 + 5
    names = [row[0] for row in result.rows]
    assert names == ["cls pooling", "mean pooling", "TF-IDF", "crops", "simcse+mean"]
    assert result.chosen in names and result.sentence.endswith(".") and "40 " not in result.sentence
    assert "13 examples select pooling and method, 27 others decide." in result.notes


def test_a_second_call_trains_nothing(
    ask: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask()
    monkeypatch.setattr("cseb.launchers.launch", None)
    assert ask() == first


def test_an_interrupted_one_goes_on(
    ask: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trials.Trials.run

    def interrupted(self: trials.Trials, methods: list[str], seeds: range, task: str, **_: object) -> None:
        whole(self, methods, seeds[:1], task)
        raise KeyboardInterrupt

    monkeypatch.setattr(trials.Trials, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert runs(tmp_path) == [("crops", 0), ("simcse+mean", 0)]
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "my.recommend" / "runs").glob("*.json")}
    monkeypatch.setattr(trials.Trials, "run", whole)
    ask()
    assert len(runs(tmp_path)) == 11
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_a_dry_run_scores_baselines_and_trains_nothing(ask: Callable[..., object], tmp_path: Path) -> None:
    result = ask(dry_run=True)
    assert result.chosen == "" and [row[0] for row in result.rows] == ["cls pooling", "mean pooling", "TF-IDF"]
    assert runs(tmp_path) == []


@pytest.fixture
def winner(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a row of the table the recommendation."""
    return lambda name: monkeypatch.setattr(
        "cseb.advice.conclusion.conclude", lambda base, trained, words, tried: ("Said.", name or base.method)
    )


def test_the_scored_model_is_written(ask: Callable[..., object], winner: Callable[[str], None], tmp_path: Path) -> None:
    winner("crops")
    out = tmp_path / "model"
    result = ask(methods="crops", out=out)
    assert result.model == out and "Said." in (out / "README.md").read_text()
    from sentence_transformers import SentenceTransformer

    [key] = [path.name for path in (tmp_path / "my.recommend" / "models").iterdir()]
    record = Store(tmp_path / "my.recommend").find(key)
    assert record is not None and (record.method, record.seed) == ("crops", 0)
    items = Store(tmp_path / "my.recommend").read_items(key)["pairs.tsv@1/last"]
    pairs = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()[1:]]
    left, right = (SentenceTransformer(str(out)).encode([pair[side] for pair in pairs]) for side in (0, 1))
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert np.allclose(cosines, items, atol=1e-4)


def test_tf_idf_without_a_score_is_left_out(ask: Callable[..., object], tmp_path: Path) -> None:
    for number, line in enumerate(rows := (tmp_path / "pairs.tsv").read_text().splitlines()[1:]):
        rows[number] = f"{line.split(chr(9))[0]}\t{'zxq' * (1 + number)}\t{number % 4}"
    (tmp_path / "foreign.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    result = ask(eval=tmp_path / "foreign.tsv", methods="crops")
    assert "TF-IDF" not in [row[0] for row in result.rows]
    assert any(note.startswith("TF-IDF has no score and is left out: ") for note in result.notes)
    assert result.sentence.startswith(("Keep", "Use", "Train"))


def test_models_are_written_as_the_guide_says(
    ask: Callable[..., object], winner: Callable[[str], None], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "guide" / "recommend.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.split("| model that `--out` writes |")[1].splitlines()[2:6]]
    assert rows == [
        ["Train with a method", "the first of the 5 deciding runs"],
        ["Use a pooling without training", "the encoder without training, with this pooling"],
        ["Keep the encoder as it is", "none"],
        ["Use TF-IDF", "none"],
    ]
    winner("TF-IDF")
    assert ask(methods="crops", out=tmp_path / "none").model is None
    assert not (tmp_path / "none").exists()
    winner("")
    result = ask(methods="crops", out=tmp_path / "untrained")
    assert f"{json.loads((tmp_path / 'untrained' / 'cseb.json').read_text())['method']} pooling" == result.chosen
    card = (tmp_path / "untrained" / "README.md").read_text("utf-8")
    assert "scored without further training" in card and "trained with the method" not in card
    winner("encoder as it is")
    assert ask(encoder=str(tmp_path / "untrained"), methods="crops", out=tmp_path / "none").model is None
    assert not (tmp_path / "none").exists()


def test_a_finished_model_is_compared(
    ask: Callable[..., object], winner: Callable[[str], None], tmp_path: Path
) -> None:
    winner("")
    ask(methods="crops", out=tmp_path / "first")
    result = cseb.recommend(
        str(tmp_path / "my.txt"), encoder=str(tmp_path / "first"), eval=tmp_path / "pairs.tsv", dry_run=True,
        workers=1, device="cpu", results=tmp_path / "second",
    )  # fmt: skip
    assert [row[0] for row in result.rows] == ["encoder as it is", "mean pooling", "cls pooling", "TF-IDF"]


def test_pairs_to_rate_become_examples(ask: Callable[..., object], tmp_path: Path) -> None:
    result = ask(eval=None, methods=None, make_pairs=40)
    file = tmp_path / "my-pairs.csv"
    assert str(file) in result.sentence
    assert "--column" not in result.sentence
    head, *rows = file.read_text(encoding="utf-8-sig").splitlines()
    assert head == "sentence1,sentence2,score" and len(rows) == 40
    with pytest.raises(CsebError, match="score"):
        ask(eval=file)
    file.write_text("\n".join([head, *(f"{row}{n % 5}" for n, row in enumerate(rows))]), encoding="utf-8")
    assert len(ask(eval=file, dry_run=True).rows) == 3
    with pytest.raises(CsebError, match="may contain ratings"):  # before sentences are drawn: there are too few of them
        ask(eval=None, methods=None, make_pairs=4000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"make_pairs": 40}, "`eval`, or write pairs of sentences to rate"),
        ({"eval": None}, "`eval`, or write pairs of sentences to rate"),
        ({"eval": None, "make_pairs": 40}, "`make_pairs` only writes pairs"),
        ({"methods": "mean"}, "mean does not train"),
        ({"methods": "simcse+mean+prefix", "out": "model"}, "cannot load what prefix adds"),
    ],
)
def test_misfits_are_refused(
    ask: Callable[..., object], options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CsebError, match=message):
        ask(**options)
    assert not (tmp_path / "my.recommend").exists()


def test_the_command_prints_plan_sentence_and_table(
    ask: Callable[..., object], tmp_path: Path, tiny: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["recommend", str(tmp_path / "my.txt"), "--eval", str(tmp_path / "pairs.tsv"), "--methods", "crops",
             "--encoder", str(tiny("bert")), "--steps", "1", "--workers", "1", "--device", "cpu"]  # fmt: skip
    app(words, standalone_mode=False)
    out, err = capsys.readouterr()
    assert "Plan: crops with 5 seeds. " in err and "points cannot be detected" in err
    sentence, blank, head, *_ = out.splitlines()
    assert sentence.endswith(".") and not blank and head.split() == ["selecting", "deciding", "difference", "seeds"]


@pytest.mark.parametrize(("file", "last"), [("", "tsdae+mean"), ("modules.json", "skd+own_teacher")])
def test_a_finished_encoder_is_its_own_teacher_where_a_raw_one_has_tsdae(tmp_path: Path, file: str, last: str) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    if file:
        (tmp_path / file).write_text("[]")
    settings = trials.Trials("corpus", "", str(tmp_path), 1, None, 1, {})
    settings.__dict__["start"] = tmp_path  # this folder has no weights to be found
    assert settings.methods("mean pooling") == ["crops", "simcse+mean", "esimcse+mean", last]


@pytest.fixture
def started(tmp_path: Path, ask: Callable[..., object]) -> Callable[[Path], trials.Trials]:
    """The trials of an encoder in this folder; `ask` has written the files."""
    settings = {"data_dir": "", "threads": 1, "device": "cpu", "trust_remote_code": False}
    return lambda folder: trials.Trials(
        str(tmp_path / "my.txt"), "", str(folder), 1, tmp_path / "my.recommend", 1, settings
    )


@pytest.fixture
def still(tmp_path: Path, tiny: Callable[[str], Path]) -> Path:
    """A ModernBERT whose dropout rates are all 0, as in the files of the pre-trained ones."""
    folder = Path(shutil.copytree(tiny("modernbert"), tmp_path / "still"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "attention_dropout": 0.0}))
    return folder


@pytest.mark.parametrize("family", ["bert", "distilbert", "gpt2", "t5", "modernbert", "mpnet"])
def test_the_learning_rate_is_for_the_width_of_the_encoder(
    family: str, tiny: Callable[[str], Path], started: Callable[[Path], trials.Trials]
) -> None:
    assert "learning_rate=0.001)" in started(tiny(family)).scale  # 3e-5 * 768 / 16


def chosen(settings: trials.Trials, task: str) -> tuple[list[str], list[str]]:
    """The default methods with mean pooling, and the remarks."""
    remarks: list[str] = []
    with reading(remarks.append):
        return settings.fitting(settings.methods("mean pooling"), task), remarks


def test_default_methods_go_with_the_encoder(
    tmp_path: Path, tiny: Callable[[str], Path], still: Path, started: Callable[[Path], trials.Trials]
) -> None:
    task = str(tmp_path / "pairs.tsv")
    three = ["crops", "simcse+mean", "esimcse+mean"]
    for family in ("bert", "gpt2"):
        assert chosen(started(tiny(family)), task) == ([*three, "tsdae+mean"], [])
    needs = "denoise needs a map from states to words, and the encoder is the encoder of a T5 model"
    assert chosen(started(tiny("t5")), task) == (three, [f"tsdae+mean is left out: {needs}."])
    assert chosen(started(still), task) == (
        ["crops", "simcse+mean+recipe(dropout=0.1)", "esimcse+mean", "tsdae+mean"],
        [],
    )
    assert not (tmp_path / "my.recommend").exists()


def test_without_any_default_method_one_has_to_be_named(
    tmp_path: Path, tiny: Callable[[str], Path], started: Callable[[Path], trials.Trials]
) -> None:
    with pytest.raises(CsebError, match="no default method can be trained on "):
        started(tiny("t5")).fitting(["tsdae+mean"], str(tmp_path / "pairs.tsv"))


def test_a_named_method_that_does_not_fit_is_refused_before_the_baselines(
    ask: Callable[..., object], tmp_path: Path, tiny: Callable[[str], Path], still: Path
) -> None:
    for encoder, method, message in (
        (tiny("t5"), "tsdae", "^tsdae: denoise needs a map from states to words"),
        (still, "simcse", r"^simcse: dropout: .* add \+recipe\(dropout=0.1\)"),
        (tiny("gpt2"), "simcse+cls", "^simcse.cls: cls needs a first token"),
    ):
        with pytest.raises(CsebError, match=message):
            ask(encoder=str(encoder), methods=f"crops,{method}", dry_run=True)
    assert not (tmp_path / "my.recommend").exists()


def test_a_decoder_has_the_last_token_in_place_of_cls(
    ask: Callable[..., object], winner: Callable[[str], None], tmp_path: Path, tiny: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    winner("")
    monkeypatch.setattr("cseb.advice.conclusion.best_base", lambda selecting: "last pooling")
    result = ask(encoder=str(tiny("gpt2")), methods="crops", out=tmp_path / "model")
    assert [row[0] for row in result.rows] == ["last pooling", "mean pooling", "TF-IDF", "crops"]
    assert json.loads((tmp_path / "model" / "cseb.json").read_text())["pooler"] == "last()"
