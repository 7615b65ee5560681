"""
A real GPU, or a skip that says why there is none.

Here is what takes one: libraries that compute on it, rates, its machine. What any driver has to do
is in tests/device.
"""

from typing import Any

import pytest

import isthmus
from isthmus import _native
from isthmus.errors import Unavailable


@pytest.fixture(scope="session")
def driver() -> _native.Driver:
    try:
        opened = _native.Driver.open("system")
    except Unavailable as absence:
        pytest.skip(str(absence))
    if opened.emulated:
        pytest.skip(f"needs a GPU: {opened.path} is the emulated driver")
    if opened.device_count() == 0:
        pytest.skip("the driver shows no device")
    return opened


@pytest.fixture(scope="session")
def backend(driver: _native.Driver) -> str:
    """Name the backend that works here, or skip with the reason of each."""
    memory = _native.DeviceMemory(_native.Context(driver, 0), 4096)
    try:
        with isthmus.window(memory.pointer, 4096) as window:
            return window.backend
    except isthmus.Unavailable as absence:
        pytest.skip(str(absence))


@pytest.fixture(scope="session")
def torch() -> Any:  # noqa: ANN401 - it need not be installed
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return module
