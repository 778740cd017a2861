"""Tests of one group run in one process, which makes what they share once."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("of-this-file")
def test_groups_are_kept_together(request: pytest.FixtureRequest) -> None:
    """The name behind the @ is what the tests are handed out by; some pairs of pytest and its plug-in leave it out."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not handed out by group")
    assert request.node.nodeid.endswith("@of-this-file")
