"""What is written through a window is in device memory, and what is there is read."""

import array
import random

import numpy as np
import pytest

import isthmus
from fakes.device_arrays import CudaArray
from isthmus import _native

pytestmark = pytest.mark.native

SIZE = 8192
LONG = 1 << 20


def test_bytes_written_through_a_window_are_what_the_driver_copies_back(
    window: isthmus.Window, memory: _native.DeviceMemory
) -> None:
    window.write(b"four", 100)
    assert memory.read(6, 99) == b"\0four\0"


def test_a_window_reads_what_the_driver_copied_there(
    window: isthmus.Window, memory: _native.DeviceMemory
) -> None:
    memory.write(b"some bytes", 4090)
    assert window.read(10, 4090) == b"some bytes"


def test_without_a_size_everything_from_the_offset_on_is_read(
    window: isthmus.Window, memory: _native.DeviceMemory
) -> None:
    memory.write(b"the end", SIZE - 7)
    assert window.read(offset=SIZE - 7) == b"the end"
    assert len(window.read()) == SIZE


def test_a_buffer_is_filled_from_the_device(
    window: isthmus.Window, memory: _native.DeviceMemory
) -> None:
    memory.write(bytes(range(16)), 32)
    into = np.zeros(4, np.uint32)
    window.read_into(into, 32)
    assert into.tobytes() == bytes(range(16))


def test_posted_bytes_have_arrived_after_the_fence(
    window: isthmus.Window, memory: _native.DeviceMemory
) -> None:
    window.post(b"a", 0)
    window.post(b"b", 1)
    window.fence()
    assert memory.read(2) == b"ab"


@pytest.mark.parametrize(
    "data",
    [
        bytearray(b"12345678"),
        memoryview(b"12345678"),
        memoryview(b"0123456789")[1:9],
        array.array("I", [1, 2]),
        np.arange(8, dtype=np.uint8).reshape(2, 4),
        np.float64(0.5),
    ],
    ids=lambda data: type(data).__name__,
)
def test_everything_with_contiguous_bytes_can_be_written(
    window: isthmus.Window, memory: _native.DeviceMemory, data: bytes
) -> None:
    window.write(data, 5)
    assert memory.read(8, 5) == bytes(data)


def test_zero_bytes_may_be_written_and_read_up_to_the_very_end(window: isthmus.Window) -> None:
    window.write(b"", SIZE)
    assert window.read(0, SIZE) == b""


def test_ten_thousand_random_writes_and_reads_agree_with_a_model(
    windows: isthmus.Windows, context: _native.Context
) -> None:
    chance = random.Random(3)  # noqa: S311 - reproducible on purpose
    memory = _native.DeviceMemory(context, LONG)
    model = bytearray(chance.randbytes(LONG))
    memory.write(model)
    with windows.open(memory.pointer, LONG) as window:
        for step in range(10_000):
            offset = chance.randrange(LONG)
            size = min(chance.choice([1, 3, 4, 8, 63, 64, 65, 1000, 4096, 70_000]), LONG - offset)
            data = chance.randbytes(size)
            window.write(data, offset)
            model[offset : offset + size] = data
            start = chance.randrange(LONG)
            length = min(5000 if step % 100 == 0 else 77, LONG - start)
            assert window.read(length, start) == model[start : start + length]
    assert memory.read() == model


def test_a_part_of_an_array_at_an_odd_place_is_only_that_part(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    model = bytearray(SIZE)
    chance = random.Random(2)  # noqa: S311 - reproducible on purpose
    for _ in range(200):
        first = chance.randrange(SIZE - 1)
        last = chance.randrange(first + 1, SIZE)
        data = chance.randbytes(last - first)
        with windows.open(CudaArray(memory.pointer + first, (last - first,))) as window:
            assert window.nbytes == last - first
            window.write(data)
        model[first:last] = data
    assert memory.read() == model


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_long_copies_arrive_whole_with_any_number_of_threads(
    windows: isthmus.Windows, context: _native.Context, threads: int
) -> None:
    memory = _native.DeviceMemory(context, LONG)
    data = random.Random(4).randbytes(LONG - 5)  # noqa: S311 - reproducible on purpose
    with windows.open(CudaArray(memory.pointer, (LONG,)), threads=threads) as window:
        window.write(data, 3)
        assert memory.read(len(data), 3) == data
        assert window.read(len(data), 3) == data
        into = bytearray(len(data))
        window.read_into(into, 3)
        assert into == data


@pytest.mark.parametrize(
    ("offset", "size"), [(SIZE - 3, 4), (SIZE + 1, 0), (0, SIZE + 1), (1 << 62, 1)]
)
def test_bytes_outside_the_window_are_refused_and_nothing_is_written(
    window: isthmus.Window, memory: _native.DeviceMemory, offset: int, size: int
) -> None:
    with pytest.raises(isthmus.UsageError, match="not inside"):
        window.write(b"x" * size, offset)
    with pytest.raises(isthmus.UsageError, match="not inside"):
        window.post(b"x" * size, offset)
    with pytest.raises(isthmus.UsageError, match="not inside"):
        window.read(size, offset)
    with pytest.raises(isthmus.UsageError, match="not inside"):
        window.read_into(bytearray(size), offset)
    assert memory.read() == bytes(SIZE)


def test_a_size_that_no_memory_could_hold_is_refused_as_any_other(window: isthmus.Window) -> None:
    with pytest.raises(isthmus.UsageError, match="not inside"):
        window.read(1 << 60)


def test_negative_offsets_and_sizes_are_refused(window: isthmus.Window) -> None:
    with pytest.raises(isthmus.UsageError, match="offset -1 is negative"):
        window.write(b"x", -1)
    with pytest.raises(isthmus.UsageError, match="-2 bytes"):
        window.read(-2)


@pytest.mark.parametrize("wrong", ["x", None, 1.5])
def test_an_offset_that_is_no_integer_is_refused(window: isthmus.Window, wrong: object) -> None:
    refused = pytest.raises(
        TypeError, match=rf"the offset in bytes must be an integer, not {wrong!r}"
    )
    for use in (window.write, window.post, window.read_into):
        with refused:
            use(bytearray(1), wrong)  # type: ignore[arg-type]
    with refused:
        window.read(1, wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the number of bytes must be an integer, not 'x'"):
        window.read("x")  # type: ignore[arg-type]


def test_data_without_bytes_is_refused_with_what_would_do(window: isthmus.Window) -> None:
    with pytest.raises(TypeError, match="NumPy array is needed, not 'int'"):
        window.write(5)  # type: ignore[arg-type]


def test_data_with_gaps_is_refused(window: isthmus.Window) -> None:
    with pytest.raises(isthmus.UsageError, match="C-contiguous"):
        window.write(np.zeros((4, 4))[:, :2])


def test_what_can_not_be_written_to_can_not_be_read_into(window: isthmus.Window) -> None:
    with pytest.raises(isthmus.UsageError, match="writable"):
        window.read_into(b"1234")


def test_a_read_only_array_makes_a_window_that_only_reads(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    with windows.open(CudaArray(memory.pointer, (SIZE,), data=(memory.pointer, True))) as window:
        assert window.read_only
        assert window.read(1) == b"\0"
        with pytest.raises(isthmus.UsageError, match="read-only"):
            window.write(b"x")
        with pytest.raises(isthmus.UsageError, match="read-only"):
            window.post(b"x")
    assert memory.read(1) == b"\0"
