"""How tests are handed out: those of one group to one process, which makes what they share once; by short names."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("of-this-file")
def test_groups_are_kept_together(request: pytest.FixtureRequest) -> None:
    """The name behind the @ is what the tests are handed out by; some pairs of pytest and its plug-in leave it out."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not handed out by group")
    assert request.node.nodeid.endswith("@of-this-file")


@pytest.mark.parametrize("text", ["x" * 1_000_000, b"y" * 1_000_000])
def test_names_of_tests_are_short(request: pytest.FixtureRequest, text: str | bytes) -> None:
    assert len(text) == 1_000_000
    assert len(request.node.nodeid) < 200
