"""A real device, or a skip that says why there is none."""

import pytest

from isthmus import _native
from isthmus.errors import Unavailable


@pytest.fixture(scope="session")
def driver() -> _native.Driver:
    try:
        opened = _native.Driver.open("system")
    except Unavailable as absence:
        pytest.skip(str(absence))
    if opened.device_count() == 0:
        pytest.skip("the driver shows no device")
    return opened
