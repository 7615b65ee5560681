"""Memory of the emulated device, and copies on it."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Cupy, Torch
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from isthmus import _native
from isthmus.move.windows.opening import Windows

SIZE = 1 << 20


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the emulated driver the default."""
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")


@pytest.fixture
def memory(driver: _native.Driver) -> _native.DeviceMemory:
    owned = _native.DeviceMemory(_native.Context(driver, 0), SIZE)
    owned.write(np.full(SIZE, 0xEE, np.uint8))
    return owned


@pytest.fixture
def transfers() -> isthmus.Transfers:
    return isthmus.Transfers(Windows("emulated"))


@pytest.fixture
def cuda(driver: _native.Driver) -> Iterator[Cuda]:
    opened = Cuda(driver.path)
    yield opened
    opened.end()


@pytest.fixture
def blocked(cuda: Cuda) -> Iterator[BlockedStream]:
    stream = BlockedStream(cuda)
    yield stream
    stream.end()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    made = Torch(exchange=True)
    monkeypatch.setitem(sys.modules, "torch", made.module)
    return made


@pytest.fixture
def old_torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    """Give one from before the exchange API."""
    made = Torch(exchange=False)
    monkeypatch.setitem(sys.modules, "torch", made.module)
    return made


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Cupy:
    made = Cupy()
    monkeypatch.setitem(sys.modules, "cupy", made.module)
    return made
