"""Memory of the emulated device, and windows on it."""

from collections.abc import Iterator

import pytest

import isthmus
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native

SIZE = 8192


@pytest.fixture
def memory(context: _native.Context) -> _native.DeviceMemory:
    owned = _native.DeviceMemory(context, SIZE)
    owned.write(bytes(SIZE))
    return owned


@pytest.fixture
def array(memory: _native.DeviceMemory) -> CudaArray:
    return CudaArray(memory.pointer, (SIZE,))


@pytest.fixture
def windows() -> isthmus.Windows:
    return isthmus.Windows("emulated")


@pytest.fixture
def window(windows: isthmus.Windows, array: CudaArray) -> Iterator[isthmus.Window]:
    with windows.open(array) as opened:
        yield opened


@pytest.fixture
def cuda(driver: _native.Driver) -> Iterator[Cuda]:
    opened = Cuda(driver.path)
    yield opened
    opened.end()
