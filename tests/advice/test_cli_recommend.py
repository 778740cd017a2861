"""The command as typed: its verdict, its dry run, and one line for what cannot be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.advice import advise as steps
from cseb.commands.recommend import recommend  # noqa: F401  # what is tested
from tests.command_line import call
from tests.conftest import OBJECTS, SENTENCES
from tests.hub_server import serving

LINES = [f"{sentence} and {other}" for sentence in SENTENCES for other in OBJECTS]


@pytest.fixture
def typed(tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(steps, "ROUNDS", (1,))
    monkeypatch.setattr(steps, "FRESH", range(100, 102))
    (tmp_path / "my.txt").write_text("\n".join(LINES))
    rows = [f"{LINES[n]}\t{LINES[n + 64]}\t{n % 4}" for n in range(40)]
    (tmp_path / "mine.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    monkeypatch.chdir(tmp_path)
    return ["recommend", "my.txt", "--encoder", str(tiny("bert")), "--judge", "mine.tsv", "--methods", "simcse+mean",
            "--steps", "1", "--workers", "1", "--linear", "blas"]  # fmt: skip


def test_a_recommendation_is_one_sentence_and_its_table(typed: list[str]) -> None:
    done = call(*typed)
    assert done.exit_code == 0, done.output
    assert "by agreement with 40 rated pairs" in done.stdout
    assert "winner of the race" in done.stdout
    assert "records: my.recommend" in done.stdout
    quiet = call(*typed, "--quiet")
    assert len(quiet.stdout.splitlines()) == 1


def test_a_dry_run_stores_nothing(typed: list[str]) -> None:
    done = call(*typed, "--dry-run")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("races: simcse+mean\n")
    assert not Path("my.recommend").exists()


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_the_model_goes_to_the_hub_only_when_asked(typed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = call(*typed, "--push", "me/mine")
    assert alone.exit_code == 2
    assert alone.stderr == "cseb: --push me/mine is about the model of --out; give --out FOLDER too\n"
    with serving(monkeypatch) as hub:
        done = call(*typed, "--out", "mine", "--push", "me/mine")
        assert done.exit_code == 0, done.output
        assert f"pushed to {hub.address}/me/mine" in done.stderr
        assert set(hub.files["me/mine"]) == {str(p.relative_to("mine")) for p in Path("mine").rglob("*") if p.is_file()}
        assert "SentenceTransformer('me/mine')" in Path("mine/README.md").read_text("utf-8")


def test_a_mistake_is_one_line_and_nothing_is_left(typed: list[str]) -> None:
    done = call(*typed, "--tasks", "snli")
    assert done.exit_code == 2
    assert done.stderr.startswith("cseb: --judge and --tasks are given")
    assert not Path("my.recommend").exists()
