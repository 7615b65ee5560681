"""
Tests that need a device's driver and nothing else.

They run on the emulated driver always, and on the system's where ISTHMUS_DRIVER=system asks for it:
one test, two drivers. What it takes a real GPU to tell is in tests/gpu.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import isthmus
from copies import Bytes, PinnedZeros
from fakes.blocked_stream import BlockedStream, BlockStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native
from program import libcuda_replaced

SIZE = 8192
_TESTS = str(Path(__file__).parents[1])
_PATH = os.pathsep.join(filter(None, [_TESTS, os.environ.get("PYTHONPATH")]))
_DRIVERS = ["emulated"] + ["system"] * (os.environ.get("ISTHMUS_DRIVER") == "system")


@pytest.fixture(scope="session", params=_DRIVERS)
def driver_source(request: pytest.FixtureRequest) -> str:
    """Name the driver as Isthmus takes it. Who asks for the system's has it: there is no skip."""
    name: str = request.param
    return name


@pytest.fixture
def default_driver(driver_source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what opens the default driver take the one under test, without a profile."""
    monkeypatch.setenv("ISTHMUS_DRIVER", driver_source)
    monkeypatch.setenv("ISTHMUS_PROFILE", "off")


@pytest.fixture
def driver(driver_source: str) -> _native.Driver:
    return _native.Driver.open(driver_source)


@pytest.fixture
def context(driver: _native.Driver) -> _native.Context:
    return _native.Context(driver, 0)


@pytest.fixture
def environment(driver_source: str) -> dict[str, str]:
    """Let a process of its own open the driver by default, and find what tests share."""
    return {"ISTHMUS_DRIVER": driver_source, "PYTHONPATH": _PATH}


@pytest.fixture(scope="session")
def shared_environment(
    driver_source: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Let a process of its own open the driver, and every library in it that loads libcuda.so.1."""
    replaced = {}
    if driver_source == "emulated":
        replaced = libcuda_replaced(tmp_path_factory.mktemp("libcuda"))
    return {"ISTHMUS_DRIVER": "system", "PYTHONPATH": _PATH} | replaced


@pytest.fixture
def cuda(driver: _native.Driver) -> Iterator[Cuda]:
    opened = Cuda(driver.path)
    yield opened
    opened.end()


@pytest.fixture
def block_stream(cuda: Cuda) -> Iterator[BlockStream]:
    """
    Make streams that stand still, once everything that a test needs has been allocated.

    On a GPU, allocating and freeing may wait for all streams. A test that does so goes on after a
    minute, and fails.
    """
    streams: list[BlockedStream] = []
    rescued: list[BlockedStream] = []

    def rescue() -> None:
        for stream in streams:
            rescued.append(stream)
            stream.go_on()

    timer = threading.Timer(60, rescue)
    timer.daemon = True
    timer.start()

    def make() -> BlockedStream:
        streams.append(BlockedStream(cuda))
        return streams[-1]

    yield make
    timer.cancel()
    for stream in streams:
        stream.end()
    assert not rescued, "something waited for a stream that stood still"


@pytest.fixture
def memory(context: _native.Context) -> _native.DeviceMemory:
    owned = _native.DeviceMemory(context, SIZE)
    owned.write(bytes(SIZE))
    return owned


@pytest.fixture
def array(memory: _native.DeviceMemory) -> CudaArray:
    return CudaArray(memory.pointer, (SIZE,))


@pytest.fixture
def transfers(driver_source: str) -> isthmus.Transfers:
    return isthmus.Transfers(isthmus.Windows(driver_source))


@pytest.fixture
def pinned_zeros(driver: _native.Driver) -> PinnedZeros:
    """Make arrays in pinned memory of the driver under test."""
    pool = _native.PinnedPool(driver, 0)

    def zeros(size: int) -> Bytes:
        block = _native.PinnedBlock(pool, max(1, size))
        array = np.frombuffer(block, np.uint8)[:size]  # type: ignore[call-overload]
        array.fill(0)
        return cast(Bytes, array)

    return zeros


@pytest.fixture(scope="session")
def backend(driver_source: str) -> str:
    """Name the way to map the device's memory; skip a real GPU's without one, with the reasons."""
    reports = isthmus.Windows(driver_source).backends()
    usable = [report.backend for report in reports if report.usable]
    if not usable and driver_source == "system":
        pytest.skip("; ".join(f"{report.backend}: {report.reason}" for report in reports))
    return usable[0]


@pytest.fixture
def windows(driver_source: str, backend: str) -> isthmus.Windows:
    del backend
    return isthmus.Windows(driver_source)


@pytest.fixture
def window(windows: isthmus.Windows, array: CudaArray) -> Iterator[isthmus.Window]:
    with windows.open(array) as opened:
        yield opened
