"""`compare --mixed`: what a table must not mix silently is mixed when asked, and the page says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import cseb
from cseb.errors import BadResults
from cseb.records.store import Store
from tests.factory import record


def test_versions_are_mixed_when_asked_and_the_page_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    for seed in range(3):
        store.write(record("simcse", seed=seed, values=(70.0 + seed, 60.0, 50.0)), {})
        store.write(
            record("micse", seed=seed, values=(72.0 + 2 * seed, 61.0, 50.0), torch="2.8.0" if seed else "2.7.0"), {}
        )
    with pytest.raises(BadResults, match="`mixed`"):
        cseb.compare(tmp_path, baseline="simcse")
    assert "Mixed (--mixed): version of torch" in str(cseb.compare(tmp_path, baseline="simcse", mixed=True))
