"""A whole recommendation with an encoder of two layers: what is run, remembered and said."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cseb.advice import advise as steps
from cseb.advice.hold_out import HELD_OUT
from cseb.advice.options import Options
from cseb.advice.questions import Answers
from cseb.advice.race import ROUNDS
from cseb.advice.runs import Runs
from cseb.api.recommend import advise, forecast
from cseb.errors import CsebError
from cseb.experiment.grid import Grid
from cseb.records.store import Store
from tests.conftest import OBJECTS, SENTENCES

LINES = [f"{sentence} and {other}" for sentence in SENTENCES for other in OBJECTS]
Asked = Callable[..., Options]


@pytest.fixture
def asked(tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Options of a race of two methods, one step each, judged by forty pairs."""
    monkeypatch.setattr(steps, "ROUNDS", (1, 2))
    monkeypatch.setattr(steps, "FRESH", range(100, 102))
    corpus, pairs = tmp_path / "my.txt", tmp_path / "mine.tsv"
    corpus.write_text("\n".join(LINES))
    rows = [f"{LINES[n]}\t{LINES[n + 64]}\t{n % 4}" for n in range(40)]
    pairs.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))

    def options(**given: object) -> Options:
        return Options(**{  # type: ignore[arg-type]  # as the fields below say
            **dict.fromkeys(("tasks", "teacher", "data_dir", "column", "push"), ""),
            **dict.fromkeys(("out", "results")),
            "corpus": str(corpus), "encoder": str(tiny("bert")), "budget": 30.0, "judge": str(pairs),
            "methods": "simcse,simcse+mean", "steps": 1, "workers": 1, "threads": 1, "linear": "blas",
            "device": "cpu", "ask": 0, "trust_remote_code": False, **given,
        })  # fmt: skip

    return options


def test_nobody_is_judged_by_what_it_was_trained_for(asked: Asked, tmp_path: Path) -> None:
    long = [f"{LINES[n % len(LINES)]} while {LINES[n * 7 % len(LINES)]} again and {n}" for n in range(300)]
    (tmp_path / "my.txt").write_text("\n".join(long))
    found = forecast(asked(judge="", methods="crops,simcse+mean"), lambda _: None)
    assert found[0] == "races: simcse+mean"
    assert "left out: crops: crop trains for what this judge asks" in "\n".join(found)
    with pytest.raises(CsebError, match=r"crops: crop trains for what this judge asks.*--ask 60"):
        forecast(asked(judge="", methods="crops"), lambda _: None)
    assert forecast(asked(methods="crops"), lambda _: None)[0] == "races: crops"


def test_a_race_ends_in_a_verdict_a_model_and_records_that_are_not_made_twice(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    found = advise(asked(out=tmp_path / "model"), said.append)
    assert found.winner in ("simcse", "simcse+mean")
    assert found.estimate is not None
    assert found.estimate.seeds == 2
    assert any(line.startswith("round 1: 2 methods, 1 seed") for line in said)
    records = Store(tmp_path / "my.recommend").load()[0]
    raced = {(one.method, one.seed) for one in records if one.seed < 100}
    fresh = {(one.method, one.seed) for one in records if one.seed >= 100}
    assert fresh == {(method, seed) for method in (found.winner, found.baseline) for seed in (100, 101)}
    assert raced >= {(method, 0) for method in ("cls", "mean", "first_last", "simcse", "simcse+mean")}
    assert not {one.subset.size for one in records} - {found.sizes[1]}  # a tenth of so few is no beginning of a curve
    assert str(found.estimate) in found.verdict()
    assert (tmp_path / "model" / "config.json").is_file()
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert card.startswith("---\n")
    assert found.verdict() in card
    assert f"cseb recommend {tmp_path / 'my.txt'} --encoder" in card
    assert any("overlap: " in line for line in said)

    monkeypatch.setattr("cseb.advice.runs.launch", lambda *_, **__: pytest.fail("nothing is left to run"))
    again = advise(asked())
    assert again.verdict() == found.verdict()
    assert again.table() == found.table()


def test_a_budget_without_room_for_a_first_round_is_refused_and_leaves_no_record(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runs, "likely", lambda *_: 60.0)  # seconds of a job
    with pytest.raises(CsebError, match=r"--budget of 10 s is too short.*take --budget \d+, fewer --methods"):
        advise(asked(budget=1 / 6))
    assert not (tmp_path / "my.recommend" / "runs").exists()


def test_held_out_sentences_are_not_trained_on(asked: Asked, tmp_path: Path) -> None:
    forecast(asked(), lambda _: None)
    assert not (tmp_path / "my.recommend").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runs, "run", lambda *_: False)
        advise(asked())
    train, held = (
        (tmp_path / "my.recommend" / name).read_text().split("\n")[:-1] for name in ("train.txt", "held-out.txt")
    )
    assert sorted(train + held) == sorted(LINES)
    assert len(held) == int(HELD_OUT * len(LINES))


