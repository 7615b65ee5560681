"""`isthmus.PagedArray` of a memory-mapped file, on either driver."""

import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from isthmus.errors import UsageError, WriteError
from program import run_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

Array = NDArray[Any]
NUM_ITEMS = 100_003


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "items"
    np.arange(NUM_ITEMS, dtype=np.int32).tofile(path)
    return path


def mapped(path: Path, mode: Any = "r+", **options: Any) -> Array:  # noqa: ANN401 - NumPy's
    return np.memmap(path, np.int32, mode, **options)


def items_in(path: Path) -> list[int]:
    items: list[int] = np.fromfile(path, np.int32).tolist()
    return items


def on_host(array: isthmus.DeviceArray) -> list[Any]:
    back = np.empty(array.shape, array.dtype)
    isthmus.copy(back, array)
    found: list[Any] = back.tolist()
    return found


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let the system refuse to write behind this byte of any file, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, former)


@pytest.mark.parametrize(
    "options",
    [{}, {"unit": "2MiB"}, {"device_bytes": 8192}, {"policy": "read_through"}],
    ids=["whole", "large units", "budget", "in place"],
)
def test_items_of_a_file_are_read_and_stores_reach_it_by_a_flush(
    path: Path, options: dict[str, Any]
) -> None:
    expected = items_in(path)
    with isthmus.PagedArray(mapped(path), **options) as array:
        assert on_host(array.gather([0, 777, NUM_ITEMS - 1])) == [0, 777, NUM_ITEMS - 1]
        array.scatter([3, 50_000], [-1, -2])
        array.write([7, 8, 9], first=NUM_ITEMS - 3)
        assert array.reduce() == sum(expected) - 3 - 50_000 - 3 - 3 * NUM_ITEMS + 6 + 24
        assert items_in(path) == expected
        array.flush()
        expected[3], expected[50_000], expected[-3:] = -1, -2, [7, 8, 9]
        assert items_in(path) == expected
        assert array.stats().dirty_units == 0


def test_what_a_budget_evicts_reaches_the_file(path: Path) -> None:
    with isthmus.PagedArray(mapped(path), "256B", device_bytes=2560) as array:
        for first in range(0, NUM_ITEMS - 1000, 1000):
            array.scatter(np.arange(first, first + 1000), -1)
        assert array.stats().evicted_units > 0
    assert items_in(path) == [-1] * 100_000 + [100_000, 100_001, 100_002]


def test_only_units_that_were_stored_to_are_written_to_the_file(path: Path) -> None:
    with isthmus.PagedArray(mapped(path), "256B") as array:
        array.gather(np.arange(5000))
        array.scatter([0, 1, 640], 5)
        assert array.stats().dirty_units == 2
        with path.open("r+b") as file:  # another program changes an item that nobody stores to
            file.seek(4 * 100)
            file.write(np.int32(-9).tobytes())
        array.flush()
        array.flush()
        stats = array.stats()
        assert (stats.file_read_bytes, stats.file_written_bytes) == (4 * NUM_ITEMS, 512)
    found = items_in(path)
    assert (found[0], found[1], found[100], found[640]) == (5, 5, -9, 5)


@pytest.mark.parametrize("offset", [0, 4, 128, 4096, 4100, 12_345 * 4])
def test_a_part_of_a_file_begins_anywhere_and_its_neighbours_stay(path: Path, offset: int) -> None:
    expected = items_in(path)
    first = offset // 4
    part = mapped(path, offset=offset, shape=(9001,))
    with isthmus.PagedArray(part, "256B") as array:
        assert on_host(array.gather([0, 9000])) == [first, first + 9000]
        array.write(np.full(9001, -1, np.int32))
    expected[first : first + 9001] = [-1] * 9001
    assert items_in(path) == expected


def test_a_slice_of_a_mapping_is_that_part_of_the_file(path: Path) -> None:
    whole = mapped(path, offset=8)
    with isthmus.PagedArray(whole[5000:6000]) as array:
        assert on_host(array.gather([0])) == [5002]
        array.scatter([0], [-5])
    assert items_in(path)[5002] == -5
    with isthmus.PagedArray(np.asarray(whole).reshape(-1, 1)[:100]) as array:
        assert array.shape == (100, 1)
        assert array.stats().file_read_bytes == 400


def test_numpys_own_files_have_their_shape_and_type(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.arange(60_000, dtype=np.float64).reshape(-1, 6))
    with isthmus.PagedArray(np.load(tmp_path / "table.npy", mmap_mode="r+")) as array:
        assert (array.shape, str(array.dtype)) == ((10_000, 6), "float64")
        array.scatter([13], [0.5])
    assert np.load(tmp_path / "table.npy")[2].tolist() == [12, 0.5, 14, 15, 16, 17]


