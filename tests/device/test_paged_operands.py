"""What a paged array's operations take, and what they refuse."""

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from copies import on_host
from isthmus.errors import UsageError
from program import run_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]


def test_one_index_gives_one_item_and_one_value_is_written() -> None:
    host = np.arange(1000, dtype=np.float32)
    with isthmus.PagedArray(host) as array:
        found = array.gather(np.int64(7))
        assert found.shape == ()
        assert float(on_host(found)) == 7
        array.write(9.0, 5)  # type: ignore[arg-type]
    assert host[5] == 9


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([2**70], "indices are int32, int64 or uint64, not object"),
        (None, "indices are int32, int64 or uint64, not object"),
        (np.array([1], ">i8"), "indices are int32, int64 or uint64, not >i8"),
        ([[1, 2], [3]], "indices can't be made one array"),
        (np.ma.array([1, 2], mask=[False, True]), "indices are a masked array"),
    ],
)
def test_what_is_no_index_is_refused(indices: Any, message: str) -> None:  # noqa: ANN401
    with (
        isthmus.PagedArray(np.zeros(10, np.float32)) as array,
        pytest.raises(UsageError, match=message),
    ):
        array.gather(indices)


@pytest.mark.parametrize(
    ("dtype", "values", "message"),
    [
        ("int32", [1.5], "values of float64: the paged array has items of int32"),
        ("int32", 2**40, "values can't be made items of int32"),
        ("uint8", [-1], "values can't be made items of uint8"),
        ("float32", [1j], "values of complex128: the paged array has items of float32"),
        ("float32", None, "values of object: the paged array has items of float32"),
        ("float32", [[1, 2], [3]], "values can't be made one array"),
        ("float32", np.ma.array([1.0]), "values are a masked array"),
        ("float32", np.ones(1), "values of float64: the paged array has items of float32"),
    ],
)
def test_values_that_the_items_cannot_have_are_refused_and_nothing_is_stored(
    dtype: str,
    values: Any,  # noqa: ANN401
    message: str,
) -> None:
    host = np.full(10, 3, dtype)
    with isthmus.PagedArray(host) as array:
        with pytest.raises(UsageError, match=message):
            array.scatter([0], values)
        assert array.stats().dirty_units == 0
    assert (host == 3).all()


def test_whole_numbers_become_the_arrays_items() -> None:
    for dtype in ("bool", "uint8", "int16", "float64", "complex64"):
        host = np.zeros(10, dtype)
        with isthmus.PagedArray(host) as array:
            array.scatter([1, 2], [1, 1])
        assert (host != 0).sum() == 2


def test_no_values_are_written_of_any_type() -> None:
    with isthmus.PagedArray(np.zeros(10, np.int32)) as array:
        array.write([])
        array.scatter([], [])
        assert array.stats().dirty_units == 0


def test_odd_ranges_sizes_and_reductions_are_refused() -> None:
    host = np.zeros(1000, np.float32)
    with isthmus.PagedArray(host, np.int64(4096)) as array:  # type: ignore[arg-type]
        assert array.unit_bytes == 4096
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: array.prefetch(5), "ranges are pairs"),  # type: ignore[arg-type]
            (lambda: array.reduce(["sum"]), "no reduction"),  # type: ignore[arg-type]
            (lambda: isthmus.PagedArray(host, device_bytes=-5), "device_bytes is -5"),
            (lambda: isthmus.PagedArray(host, unit=True), "a unit is a size"),
        ]
        for call, message in calls:
            with pytest.raises(UsageError, match=message):
                call()


@pytest.mark.parametrize("budget", [None, 4096])
def test_rows_are_gathered_as_by_numpy_take(budget: int | None) -> None:
    host = np.arange(600 * 7 * 2, dtype=np.int16).reshape(600, 7, 2)
    rows = np.array([[5, 599, 0], [5, 300, 301]], np.uint64)
    with isthmus.PagedArray(host, unit=256, device_bytes=budget) as array:
        assert np.array_equal(on_host(array.gather(rows, axis=0)), np.take(host, rows, axis=0))
        assert np.array_equal(on_host(array.gather(rows)), np.take(host, rows))
        assert np.array_equal(on_host(array.gather(3, axis=0)), host[3])  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="index 600, number 1 of those given, isn't of a row"):
            array.gather([0, 600], axis=0)
        with pytest.raises(UsageError, match="axis=1"):
            array.gather([0], axis=1)  # type: ignore[arg-type]


def test_uint64_indices_are_checked_as_what_they_are() -> None:
    with isthmus.PagedArray(np.arange(10.0)) as array:
        array.scatter(np.array([3], np.uint64), [7.0])
        assert on_host(array.gather(np.array([3, 9], np.uint64))).tolist() == [7, 9]
        with pytest.raises(UsageError, match="index 18446744073709551615, number 1"):
            array.gather(np.array([0, 2**64 - 1], np.uint64))