def test_stopped_in_the_race_it_says_who_leads_and_goes_on(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Runs.run

    def once(self: Runs, grid: Grid, *limits: object) -> bool:
        if any(job.seed >= 100 for job in grid.jobs):
            raise KeyboardInterrupt
        return whole(self, grid, *limits)  # type: ignore[arg-type]

    monkeypatch.setattr(Runs, "run", once)
    found = advise(asked())
    assert found.stopped
    assert found.estimate is None
    assert "leads the race" in found.verdict()
    assert found.chosen == found.baseline
    monkeypatch.setattr(Runs, "run", whole)
    assert advise(asked()).estimate is not None


def test_stopped_while_the_model_is_trained_the_verdict_is_given(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cseb.advice.model.train_and_export", stopped)
    found = advise(asked(out=tmp_path / "model"))
    assert found.stopped
    assert str(found.estimate) in found.verdict()


def test_a_budget_that_ends_in_the_race_leaves_what_was_raced(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runs, "run", lambda *_: False)
    found = advise(asked())
    assert found.winner == ""
    assert "no verdict yet" in found.verdict()


def test_a_dry_run_says_what_would_run(asked: Asked) -> None:
    lines = forecast(asked(), lambda _: None)
    assert lines[0] == "races: simcse, simcse+mean"
    assert f"rounds of {', '.join(map(str, ROUNDS))} seeds" in lines[1]
    assert lines[-1] == "Run time unknown."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"budget": 0.0}, "--budget is 0"),
        ({"budget": float("nan")}, "--budget is nan"),
        ({"tasks": "snli"}, "--judge and --tasks are given"),
        ({"encoder": "words:tf-idf"}, "cannot be trained"),
        ({"encoder": "nowhere/"}, "no such folder"),
        ({"steps": 0}, "--steps is 0"),
        ({"judge": "nowhere.tsv"}, "there is no task file"),
        ({"judge": "", "tasks": "sts99"}, "no task is called"),
        ({"methods": "simcse+mean+recipe(batch_size=1000)"}, "fewer than one batch"),
        ({"methods": "micse+ami(layers=(7,))"}, "does not fit"),
        ({"out": Path("nowhere/model")}, "nowhere is missing"),
        ({"out": Path("model"), "methods": "simcse,promcse+prefix(length=3)"}, "cannot be saved: what its prefix adds"),
    ],
)
def test_what_cannot_be_is_one_line(asked: Asked, given: dict[str, object], said: str) -> None:
    with pytest.raises(CsebError) as caught:
        advise(asked(**given))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_triples_that_a_language_model_wrote_keep_their_provenance(asked: Asked, tmp_path: Path) -> None:
    anchors, others = LINES[:128], LINES[128:]
    rows = [{"a": one, "p": f"{two} again", "n": two} for one, two in zip(anchors, others, strict=False)]
    written = tmp_path / "written.jsonl"
    written.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    fields = "generator: made-1\ndate: 2023\nprompt_sha256: unknown\nlicence: 'a \"licence\", MIT'\n"
    (tmp_path / "written.provenance.yaml").write_text(fields)
    given = {"corpus": f"generated:{written}", "results": tmp_path / "records", "methods": "syncse,simcse+mean"}
    given |= {"column": "anchor=a,positive=p,negative=n"}
    said: list[str] = []
    found = advise(asked(**given, out=tmp_path / "model"), said.append)
    assert found.estimate is not None
    assert any(line.startswith("written by made-1, 2023") for line in said)
    records = Store(tmp_path / "records").load()[0]
    trained = [one for one in records if one.method in ("syncse", "simcse+mean")]
    assert trained
    for one in records:
        assert one.generated is not None
        assert (one.generated.generator, one.generated.licence) == ("made-1", 'a "licence", MIT')
    assert {seen for one in trained for seen in one.data_seen} >= {"generated:made-1"}
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "its sentences were written by made-1, 2023" in card
    held = (tmp_path / "records" / "held-out.txt").read_text().splitlines()
    assert held
    assert set(held) < set(anchors)
    text = (tmp_path / "records" / "train.jsonl").read_text()
    assert not any(f'"anchor": "{one}"' in text for one in held)
    (tmp_path / "written.provenance.yaml").unlink()
    with pytest.raises(CsebError, match=r"declared as generated and has no written.provenance.yaml beside it"):
        advise(asked(**given))
    with pytest.raises(CsebError, match=r"syncse trains on sentences that a language model wrote"):
        advise(asked(**given | {"corpus": str(written)}))
    assert not (tmp_path / "records" / "train.provenance.yaml").exists()  # what was said before is not said again


def test_answers_of_the_user_choose_and_decide(asked: Asked, tmp_path: Path) -> None:
    calls: list[int] = []

    def answer(answers: Answers, pairs: Sequence[tuple[str, str]]) -> None:
        calls.append(len(pairs))
        while (number := answers.next) is not None:
            question = answers.questions[number]
            answers.answer(number, "1" if question.first < question.second else "2")

    options = asked(judge="", ask=30)
    found = advise(options, asker=answer)
    assert calls
    assert found.estimate is not None
    assert found.answered.startswith("27 answers; 3 of 3")
    assert "by agreement with your answers" in found.verdict()
    again = advise(options, asker=lambda *_: pytest.fail("nothing is asked twice"))
    assert again.verdict() == found.verdict()
    with pytest.raises(CsebError, match="nobody who asks"):
        advise(options)
