"""The site in Chromium: sort, filter, search, follow links, compare, and a phone's width."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cseb
from tests.exchange.test_site import stored
from tests.factory import grid

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    return cseb.site(stored(folder / "results", *grid()), to=folder / "site").index


@pytest.fixture
def page(site: Path) -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 360, "height": 740})
        problems: list[str] = []
        tab.on("console", lambda line: problems.append(line.text) if line.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("requestfailed", lambda request: problems.append(request.url))
        tab.goto(site.as_uri())
        yield tab
        assert problems == []
        browser.close()


def rows(page: Any) -> list[str]:
    return [row.inner_text() for row in page.locator("tbody tr:visible th").all()]


def test_filters_search_and_sorting(page: Any) -> None:
    assert len(rows(page)) == 3  # the methods of the larger size
    page.click("text=Show all")
    assert len(rows(page)) == 6
    page.select_option("[name=size]", "100")
    page.fill("[name=search]", "first")
    assert rows(page) == ["first_last+recipe(steps=0)"]
    page.reload()
    assert rows(page) == ["first_last+recipe(steps=0)"]  # the address keeps the filters
    page.fill("[name=search]", "")
    page.focus("thead button >> nth=0")
    page.keyboard.press("Enter")
    names = rows(page)
    assert names == sorted(names)
    page.keyboard.press("Enter")
    assert rows(page) == names[::-1]


def test_links_lead_from_the_board_to_a_record(page: Any) -> None:
    page.click("tbody tr:visible th a >> nth=0")
    page.click("a[title^=record] >> nth=0")
    assert page.inner_text("h1") == "micse+paraphrase(file='50%_&_#1.txt'), 100 sentences, seed 0"


def test_two_methods_are_compared_by_seed(page: Any) -> None:
    page.goto(page.url.replace("index.html", "compare.html"))
    page.select_option("[name=a]", "simcse")
    page.select_option("[name=b]", "first_last+recipe(steps=0)")
    lines = [row.inner_text().split("\t") for row in page.locator("tbody tr").all()]
    assert [line[2:8] for line in lines] == [
        ["100", "+1.00", "same at all seeds", "60.60", "61.60", "2"],
        ["1,000", "+1.00", "same at all seeds", "62.60", "63.60", "3"],
    ]


@pytest.mark.parametrize("name", ["index.html", "compare.html", "method/simcse.html"])
def test_a_phone_needs_no_sideways_scrolling_of_the_page(page: Any, name: str, site: Path) -> None:
    page.goto((site.parent / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
