"""Code that was rewritten and computes the same: followed to the newest, shown, and never assumed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.analysis.comparable import refuse_differences
from cseb.errors import BadResults
from cseb.methods import equal_code, fingerprints
from cseb.methods.equal_code import latest, rows, shown_by
from cseb.records.record import RecordSummary
from cseb.registry import part_names
from tests.factory import record

HEAD = "name,before,after,shown_by\n"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table of its own: trainer a to b to c."""
    held = tmp_path / "equal.csv"
    held.write_text(HEAD + "trainer,a,b,first\ntrainer,b,c,second\n")
    monkeypatch.setattr(equal_code, "TABLE", held)
    clear()
    yield held
    monkeypatch.undo()
    clear()


def clear() -> None:
    rows.cache_clear()
    equal_code._latest.cache_clear()


def test_every_row_names_evidence_and_leads_to_an_end() -> None:
    for row in rows():
        assert row.name in fingerprints.CORE or row.name.startswith("cseb.") or row.name in part_names()
        assert all(re.fullmatch("[0-9a-f]{16}", one) for one in (row.before, row.after))
        assert row.before != row.after
        assert re.search(r"\d+ records? .* again", row.shown_by), "how many records were run again"
    starts = [(row.name, row.before) for row in rows()]
    assert len(set(starts)) == len(starts)
    for row in rows():
        way = [row.before]
        while (row.name, way[-1]) in starts:
            way.append(next(one.after for one in rows() if (one.name, one.before) == (row.name, way[-1])))
            assert len(set(way)) == len(way), "code that leads back to itself"


def test_code_is_followed_to_the_newest(table: Path) -> None:
    assert [latest("trainer", one) for one in "abcd"] == ["c", "c", "c", "d"]
    assert latest("encoder", "a") == "a"
    assert (shown_by("trainer", "a"), shown_by("trainer", "c")) == ("first", "")


def test_records_of_equal_code_are_not_other_records(table: Path) -> None:
    assert fingerprints.changed({"trainer": "a", "encoder": "a"}, {"trainer": "c", "encoder": "a"}) == ()
    assert fingerprints.changed({"trainer": "a"}, {"trainer": "d"}) == ("trainer",)
    assert fingerprints.changed({"encoder": "a"}, {"encoder": "c"}) == ("encoder",)


def test_tables_mix_equal_code_alone(table: Path) -> None:
    one = record()

    def made_by(code: str) -> RecordSummary:
        return one.model_copy(update={"origin": replace(one.origin, code={"trainer": code})})

    assert refuse_differences([made_by("a"), made_by("c")], (), mixed=False) == {}
    with pytest.raises(BadResults, match="differ in the code of trainer: c / d"):
        refuse_differences([made_by("a"), made_by("d")], (), mixed=False)