def test_a_file_of_several_pieces_is_read_whole(tmp_path: Path) -> None:
    """Pieces are of 4 MiB; some of them aren't in the page cache."""
    items = np.random.default_rng(1).integers(-9, 9, (9 << 20) + 77, dtype=np.int8)
    items.tofile(tmp_path / "items")
    descriptor = os.open(tmp_path / "items", os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    with isthmus.PagedArray(np.memmap(tmp_path / "items", np.int8, "r", offset=33)) as array:
        found = np.empty(array.shape, np.int8)
        isthmus.copy(found, array.gather(np.arange(array.size)))
    assert np.array_equal(found, items[33:])


def test_the_mapping_sees_what_was_flushed_and_makes_it_durable(path: Path) -> None:
    items = mapped(path)
    with isthmus.PagedArray(items) as array:
        array.scatter([5], [50])
        assert items[5] == 5
        array.flush()
        assert items[5] == 50
        items.flush()  # type: ignore[attr-defined]


def test_what_the_mapping_stores_is_read_when_the_array_is_made_or_invalidated(path: Path) -> None:
    items = mapped(path)
    items[5] = 55
    with isthmus.PagedArray(items, "256B") as array:
        assert on_host(array.gather([5, 500])) == [55, 500]
        items[5], items[500] = 56, 501
        assert on_host(array.gather([5, 500])) == [55, 500]
        array.invalidate([(0, 10)])
        assert on_host(array.gather([5, 500])) == [56, 500]


@pytest.mark.parametrize(
    "options", [{}, {"device_bytes": 1024}, {"policy": "read_through"}], ids=str
)
def test_an_invalidation_loses_no_stores_unless_it_is_told_to(
    path: Path, options: dict[str, Any]
) -> None:
    with isthmus.PagedArray(mapped(path), "256B", **options) as array:
        array.scatter([5, 640], [50, 64])
        with pytest.raises(UsageError, match="1 units in these ranges were stored to"):
            array.invalidate([(0, 10)])
        array.invalidate([(0, 10)], discard=True)
        assert on_host(array.gather([5, 640])) == [5, 64]
    assert items_in(path)[5] == 5
    assert items_in(path)[640] == 64


def test_closing_and_forgetting_to_close_write_the_file(path: Path) -> None:
    array = isthmus.PagedArray(mapped(path))
    array.scatter([5], [50])
    array.close()
    array.close()
    assert items_in(path)[5] == 50
    array = isthmus.PagedArray(mapped(path))
    array.scatter([6], [60])
    del array
    gc.collect()
    assert items_in(path)[6] == 60


def test_after_close_the_pinned_memory_is_free_again(path: Path) -> None:
    before = isthmus.pinned.stats().used_bytes
    array = isthmus.PagedArray(mapped(path))
    assert isthmus.pinned.stats().used_bytes >= before + 4 * NUM_ITEMS
    array.close()
    assert isthmus.pinned.stats().used_bytes == before


def test_a_read_only_file_is_read_and_nothing_is_stored(path: Path) -> None:
    path.chmod(0o400)
    with isthmus.PagedArray(mapped(path, "r")) as array:
        assert on_host(array.gather([1])) == [1]
        stores: list[Callable[[], object]] = [
            lambda: array.scatter([1], [1]),
            lambda: array.write([1]),
            array.flush,
        ]
        for store in stores:
            with pytest.raises(UsageError, match="read-only"):
                store()


def test_a_truncated_file_is_an_error_and_what_was_stored_is_kept(path: Path) -> None:
    """Its mapping would raise SIGBUS: it isn't touched."""
    array = isthmus.PagedArray(mapped(path), "256B")
    array.scatter([5, NUM_ITEMS - 1], [50, -1])
    os.truncate(path, 5000)
    assert on_host(array.gather([NUM_ITEMS - 2, 90_000])) == [NUM_ITEMS - 2, 90_000]
    calls: list[Callable[[], object]] = [
        array.flush,
        lambda: array.invalidate([(0, 10)], discard=True),
        array.close,
    ]
    for call in calls:
        with pytest.raises(UsageError, match=r"become shorter: it has 5000 bytes.*truncate -s"):
            call()
    assert (path.stat().st_size, array.stats().dirty_units) == (5000, 2)
    os.truncate(path, 4 * NUM_ITEMS)
    array.close()
    found = items_in(path)
    assert (found[5], found[1249], found[1250], found[-1]) == (50, 1249, 0, -1)


def test_a_file_that_was_truncated_before_is_refused(path: Path) -> None:
    items = mapped(path)
    os.truncate(path, 4 * NUM_ITEMS - 1)
    with pytest.raises(UsageError, match="has become shorter"):
        isthmus.PagedArray(items)
    os.truncate(path, 0)
    with pytest.raises(UsageError, match="has become empty"):
        isthmus.PagedArray(items)


def test_a_file_that_grows_is_the_same_array(path: Path) -> None:
    with isthmus.PagedArray(mapped(path)) as array:
        with path.open("ab") as file:
            file.write(b"more")
        array.scatter([0], [9])
    assert path.stat().st_size == 4 * NUM_ITEMS + 4
    assert np.fromfile(path, np.int32, 1).tolist() == [9]


@pytest.mark.parametrize("options", [{}, {"policy": "read_through"}], ids=str)
def test_a_full_disk_is_an_error_and_a_later_flush_loses_nothing(
    path: Path, options: dict[str, Any]
) -> None:
    with isthmus.PagedArray(mapped(path), "256B", **options) as array:
        array.scatter([5, 90_000], [50, -1])
        with largest_file(8192):
            with pytest.raises(WriteError, match=r"can't write .*items"):
                array.flush()
            assert array.stats().dirty_units == 1
            array.scatter([6], [60])
            with pytest.raises(WriteError, match="File too large"):
                array.close()
            assert on_host(array.gather([90_000])) == [-1]
        assert items_in(path)[90_000] == 90_000
    found = items_in(path)
    assert (found[5], found[6], found[90_000]) == (50, 60, -1)


def test_an_array_that_is_dropped_while_the_disk_is_full_says_what_is_lost(path: Path) -> None:
    program = f"""
import resource, numpy, isthmus
array = isthmus.PagedArray(numpy.memmap({str(path)!r}, numpy.int32, "r+"))
array.scatter([90_000], [-1])
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
del array
"""
    outcome = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "emulated"})
    assert outcome.code == 0
    assert "what was stored to it may be missing in its file: writing" in outcome.err


