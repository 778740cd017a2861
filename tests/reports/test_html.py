"""The page holds every number with the records behind it, and fetches nothing."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from cseb.reports.cell_text import number
from cseb.reports.documents import Group, score_report
from cseb.reports.formats import FORMATS
from cseb.reports.layouts import ablation, few_shot
from cseb.reports.tables import Table
from tests.factory import grid, record

NASTY = "a</script><img src=x onerror=1>&\"'"


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "line", "path", "polygon", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


def page(table: Table) -> str:
    return FORMATS["html"].write(score_report([Group(tables=[table])], "demo"))


def test_every_number_is_there_with_the_records_behind_it() -> None:
    table = few_shot(grid())
    found = read(page(table))
    cells = [attrs for tag, attrs in found.tags if tag == "button" and "data-keys" in attrs]
    wanted = [cell for row in table.rows for cell in row.cells]
    assert [f"{mean} {spread}" for mean, spread in zip(found.text["b"], found.text["i"], strict=True)] == [
        number(cell) for cell in wanted
    ]
    (text,) = [one for one in found.text["script"] if one.startswith("{")]
    held = json.loads(text)
    assert set(held["records"]) == {one.key for one in grid()}
    for attrs, cell in zip(cells, wanted, strict=True):
        assert attrs["data-keys"] == " ".join(f"{seed}:{key}" for seed, key in cell.keys.items())
        assert all(f"seed {seed}: {value:.2f}" in (attrs["data-tip"] or "") for seed, value in cell.values.items())
    one = grid()[3]
    said = dict(zip(held["fields"], (held["texts"][place] for place in held["records"][one.key]), strict=True))
    assert (said["method"], said["resolved"], said["status"]) == (one.method, one.resolved, "done")
    assert "the loss is not finite" in text


def test_nothing_is_fetched_and_no_name_breaks_out() -> None:
    records = [record(NASTY, seed=seed, corpus=NASTY, failed=NASTY if seed else "") for seed in range(2)]
    text = page(few_shot(records))
    found = read(text)
    assert not [tag for tag, _ in found.tags if tag in ("img", "link", "iframe")]
    assert not [attrs for _, attrs in found.tags if attrs.keys() & {"src", "href", "srcset", "onerror"}]
    assert not re.search(
        r"url\(|@import|fetch\(|XMLHttp|https?://", "".join(found.text["style"] + found.text["script"][1:])
    )
    assert any("default-src 'none'" in (attrs.get("content") or "") for tag, attrs in found.tags if tag == "meta")
    assert len([tag for tag, _ in found.tags if tag == "script"]) == 2


def test_a_difference_to_itself_has_no_number() -> None:
    records = [record(name, seed=seed) for name in ("msse", "msse-dcm") for seed in range(3)]
    found = read(page(ablation(records)))
    assert found.text["b"] == ["60.00", "60.00", "+0.00"]
