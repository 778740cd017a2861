"""How far judges can be trusted, worked out from figures whose truth is known."""

from pathlib import Path

import numpy as np
import pytest

from cseb.advice import trust
from tests.conftest import script_of

judges = script_of("judges")
METHODS, CORPORA, SEEDS = 12, ("a", "b"), (0, 1)


def points(noise: float) -> list[object]:
    """Human figures rise with the method's number; `edits` follows them, so far off; `crops` is turned round."""
    rng = np.random.default_rng(0)
    found = []
    for corpus in CORPORA:
        for method in range(METHODS):
            for seed in SEEDS:
                luck = rng.normal(0, 0.2)
                for human in judges.HUMAN:
                    found.append(
                        judges.Point(
                            trust.RAW, "e", corpus, f"simcse+recipe(steps={method + 1})", 80, seed, human, method + luck
                        )
                    )
                found.append(
                    judges.Point(
                        trust.RAW,
                        "e",
                        corpus,
                        f"simcse+recipe(steps={method + 1})",
                        80,
                        seed,
                        "edits",
                        method + luck + rng.normal(0, noise),
                    )
                )
                found.append(
                    judges.Point(
                        trust.RAW, "e", corpus, f"simcse+recipe(steps={method + 1})", 80, seed, "crops", -method
                    )
                )
    return found


def test_a_judge_that_follows_human_labels_is_trusted_and_one_against_them_is_not() -> None:
    rows = {(one.judge, one.human): one for one in judges.figures(points(0.1))}
    good, bad = rows["edits", judges.ALL], rows["crops", judges.ALL]
    assert good.between > 0.95
    assert good.interval.low > 0
    assert good.within > 0.5
    assert bad.between == pytest.approx(-1)
    assert bad.interval.high < 0
    assert good.methods == METHODS
    assert {human for _, human in rows} == {*judges.HUMAN, judges.ALL}


def test_noise_is_not_trusted() -> None:
    row = next(one for one in judges.figures(points(100.0)) if one.judge == "edits" and one.human == judges.ALL)
    assert row.interval.low < 0 < row.interval.high


def test_the_interval_holds_its_level() -> None:
    rng, rho, count = np.random.default_rng(1), 0.6, 12
    held = 0
    for _ in range(400):
        x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], count).T
        found = judges.interval(judges._rank_correlation(x, y), count)
        held += 6 / np.pi * np.arcsin(rho / 2) in found  # Spearman's rho of a normal pair
    assert held / 400 > 0.92
    assert judges.interval(0.99, 4).low == -1.0


def test_figures_are_written_where_the_command_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "points", lambda _: iter(points(0.1)))
    for name in ("POINTS", "PAGE"):
        monkeypatch.setattr(judges, name, tmp_path / getattr(judges, name).name)
    monkeypatch.setattr(trust, "FIGURES", tmp_path / "trust.csv")
    (tmp_path / "README.md").write_text(f"# Judges\n\nBy hand.\n{judges.MARKER}old\n")
    judges.read(tmp_path)
    known = trust.measured(trust.RAW, tmp_path / "trust.csv")
    assert trust.best_label_free(known) == "edits"
    page = (tmp_path / "README.md").read_text()
    assert page.startswith("# Judges\n\nBy hand.\n")
    assert "old" not in page
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 1 + len(points(0.1))


def test_the_figures_that_come_with_cseb_are_complete() -> None:
    for start in trust.KINDS:
        known = trust.measured(start)
        assert {"crops", "edits"} <= set(known)
        assert all(-1 <= one.low <= one.rho <= one.high <= 1 and one.origin for one in known.values())


def test_a_method_that_trains_on_pieces_of_sentences_is_not_ranked_by_a_judge_that_asks_for_them() -> None:
    held = {(one.corpus, one.seed, one.task): one for one in points(0.1)}.values()
    crops = [one._replace(method="crops", points=99.0 if one.task == "edits" else -99.0) for one in held]
    rows = {one.judge: one for one in judges.figures([*points(0.1), *crops]) if one.human == judges.ALL}
    assert rows["edits"].methods == METHODS
    assert rows["edits"].between > 0.95


def test_kinds_of_start_are_not_mixed() -> None:
    """What follows human labels from one start and contradicts them from the other is known as both."""
    turned = [
        one._replace(start=trust.SENTENCE, points=-one.points if one.task == "edits" else one.points)
        for one in points(0.1)
    ]
    rows = {(one.start, one.judge): one for one in judges.figures([*points(0.1), *turned]) if one.human == judges.ALL}
    assert rows[trust.RAW, "edits"].interval.low > 0 > rows[trust.SENTENCE, "edits"].interval.high