def test_a_flush_of_ranges_writes_their_units_to_the_file_and_a_later_one_the_rest(
    path: Path,
) -> None:
    with isthmus.PagedArray(mapped(path), "256B") as array:
        array.scatter([5, 1000, 2000], [50, 60, 70])
        array.flush(ranges=[(1001, 1002)])
        assert items_in(path)[5] == 5
        assert items_in(path)[1000:2001:1000] == [60, 2000]
        assert array.stats().dirty_units == 2
        assert array.stats().file_written_bytes == 256
    assert [items_in(path)[i] for i in (5, 1000, 2000)] == [50, 60, 70]


def test_the_array_of_a_file_is_not_refreshed(path: Path) -> None:
    with (
        isthmus.PagedArray(mapped(path)) as array,
        pytest.raises(
            UsageError, match=r"has memory of its own.*invalidate\(\) reads the file again"
        ),
    ):
        array.refresh()


def test_a_file_is_not_flushed_in_a_stream(path: Path) -> None:
    with isthmus.PagedArray(mapped(path)) as array:
        array.scatter([5], [50])
        with pytest.raises(UsageError, match="the CPU writes the file: call flush"):
            array.flush(stream=0)
        array.flush()
    assert items_in(path)[5] == 50


def test_a_file_whose_name_another_one_has_is_refused(path: Path, tmp_path: Path) -> None:
    items = mapped(path)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"can't open .*items once more"):
        isthmus.PagedArray(items)
    path.write_bytes(bytes(4 * NUM_ITEMS))
    with pytest.raises(UsageError, match=r"isn't of the file .*items"):
        isthmus.PagedArray(items)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UsageError, match="is not a regular file"):
        isthmus.PagedArray(items)


def test_a_file_that_loses_its_name_while_the_array_is_open_is_written(
    path: Path, tmp_path: Path
) -> None:
    with isthmus.PagedArray(mapped(path)) as array:
        path.rename(tmp_path / "elsewhere")
        array.scatter([5], [50])
    assert items_in(tmp_path / "elsewhere")[5] == 50


def test_a_private_mapping_and_a_file_without_a_name_are_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="private mapping"):
        isthmus.PagedArray(mapped(path, "c"))
    descriptor = os.open(path, os.O_RDWR)
    with os.fdopen(descriptor, "r+b") as file, pytest.raises(UsageError, match="has no name"):
        isthmus.PagedArray(np.memmap(file, np.int32, "r+"))


def test_a_path_alone_is_refused_and_the_message_says_how_to_map_it(path: Path) -> None:
    for given in (path, str(path)):
        with pytest.raises(UsageError, match="doesn't say which items") as refused:
            isthmus.PagedArray(given)  # type: ignore[arg-type]
        assert "numpy.memmap(path" in refused.value.hint


def test_an_offset_that_is_not_an_items_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="multiple of its 4 bytes"):
        isthmus.PagedArray(mapped(path, offset=2, shape=(10,)))


def test_a_copy_of_a_mapping_is_an_ordinary_array(path: Path) -> None:
    copied = mapped(path).copy()
    with isthmus.PagedArray(copied) as array:
        array.scatter([5], [50])
    assert copied[5] == 50
    assert items_in(path)[5] == 5


def test_a_file_that_memory_has_no_room_for_is_refused_and_the_message_says_what_to_do(
    tmp_path: Path,
) -> None:
    """A sparse file, larger than any machine's memory."""
    (tmp_path / "items").touch()
    os.truncate(tmp_path / "items", 1 << 43)
    items = np.memmap(tmp_path / "items", np.int8, "r")
    with pytest.raises((isthmus.Unavailable, MemoryError)) as refused:
        isthmus.PagedArray(items)
    assert any("take a part of the array" in note for note in refused.value.__notes__)
