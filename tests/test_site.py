"""The built site needs no network: `make docs` builds it and runs this."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
# What a browser fetches by itself; a link that a reader may follow is something else.
FETCHED = re.compile(r"<(?:script|img|iframe|source|embed)\b[^>]*\bsrc=\"(?P<src>[^\"]+)\"|<link\b(?P<link>[^>]*)>")
SHEET = re.compile(r"url\(\s*['\"]?(?P<url>[^'\")]+)|@import\s+['\"](?P<sheet>[^'\"]+)")

pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="make docs builds the site first")


def fetched(text: str) -> list[str]:
    """Addresses that a page loads by itself."""
    results = []
    for match in FETCHED.finditer(text):
        if match["src"]:
            results.append(match["src"])
        elif not re.search(r"rel=\"(?:canonical|next|prev|index|search|author|copyright)\"", match["link"]):
            results += re.findall(r"href=\"([^\"]+)\"", match["link"])
    return results


def outside(address: str) -> bool:
    return address.startswith(("http:", "https:", "//"))


def test_no_page_loads_anything_from_elsewhere() -> None:
    pages = list(SITE.rglob("*.html"))
    assert len(pages) > 30
    wrong = [(page.name, each) for page in pages for each in fetched(page.read_text("utf-8")) if outside(each)]
    assert not wrong


def test_no_style_sheet_loads_anything_from_elsewhere() -> None:
    sheets = list(SITE.rglob("*.css"))
    assert sheets
    content = [
        (sheet.name, each) for sheet in sheets for pair in SHEET.findall(sheet.read_text("utf-8")) for each in pair
    ]
    assert not [(name, each) for name, each in content if outside(each)]


def test_what_pages_load_is_there() -> None:
    for page in SITE.rglob("*.html"):
        for address in fetched(page.read_text("utf-8")):
            assert address.startswith("data:") or (page.parent / re.split("[?#]", address)[0]).exists(), (page, address)


def test_the_search_finds_words_without_a_server() -> None:
    index = (SITE / "searchindex.js").read_text("utf-8")
    assert index.startswith("Search.setIndex(")  # loaded as a script, so that file:// works too
    for word in ("checkpoint", "holm", "slurm", "pooler"):
        assert word[:5] in index
    assert "guide/statistics" in index


def test_assistants_find_the_skill_and_every_page() -> None:
    text = (SITE / "llms.txt").read_text("utf-8")
    assert text.startswith("# cseb\n\n> cseb is a benchmark of low-shot sentence embeddings.")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert {"SKILL.md", "quickstart.html", "guide/python.html", "extending/term.html"} <= set(links)
    assert not [link for link in links if not (SITE / link).exists()]
    assert (SITE / "SKILL.md").read_text("utf-8").startswith("---\nname: cseb\ndescription: ")
