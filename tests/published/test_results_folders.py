"""The results folders of this repository: reported, recomputed from their records, and described by true statements."""

import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from benchmarks import (
    few_labels,
    reading,
    recompute,
    recomputed_scores,
    results_tables,
    steps,
)
from cseb import compare, load, report
from tests.command_line import printed

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
FOLDERS = sorted({str(path.parent.relative_to(RESULTS)) for path in RESULTS.rglob("records*.zip*")})
PAGES = sorted(path for path in RESULTS.rglob("README.md") if "<!--" in path.read_text("utf-8"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_results_folder_is_reported(folder: str) -> None:
    result = printed("report", RESULTS / folder, "--format", "csv")
    assert len(result.splitlines()) > 2


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_benchmark_file_of_a_folder_names_the_sizes_of_its_records(folder: str) -> None:
    frame = load(RESULTS / folder).frame()
    for path in (RESULTS / folder).glob("benchmark-*.yaml"):
        benchmark = yaml.safe_load(path.read_text("utf-8"))
        assert set(frame[frame.benchmark == benchmark["name"]]["size"]) == set(benchmark["sizes"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_trials_behind_every_run_are_archived_with_it(folder: str) -> None:
    results = load(RESULTS / folder)
    trials = {key for record in results.records if record.tuning for key in record.tuning.trials}
    assert trials <= {record.key for record in results.trials}


ARCHIVES = re.compile(r"(\d+) records(?:,| and) (\d+) (?:tuning )?trials")


@pytest.mark.parametrize("page", sorted(RESULTS.rglob("README.md")), ids=lambda page: page.parent.name)
def test_a_page_names_the_archives_of_its_folder_and_counts_their_records(page: Path) -> None:
    text = page.read_text("utf-8")
    named = set(re.findall(r"`((?:records|items)(?:-\d+)?\.zip(?:\.xz)?)`", text))
    assert named <= {path.name for path in page.parent.rglob("*.zip*")}
    for reported, trials in ARCHIVES.findall(text):
        results = load(page.parent)
        runs = sum(record.benchmark != "eval" for record in results.records)
        assert int(reported) in (runs, len(results.records)) and int(trials) == len(results.trials)


def test_every_folder_has_tables_made_by_one_script() -> None:
    assert set(results_tables.TABLES) == set(FOLDERS)
    environment = dict(os.environ)
    assert results_tables.main(["documents", "--check"]) == 0
    assert os.environ == environment
    published = {RESULTS / Path(folder).parts[0] for folder in FOLDERS}  # not what `make demo` writes beside
    sizes = [path.stat().st_size for folder in published for path in folder.rglob("*") if path.is_file()]
    assert 10e6 < sum(sizes) < 20e6


def test_the_figure_of_labels_draws_every_record() -> None:
    values = few_labels.accuracies(RESULTS / "few-labels")
    setfit = values["clinc150", "setfit", "simcse+mean"]
    assert {labels: len(scores) for labels, scores in setfit.items()} == dict.fromkeys((2, 4, 8, 16), 5)
    assert sum(setfit[8]) / 5 == pytest.approx(69.22, abs=0.005)
    assert [len(axes.containers) for axes in few_labels.draw(RESULTS / "few-labels").axes] == [5, 5]


def test_the_page_on_reading_shows_every_encoder() -> None:
    page = (reading.FOLDER / "README.md").read_text("utf-8")
    assert reading.table(reading.FOLDER) in page
    assert reading.tf_idf(reading.encoders(reading.FOLDER)) == pytest.approx(64.99, abs=0.005)
    panels = reading.draw(reading.FOLDER).axes
    assert [len(axes.containers) for axes in panels] == [len(reading.LINES)] * len(reading.SIZES)
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["100", "300", "1,000", "2,000"]


def test_the_page_on_steps_shows_every_method() -> None:
    assert steps.table(RESULTS) in (RESULTS / "steps" / "README.md").read_text("utf-8")
    values = steps.by_steps(RESULTS)
    assert values[320]["tsdae", 10_000][0] == pytest.approx(56.16, abs=0.005)
    assert values[3000]["tsdae", 10_000][0] == pytest.approx(61.75, abs=0.005)
    assert len(steps.draw(RESULTS).axes[0].containers) == len(steps.LINES)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.parent.name)
def test_statements_and_numbers_are_those_of_the_records(page: Path) -> None:
    assert list(recompute.check_statements(page, page.parent)) == []
    assert list(recompute.check_numbers(page, page.parent)) == []


# results/decoder-bidirectional has records of results/decoder and no page of its own.
ANSWERS = sorted({*RESULTS.glob("*/README.md")} - {RESULTS / "decoder-bidirectional" / "README.md"})


@pytest.mark.parametrize("page", ANSWERS, ids=lambda page: page.parent.name)
def test_a_page_answers_in_at_most_five_points_and_a_figure(page: Path) -> None:
    answer = page.read_text("utf-8").partition("\n| ")[0]
    assert 3 <= len(re.findall(r"(?m)^- ", answer)) <= 5
    figures = re.findall(r"(?m)^!\[.+\]\((.+\.svg)\)$", answer)
    assert figures and all((page.parent / figure).is_file() for figure in figures)
    assert len(re.findall(r"(?m)^\| ?---", page.read_text("utf-8").partition("\n## ")[0])) == 1


def tf_idf(size: int) -> float:
    """Return the score of TF-IDF with document frequencies from as many sentences, mean of five draws."""
    frame = load(RESULTS / "tuned" / "tf-idf").frame()
    draws = frame[frame.encoder.str.contains(f"-{size}-")].groupby("encoder").score.mean()
    assert len(draws) == 5
    return float(draws.mean())


@pytest.mark.parametrize("folder", ["tuned", "real", "real-mini"])
def test_tables_show_tf_idf_with_document_frequencies_from_the_same_sentences(folder: str) -> None:
    scores = " | ".join(f"{tf_idf(size):.1f}" for size in (100, 1000, 10_000))
    page = (RESULTS / folder / "README.md").read_text("utf-8")
    assert f"| TF-IDF, IDF from the same sentences | | {scores} |" in page


def test_a_folder_is_recomputed_without_cseb() -> None:
    source = Path(recompute.__file__).read_text("utf-8")
    assert not re.search(r"^\s*(from|import) cseb", source, flags=re.MULTILINE)
    assert recompute.check(RESULTS / "documents") == []


def test_the_guide_says_what_more_seeds_of_the_baseline_brought(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CSEB_DATA_DIR", str(tmp_path))  # without task data, hence for new seeds
    frames = [compare(RESULTS / "tuned", baseline="simcse", unpaired=each).frame() for each in (False, True)]
    pairs, all_seeds = (frame[frame["size"].notna()].set_index(["method", "size"]).conclusion for frame in frames)
    found = (pairs == "inconclusive") & all_seeds.isin(["better", "worse"])
    lost = (pairs == "equivalent") & (all_seeds == "inconclusive")
    guide = " ".join((ROOT / "docs" / "guide" / "statistics.md").read_text("utf-8").split())
    assert f"Of its {len(pairs)} comparisons with SimCSE, {found.sum()} changed from inconclusive" in guide
    gained = (pairs == "inconclusive") & (all_seeds == "equivalent")
    number = ["None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]
    assert f"{number[lost.sum()]} lost their equivalence, and {number[gained.sum()].lower()} others gained it" in guide


def test_a_table_of_one_size_has_all_trials_of_a_choice() -> None:
    """Runs of another size have trials that those of this size lack, because they were planned with a further value."""
    texts = [report(RESULTS / "real", sizes=sizes, detail=True, format="markdown") for sizes in ("", "1000")]
    title = "Dev score by recipe.learning\\_rate, 1,000 sentences"
    below = (text.partition(title)[2].partition("Mean over")[0] for text in texts)
    whole, of_one = (re.findall(r"^\| .*$", text, re.MULTILINE) for text in below)
    assert whole == of_one and len(whole) == 58  # head, line and 56 tuned methods


def test_an_unpaired_comparison_is_recomputed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "results" / "triples"
    shutil.copytree(RESULTS / "triples", folder)
    monkeypatch.setenv("CSEB_DATA_DIR", str(tmp_path))  # without task data, hence for new seeds
    path = folder / "compare.md"
    paired, text = path.read_text("utf-8"), compare(folder, baseline="simcse", unpaired=True).text("markdown")
    path.write_text(text, "utf-8")
    assert list(recompute.check_comparison(path, folder)) == []
    path.write_text(text.replace("Cochran and Cox's t-test of all seeds, ", ""), "utf-8")
    recomputed_scores.is_paired.cache_clear()
    recomputed_scores.against.cache_clear()
    assert len(list(recompute.check_comparison(path, folder))) > 3
    assert text != paired


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("few-shot.md", "59.82 ± 0.09", "59.83 ± 0.09", "59.83 ± 0.09, recomputed 59.82 ± 0.09"),
        ("few-shot.md", "59.54 ± 0.00", "**59.54 ± 0.00**", "bold is True"),
        ("few-shot.md", "| 63.62 |", "| 63.64 |", "1e-05: 63.64, recomputed 63.62"),
        ("few-shot.md", "| 63.62 | **63.80**", "| **63.62** | 63.80", "`declutr-sentence`, 3e-05: bold is False"),
        ("few-shot.csv", "few-shot,", "few-shot,", ""),
        ("compare.md", "| better |", "| worse |", "conclusion worse, recomputed better"),
        ("compare.md", "| +0.47 |", "| +0.74 |", "difference +0.74, recomputed +0.47"),
        ("README.md", "60.01 ± 0.17", "60.01 ± 0.18", "no records give 60.01 ± 0.18"),
        ("README.md", "| SimCSE | 59.54 ± 0.00", "| `simcse+mean` | 59.82 ± 0.09", "no records give 59.82 ± 0.09"),
        ("README.md", "<!-- simcse+mean = mean", "<!-- simcse+mean > mean", "it is equivalent"),
        ("README.md", "<!-- declutr-sentence,declutr > mean; 100,1000,10000 -->", "", "without a comment"),
    ],
)
def test_a_planted_difference_is_found(file: str, before: str, after: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "documents"
    shutil.copytree(RESULTS / "documents", folder)
    path = folder / file
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")
    if file.endswith(".csv"):
        lines = text.splitlines()
        mean = lines[1].split(",")[lines[0].split(",").index("mean")]
        path.write_text(text.replace(mean, str(float(mean) + 1e-6)), "utf-8")
        words = "mean "
    differences = recompute.check(folder)
    assert any(words in difference for difference in differences), differences
