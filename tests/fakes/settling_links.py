"""Links that are read without the wait that real ones need."""

import pytest


@pytest.fixture(autouse=True)
def links_that_settle_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the emulated link after a moment of load: nothing about it changes later."""
    monkeypatch.setattr("isthmus.measure.machine.link._SETTLE_SECONDS", 0.01)