def test_a_gather_may_fill_an_array_of_the_results_shape_and_type() -> None:
    host = np.arange(20, dtype=np.float32).reshape(10, 2)
    with isthmus.PagedArray(host) as array:
        on_device = isthmus.device_empty((2, 2), np.float32)
        out = np.zeros((2, 2), np.float32)
        targets: list[Any] = [on_device, out]
        for target in targets:
            array.gather([7, 1], axis=0, out=target)
        assert np.array_equal(on_host(on_device), host[[7, 1]])
        assert np.array_equal(out, host[[7, 1]])
        others: list[Any] = [np.zeros((3, 2), np.float32), np.zeros((2, 2), np.float64)]
        for wrong in others:
            with pytest.raises(UsageError):
                array.gather([7, 1], axis=0, out=wrong)
            assert not wrong.any()


class Told:
    """Tells of memory by an array interface."""

    def __init__(self, interface: str, pointer: int, typestr: str) -> None:
        told = {"shape": (4,), "typestr": typestr, "data": (pointer, False), "version": 3}
        setattr(self, interface, told)


@pytest.fixture
def unmapped() -> Iterator[int]:
    """Give the address of a page that nobody can touch, nor map while the test runs."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    size = ctypes.c_size_t(4096)
    private_anonymous = 0x22
    address = libc.mmap(None, size, 0, private_anonymous, -1, ctypes.c_size_t(0))
    yield address
    libc.munmap(ctypes.c_void_p(address), size)


@pytest.mark.parametrize("interface", ["__array_interface__", "__cuda_array_interface__"])
def test_operands_that_are_told_to_lie_where_nothing_is_are_refused(
    interface: str, unmapped: int
) -> None:
    indices: Any = Told(interface, unmapped, "<i8")
    values: Any = Told(interface, unmapped, "<f4")
    with isthmus.PagedArray(np.zeros(10, np.float32)) as array:
        calls: list[Callable[[], object]] = [
            lambda: array.gather(indices),
            lambda: array.scatter(indices, [1, 2, 3, 4]),
            lambda: array.scatter([1, 2, 3, 4], values),
            lambda: array.write(values),
            lambda: array.write(indices),  # to be converted, if on the host
        ]
        for call in calls:
            with pytest.raises(UsageError, match=r"is not memory|know|values of"):
                call()
        assert on_host(array.gather(np.arange(10))).tolist() == [0] * 10


def test_operands_that_end_behind_a_gpus_memory_are_refused() -> None:
    """In a process of its own: its driver has one allocation, behind which nothing is."""
    program = """
import isthmus, numpy
class Told:
    def __init__(self, array, count):
        self.__cuda_array_interface__ = array.__cuda_array_interface__ | {"shape": (count,)}
with isthmus.PagedArray(numpy.zeros(10, numpy.float32)) as array:
    held = isthmus.device_empty(4, "int64")
    isthmus.copy(held, numpy.arange(4))
    try:
        array.gather(Told(held, 1 << 40))
    except isthmus.UsageError as error:
        print("CUDA doesn't know 8796093022208 bytes" in str(error), error)
"""
    outcome = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "emulated"})
    assert outcome.out.startswith("True indices at"), outcome.err


def test_the_statistics_are_one_line_that_names_each_count() -> None:
    with isthmus.PagedArray(np.zeros(1000, np.float32)) as array:
        array.gather([0])
        text = repr(array.stats())
    assert text.startswith("PagedStats(unit_bytes=1024, num_units=")
    assert "fetched_units=1, " in text
    assert text.endswith("file_written_bytes=0)")
    assert "\n" not in text
    assert repr(isthmus.pinned.stats()).startswith("PinnedPoolStats(num_allocations=")


def test_operands_in_another_gpus_memory_are_refused() -> None:
    """In a process of its own, which has two GPUs."""
    program = """
import isthmus, numpy
with isthmus.PagedArray(numpy.zeros(10, numpy.float32)) as array:
    indices = isthmus.device_empty(2, "int64", device=1)
    isthmus.copy(indices, numpy.array([1, 2]))
    try:
        array.gather(indices)
    except isthmus.UsageError as error:
        print(error)
"""
    outcome = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "emulated:two-gpus"})
    assert outcome.out == "indices are on GPU 1, and the paged array on GPU 0\n", outcome.err


def test_a_files_mapping_that_nobody_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items"
    path.write_bytes(bytes(8192))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 8192) as mapped:
        host = np.frombuffer(mapped, np.float32)
        with pytest.raises(UsageError, match=f"a mapping of the file '{path}'"):
            isthmus.PagedArray(host)
        del host


def test_shared_memory_is_taken() -> None:
    block = SharedMemory(create=True, size=8192)
    try:
        host = np.frombuffer(block.buf or b"", np.uint8)
        with isthmus.PagedArray(host) as array:
            array.scatter([5], [7])
        assert host[5] == 7
        del array, host
    finally:
        block.close()
        block.unlink()
