"""What pages say of the tuned learning rates, from the tuning trials of the results folders."""

from pathlib import Path

import pandas as pd
import pytest

from cseb import load

ROOT = Path(__file__).parents[2]
RATES = ["0.0001", "0.0003", "0.001", "0.003"]  # that every method was tuned with


def test_the_page_says_how_many_methods_choose_another_rate_at_each_size() -> None:
    chosen: dict[str, dict[int, str]] = {}
    for record in load(ROOT / "results" / "tuned").records:
        if record.tuning:
            chosen.setdefault(record.method, {})[record.subset.size] = record.tuning.options
    few, many = (sum(rates[size] != rates[1000] for rates in chosen.values()) for size in (100, 10_000))
    page = " ".join((ROOT / "results" / "tuned" / "README.md").read_text("utf-8").split())
    assert f"{few} of the {len(chosen)} methods that train choose another rate with 100 sentences than with" in page
    assert f"than with 1,000, and {many} with 10,000." in page


@pytest.mark.parametrize(("folder", "column"), [("tuned", 1), ("real-mini", 2)])
def test_the_guide_says_what_choosing_a_rate_without_labels_costs(folder: str, column: int) -> None:
    trials = _trials(folder)
    dev, loss = (trials.pivot(index=["method", "size"], columns="rate", values=each)[RATES] for each in ("dev", "loss"))
    below = dev.sub(dev.max(axis=1), axis=0)
    chosen = {
        "lowest training loss at the end": [below.loc[cell, rate] for cell, rate in loss.idxmin(axis=1).items()],
        "chosen at random": below.mean(axis=1),
        "3e-4 for all methods": below["0.0003"],
        "1e-3 for all methods": below["0.001"],
    }
    table = {name: f"{pd.Series(scores).mean():.1f}" for name, scores in chosen.items()}
    guide = (ROOT / "docs" / "guide" / "tuning.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in guide.splitlines() if line.startswith("|")]
    assert {row[0]: row[column] for row in rows if row[0] in table} == table
    heads = [row for row in rows if len(row) == 3 and f"`results/{folder}`" in row[column]]
    assert f"{dev.index.unique('method').size} methods" in heads[0][column]


def _trials(folder: str) -> pd.DataFrame:
    """Return the mean dev score and the last training loss by method without a teacher, size and rate."""
    rows = []
    for trial in load(ROOT / "results" / folder).trials:
        if trial.tuning and trial.trace and "teacher" not in trial.method:
            curve = trial.trace.curve
            dev = next(dev for step, _, dev in curve if step == trial.trace.best_step)
            rate = next(value for each in trial.parts for name, value in each.part.options if name == "learning_rate")
            rows.append((trial.method, trial.subset.size, f"{rate:g}", dev, curve[-1][1]))
    frame = pd.DataFrame(rows, columns=["method", "size", "rate", "dev", "loss"])
    return frame[frame.rate.isin(RATES)].groupby(["method", "size", "rate"], as_index=False).mean()
