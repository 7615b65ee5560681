"""The emulated device, for tests that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # most tests here do without the native module
    from isthmus import _native


@pytest.fixture
def driver() -> _native.Driver:
    from isthmus import _native

    return _native.Driver.open("emulated")


@pytest.fixture
def context(driver: _native.Driver) -> _native.Context:
    from isthmus import _native

    return _native.Context(driver, 0)
