"""A simulated disk."""

import sys
from pathlib import Path

import pytest

from fakes.disk import Disk
from fakes.writers import VL_CONVERT


@pytest.fixture(autouse=True)
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", VL_CONVERT)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Record what is written below a folder that is empty at first."""
    root = tmp_path / "disk"
    root.mkdir()
    made = Disk(root)
    made.install(monkeypatch)
    made.begin()
    return made
