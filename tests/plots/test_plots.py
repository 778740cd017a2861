"""What is drawn is what the records say, and the same records give the same file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")

import cseb
from cseb.errors import BadResults, BadSpec
from cseb.plots import scores, style
from cseb.plots.style import Plot
from cseb.reports.layouts import few_shot
from tests.command_line import printed
from tests.factory import grid, record, stored
from tests.reports.test_layouts import FULL, LESS
from tests.reports.test_layouts import runs as seeds_of

PAIRED = [*seeds_of("msse", FULL), *seeds_of("msse-dcm", LESS)]


DRAWN: dict[str, Callable[[], Plot]] = {
    "curves": lambda: scores.curves(few_shot(grid())),
    "seeds": lambda: scores.seeds(few_shot(grid())),
}


@pytest.mark.parametrize(
    ("kind", "ending"), [*((kind, ".svg") for kind in DRAWN), ("seeds", ".png"), ("seeds", ".pdf")]
)
def test_the_same_records_give_the_same_file(kind: str, ending: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{each}{ending}" for each in "ab"]
    for file in files:
        style.save(DRAWN[kind](), file)
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending])


def test_curves_go_through_the_means_inside_their_bands() -> None:
    table = few_shot(grid())
    (axes,) = scores.curves(table).figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    for row, band in zip(table.rows, axes.collections, strict=True):
        line = lines[row.head.title]
        assert list(line.get_xdata()) == [100, 1000]
        assert list(line.get_ydata()) == [cell.mean for cell in row.cells]
        (path,) = band.get_paths()
        heights = {round(float(y), 6) for y in path.vertices[:, 1]}
        assert heights == {round((cell.mean or 0) + side * (cell.sd or 0), 6) for cell in row.cells for side in (-1, 1)}


def test_every_seed_has_its_mark() -> None:
    plot = scores.seeds(few_shot(grid()))
    drawn = sorted(float(x) for axes in plot.figure.axes for each in axes.collections for x, _ in each.get_offsets())
    wanted = sorted(value for row in few_shot(grid()).rows for cell in row.cells for value in cell.values.values())
    assert drawn == pytest.approx(wanted)


def test_at_most_six_methods_are_drawn_and_untrained_encoders_are_grey() -> None:
    trained = [record(f"m{place}", values=(float(place),) * 3, size=size) for place in range(9) for size in (100, 1000)]
    untrained = [
        each.model_copy(update={"data_seen": ()})
        for each in (record("mean", resolved="mean()@1", values=(4.5,) * 3, size=size) for size in (100, 1000))
    ]
    table = few_shot([*trained, *untrained])
    plot = scores.curves(table, {"tf-idf": 20.0})
    (axes,) = plot.figure.axes
    lines = {line.get_label(): line.get_color() for line in axes.get_lines()}
    assert list(lines) == ["m3", "m4", "m5", "m6", "m7", "m8", "mean", "tf-idf"]
    assert [name for name, colour in lines.items() if colour == style.REFERENCE] == ["mean", "tf-idf"]
    assert len(set(lines.values())) == 7
    assert "3 are not drawn" in plot.caption
    strips = scores.seeds(table, {"tf-idf": 20.0}).figure.axes
    for panel in strips:
        ticks = panel.get_yticklabels()
        assert {tick.get_text(): tick.get_color() for tick in ticks} == {name: lines[name] for name in list(lines)[:6]}
        assert [line.get_xdata()[0] for line in panel.get_lines() if line.get_color() == style.REFERENCE] == [4.5, 20.0]
    assert [text.get_text() for text in strips[0].texts] == ["mean", "tf-idf"]


def test_the_colour_of_a_method_comes_from_its_name() -> None:
    alone, beside = (style.method_styles(names)["tsdae"] for names in (["tsdae"], ["tsdae", "micse"]))
    assert alone == beside == style.method_styles(["tsdae (denoise@1)"])["tsdae (denoise@1)"]


def test_what_cannot_be_drawn_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadSpec, match=r"'\.svg'"):
        style.check(Path("a.gif"))
    with pytest.raises(BadResults, match="cannot be written"):
        style.save(DRAWN["seeds"](), tmp_path / "none" / "a.png")
    monkeypatch.setattr(style, "find_spec", lambda name: None)
    with pytest.raises(BadResults, match=r"pip install 'cseb\[plots\]'"):
        style.check(Path("a.png"))


def test_runs_without_scores_are_not_drawn(tmp_path: Path) -> None:
    run = record("simcse", 100, 0)
    lost = run.model_copy(update={"scores": tuple(replace(score, value=None) for score in run.scores)})
    stored(tmp_path / "results", lost)
    with pytest.raises(BadResults, match="no run in these records has a score"):
        cseb.plot(tmp_path / "results", out=tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize("kind", ["curves", "seeds"])
def test_the_command_draws_and_prints_a_caption(kind: str, tmp_path: Path) -> None:
    stored(tmp_path, *grid())
    assert "cseb:0.1.0|" in printed("plot", str(tmp_path), "--kind", kind, "--out", str(tmp_path / "a.pdf"))
    assert (tmp_path / "a.pdf").stat().st_size > 1000


def test_an_encoder_before_training_is_no_curve(tmp_path: Path) -> None:
    store = stored(tmp_path)
    standing = record("mean", size=1, corpus="none", dev="", resolved="mean()@1", values=(40.0, 50.0, 60.0))
    for each in (*PAIRED, standing.model_copy(update={"subset": replace(standing.subset, size=0, fraction=1.0)})):
        store.write(each, {})
    assert "untrained" not in printed("plot", str(tmp_path), "--out", str(tmp_path / "a.svg"))


def test_one_seed_has_no_bands_to_speak_of() -> None:
    first = few_shot([record(size=size) for size in (100, 1000)])
    assert "One seed, so no spread is given." in scores.curves(first).caption
    assert "Bands" not in scores.curves(first).caption
    several = [record(size=size, seed=seed) for size in (100, 1000) for seed in (0, 1)]
    assert "Bands: ± one standard deviation." in scores.curves(few_shot(several)).caption
