"""The site of results: what its pages contain, where their links lead, and what is left out."""

import csv
import re
from pathlib import Path

import pytest

import cseb
from cseb.errors import BadResults
from cseb.exchange.site import board, slug, task_group
from cseb.records.record import Record
from cseb.records.store import Store
from tests.command_line import call
from tests.factory import grid, record
from tests.test_site import fetched, outside

HOSTILE = "simcse+paraphrase(file='<script>alert(1)</script>.txt')"


def stored(folder: Path, *records: Record) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    store = Store(folder)
    store.prepare()
    for run in records:
        store.write(run, {})
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    stored(folder / "results" / "first", *grid())
    stored(folder / "results" / "more" / "second", record(HOSTILE, encoder="other/<b>"), record("ct", seed=1))
    written = cseb.site(folder / "results", to=folder / "site")
    assert written.pages == len(list((folder / "site").rglob("*.html")))
    return folder / "site"


def test_the_board_ranks_methods_of_one_encoder_and_size() -> None:
    noise = {"simcse": (0.0, 0.3, 0.1, 0.2), "ct": (0.2, 0.1, 0.0, 0.3), "micse": (0.1, 0.1, 0.3, 0.0)}
    level = {"simcse": 50.0, "ct": 50.0, "micse": 60.0}
    records = [
        record(method, seed=seed, values=[level[method] + error] * 3)
        for method, errors in noise.items()
        for seed, error in enumerate(errors)
    ]
    rows, notes = board([*records, record("failing", failed="no")], "first")
    assert notes == []
    assert {row.method: row.rank for row in rows} == {"micse": (1, 1), "simcse": (2, 3), "ct": (2, 3), "failing": None}
    best = rows[0]
    assert (best.method, best.of, best.encoder.split("@")[0], best.tasks) == ("micse", 3, "bert", "sts12, sts13, sickr")
    assert (best.cell.n, best.place["size"], best.varies) == (4, 100, True)
    assert task_group([f"{name}@1" for name in ("sickr", "sts12", "sts13", "sts14", "sts15", "sts16", "stsb")]) == "sts"


def test_records_that_differ_are_on_the_board_with_a_note() -> None:
    rows, notes = board([record(), record(seed=1, torch="2.8.0")], "x")
    assert len(rows) == 1
    assert notes == ["x, bert@" + rows[0].encoder.split("@")[1] + ": records differ in version of torch: 2.7.0 / 2.8.0"]


def test_every_link_leads_to_a_page_and_nothing_is_fetched(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    for page in pages:
        text = page.read_text("utf-8")
        links = re.findall(r'href="([^"#]+)', text)
        assert links
        assert not [link for link in links if outside(link) or not (page.parent / link).exists()], page
        assert not [address for address in fetched(text) if outside(address)]
        assert "default-src 'none'" in text
    assert "url(" not in (site / "style.css").read_text("utf-8")


def test_names_are_text_and_never_markup(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert "<script>alert" not in text
        assert "<b>@" not in text
    assert "&lt;script&gt;alert(1)" in (site / "index.html").read_text("utf-8")


def test_a_record_has_its_origin_and_its_method(site: Path) -> None:
    run = record("ct", seed=1)
    text = (site / "record" / f"{run.key}.html").read_text("utf-8")
    assert "<h1>ct, 100 sentences, seed 1</h1>" in text
    assert run.subset.sha256 in text
    assert 'href="../method/ct.html"' in text
    assert "results folder <b>more/second</b>" in text


def test_the_download_has_the_numbers_of_the_board(site: Path) -> None:
    with (site / "board.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    (line,) = [line for line in lines if line["method"] == "ct"]
    assert (line["mean"], line["seeds"], line["values"]) == ("60.0", "1", "1:60.0")
    assert len(lines) == (site / "index.html").read_text("utf-8").count("<tr data-folder")


def test_slugs_are_distinct_file_names() -> None:
    names = ["simcse", "SimCSE", "simcse+ami", "simcse-ami", "../../etc/passwd", "x" * 300, "+"]
    slugs = [slug(name) for name in names]
    assert slugs[0] == "simcse"
    assert len(set(slugs)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,70}", each) for each in slugs)


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", record())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    for to, message in (("full", "full is not empty; name a new folder"), ("full/file/x", "cannot be written")):
        result = call("site", str(folder), "--to", str(tmp_path / to))
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.output
        assert message in result.stderr
    with pytest.raises(BadResults, match="have no records; name a folder of records"):
        cseb.site(tmp_path / "full", to=tmp_path / "new")
    result = call("site", str(folder), "--to", str(tmp_path / "new"))
    assert result.stdout == f"5 pages; open {tmp_path / 'new' / 'index.html'}\n"
