"""What a paged array's operations take, and what they refuse."""

import mmap
import sys
from collections.abc import Callable
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
        ([2**70], "indices are int32 or int64, not object"),
        (None, "indices are int32 or int64, not object"),
        (np.array([1], ">i8"), "indices are int32 or int64, not >i8"),
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
