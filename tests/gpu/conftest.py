"""
A real GPU, or a skip that says why there is none.

Here is what takes one: libraries that compute on it, rates, its machine. What any driver has to do
is in tests/device.
"""

from typing import Any

import pytest

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
def torch() -> Any:  # noqa: ANN401 - it need not be installed
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return module
