"""Memory that exists already, pinned by a real driver."""

from collections.abc import Iterator
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import _native, pinned

pytestmark = pytest.mark.gpu

SIZE = (8 << 20) + 5


@pytest.fixture
def shared(driver: _native.Driver) -> Iterator[shared_memory.SharedMemory]:
    del driver
    memory = shared_memory.SharedMemory(create=True, size=SIZE)
    yield memory
    memory.close()
    memory.unlink()


def require_copied(array: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
    device, back = isthmus.device_empty(array.size, "u1"), np.zeros(array.size, "u1")
    with pinned.register(array):
        assert isthmus.explain(device, array).source == "pinned"
        future = isthmus.copy_async(device, array, source_order="stream")
    assert future.done()
    assert isthmus.explain(device, array).source == "pageable"
    isthmus.copy(back, device)
    assert np.array_equal(back, array)


def test_shared_memory_is_pinned_in_the_block(shared: shared_memory.SharedMemory) -> None:
    array = np.frombuffer(shared.buf or b"", "u1", SIZE)
    array[:] = np.arange(SIZE) % 251
    require_copied(array)
    require_copied(array[1:-1])
    del array


def test_a_mapped_file_is_pinned_if_the_array_is_read_only(
    driver: _native.Driver, tmp_path: Path
) -> None:
    del driver
    (np.arange(SIZE) % 251).astype("u1").tofile(tmp_path / "file")
    require_copied(np.memmap(tmp_path / "file", mode="r"))
    require_copied(np.memmap(tmp_path / "file", mode="c"))
    try:
        require_copied(np.memmap(tmp_path / "file", mode="r+"))
    except isthmus.Unavailable as refusal:  # not in the memory's own file system
        assert "mode='r'" in str(refusal)  # noqa: PT017 - both are right
