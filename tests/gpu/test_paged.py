"""Paged arrays in kernels of CuPy, on a GPU."""

# ruff: noqa: ANN401 - modules of libraries

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import _native
from isthmus.ground.sizes import parse_sizes
from program import run_process

pytestmark = pytest.mark.gpu

_KERNELS = Path(__file__).with_name("paged_stress.cu")
# Lanes that aren't whole warps, blocks of one lane, more blocks than are resident.
_SHAPES = [(1056, 256), (1000, 96), (333, 1000), (9001, 33), (40_000, 1), (264, 512)]
# A sanitizer makes kernels a hundred times slower.
_ACCESSES = int(os.environ.get("ISTHMUS_PAGED_ACCESSES", str(10**9)))


@pytest.fixture(scope="module")
def cupy(driver: _native.Driver) -> Any:
    del driver
    return pytest.importorskip("cupy")


def compiled(cupy: Any, *options: str) -> Any:
    code = isthmus.paged_header() + _KERNELS.read_text("utf-8")
    return cupy.RawModule(code=code, options=("--std=c++17", *options))


@pytest.fixture(scope="module")
def kernels(cupy: Any) -> Any:
    return compiled(cupy)


@pytest.fixture(scope="module")
def budgeted_kernels(cupy: Any) -> Any:
    return compiled(cupy, "-DISTHMUS_TEST_BUDGETED", "-DISTHMUS_PAGED_COUNTED")


@pytest.fixture(scope="module")
def held_kernels(cupy: Any) -> Any:
    return compiled(cupy, "-DISTHMUS_TEST_HELD")


def filled(cupy: Any, kernels: Any, count: int) -> tuple[Any, Any]:
    """Make the host's items, and the same in the GPU's memory."""
    reference = cupy.empty(count, cupy.uint32)
    kernels.get_function("fill")((1024,), (256,), (reference, np.uint64(count)))
    host = isthmus.pinned.empty(count, np.uint32)
    host[:] = reference.get()
    return host, reference


def stressed(
    cupy: Any,
    kernels: Any,
    array: Any,
    items: tuple[Any, Any],
    least: int,
    *,
    prefetching: bool = False,
) -> int:
    """Load and store at random, at least so often; give the number of launches."""
    host, reference = items
    beside = cupy.cuda.Stream(non_blocking=True)
    wrong = cupy.zeros(1, cupy.uint64)
    random = np.random.default_rng(1)
    num_accesses, turn = 0, 0
    while num_accesses < least:
        blocks, lanes = _SHAPES[turn % len(_SHAPES)]
        rounds = max(1, min(400, _ACCESSES // 20 // (blocks * lanes)))
        arguments = (
            array.argument(),
            reference,
            np.uint64(turn << 40),
            np.uint32(rounds),
            wrong,
        )
        if prefetching:
            array.prefetch(stream=beside)
        kernels.get_function("stress")((blocks,), (lanes,), arguments)
        num_accesses += blocks * lanes * rounds
        turn += 1
        if turn % 2 == 0:
            array.flush()
            assert np.array_equal(host, reference.get())
        if turn % 3 == 0:
            ends = np.sort(random.integers(0, host.size, 40))
            array.flush()
            array.invalidate(list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)))
    assert wrong.get()[0] == 0
    return turn


@pytest.mark.parametrize("budget", ["all", "a quarter", "nothing"])
@pytest.mark.parametrize("unit", ["256B", "1KiB", "64KiB", "2MiB"])
def test_random_loads_and_stores_agree_with_a_plain_array(
    cupy: Any, kernels: Any, budgeted_kernels: Any, unit: str, budget: str
) -> None:
    host, reference = filled(cupy, kernels, 40_000_003 if _ACCESSES > 10**8 else 400_003)
    how: dict[str, dict[str, Any]] = {
        "all": {},
        "a quarter": {"device_bytes": host.nbytes // 4},
        "nothing": {"policy": "read_through"},
    }
    own = kernels if budget == "all" else budgeted_kernels
    with isthmus.PagedArray(host[:], unit, **how[budget]) as array:
        turns = stressed(cupy, own, array, (host, reference), _ACCESSES // 3 + 1)
        stats = array.stats()
        assert (stats.hits > 0) == (budget == "a quarter")
        assert (stats.evicted_units > 0) == (budget == "a quarter" and turns > 1)
    assert np.array_equal(host, reference.get())


@pytest.mark.parametrize("unit", ["256B", "1KiB", "64KiB"])
def test_lanes_that_look_for_nothing_agree_with_a_plain_array_beside_prefetches(
    cupy: Any, held_kernels: Any, unit: str
) -> None:
    host, reference = filled(cupy, held_kernels, 40_000_003 if _ACCESSES > 10**8 else 400_003)
    items = (host, reference)
    with isthmus.PagedArray(host[:], unit) as array:
        stressed(cupy, held_kernels, array, items, _ACCESSES // 6 + 1, prefetching=True)
        num_held = cupy.ndarray((1,), cupy.uint64, held_kernels.get_global("num_held"))
        assert num_held.get()[0] > 0
    assert np.array_equal(host, reference.get())


def sums_of_lanes(host: Any, unit_items: int) -> list[int]:
    """Give what the lanes of `apart` find."""
    expected = []
    for lane in range(32):
        if lane % 3 < 2:
            at = np.arange(64) * unit_items + lane
        else:
            at = (np.arange(0, 64, lane % 2 + 1) ^ lane % 4) * unit_items + lane
        expected.append(int(host[at].sum(dtype=np.uint32)))
    return expected


@pytest.mark.parametrize("unit", ["256B", "4KiB", "16KiB", "2MiB"])
def test_lanes_of_a_warp_that_went_different_ways_wait_for_each_other_without_an_end(
    cupy: Any, kernels: Any, unit: str
) -> None:
    unit_items = parse_sizes(unit)[0] // 4
    host, _ = filled(cupy, kernels, max(1 << 20, 64 * unit_items))
    expected = sums_of_lanes(host, unit_items)
    found = cupy.zeros(32, cupy.uint32)
    with isthmus.PagedArray(host, unit) as array:
        for _ in range(200 if unit_items < 1 << 16 else 20):
            arguments = (array.argument(), np.uint64(unit_items), found)
            kernels.get_function("apart")((1,), (32,), arguments)
            assert found.get().tolist() == expected
            array.invalidate(discard=True)


@pytest.mark.parametrize("length", [1, 100, 257, 70_000])
@pytest.mark.parametrize("shared", [False, True])
def test_spans_of_lanes_and_of_warps_are_whole(
    cupy: Any, kernels: Any, length: int, *, shared: bool
) -> None:
    host, _ = filled(cupy, kernels, 1_000_001)
    total = cupy.zeros(1, cupy.uint64)
    lanes = 96
    num_spans = -(-host.size // length)
    blocks = num_spans if shared else -(-num_spans // lanes)
    for unit in ("256B", "1KiB", "64KiB"):
        with isthmus.PagedArray(host[1:], unit) as array:
            total[:] = 0
            arguments = (array.argument(), np.uint64(length), np.uint32(shared), total)
            kernels.get_function("spans")((blocks,), (lanes,), arguments)
            assert total.get()[0] == host[1:].sum(dtype=np.uint64)


def test_lanes_that_went_different_ways_share_few_frames_without_an_end(
    cupy: Any, kernels: Any, budgeted_kernels: Any
) -> None:
    host, _ = filled(cupy, kernels, 1 << 20)
    found = cupy.zeros(32, cupy.uint32)
    expected = sums_of_lanes(host, 64)
    with isthmus.PagedArray(host, "256B", device_bytes=4096) as array:
        for _ in range(200):
            arguments = (array.argument(), np.uint64(64), found)
            budgeted_kernels.get_function("apart")((1,), (32,), arguments)
            assert found.get().tolist() == expected
        assert array.stats().evicted_units > 0


@pytest.mark.parametrize("shared", [False, True])
def test_spans_of_more_than_the_budget_are_whole(
    cupy: Any, kernels: Any, budgeted_kernels: Any, *, shared: bool
) -> None:
    host, _ = filled(cupy, kernels, 1_000_001)
    total = cupy.zeros(1, cupy.uint64)
    with isthmus.PagedArray(host[1:], "1KiB", device_bytes="1MiB") as array:
        for _ in range(3):
            total[:] = 0
            arguments = (array.argument(), np.uint64(1000), np.uint32(shared), total)
            blocks = 1001 if shared else 11
            budgeted_kernels.get_function("spans")((blocks,), (96,), arguments)
            assert total.get()[0] == host[1:].sum(dtype=np.uint64)


def test_a_budgeted_array_in_a_graph_stores_again(cupy: Any, budgeted_kernels: Any) -> None:
    host = isthmus.pinned.zeros(100_000, np.uint32)
    stream = cupy.cuda.Stream(non_blocking=True)
    add_one = budgeted_kernels.get_function("add_one")
    with isthmus.PagedArray(host, device_bytes=100_000) as array, stream:
        add_one((391,), (256,), (array.argument(stream),))
        stream.synchronize()
        stream.begin_capture()
        add_one((391,), (256,), (array.argument(stream),))
        array.flush(stream)
        graph = stream.end_capture()
        for launches in (1, 2, 3):
            graph.launch(stream)
            stream.synchronize()
            assert host.tolist() == [launches + 1] * host.size


def test_a_graph_that_is_launched_again_stores_again(cupy: Any, kernels: Any) -> None:
    host = isthmus.pinned.zeros(100_000, np.uint32)
    stream = cupy.cuda.Stream(non_blocking=True)
    with isthmus.PagedArray(host) as array, stream:
        kernels.get_function("add_one")((391,), (256,), (array.argument(stream),))
        stream.synchronize()
        stream.begin_capture()
        array.prefetch([(0, 500)], stream)
        kernels.get_function("add_one")((391,), (256,), (array.argument(stream),))
        array.flush(stream)
        graph = stream.end_capture()
        for launches in (1, 2, 3):
            graph.launch(stream)
            stream.synchronize()
            assert host.tolist() == [launches + 1] * host.size
            array.invalidate()


def test_a_kernel_that_runs_already_is_told_when_a_prefetch_has_brought_all(
    cupy: Any, held_kernels: Any
) -> None:
    host, reference = filled(cupy, held_kernels, 5_000_001)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    waited = cupy.zeros(2, cupy.uint64)
    cupy.cuda.Device().synchronize()
    with isthmus.PagedArray(host) as array:
        array.argument(streams[1])  # makes what the stream needs, which waits
        arguments = (array.argument(streams[0]), reference, waited)
        held_kernels.get_function("wait_until_held")((1,), (96,), arguments, stream=streams[0])
        array.prefetch(stream=streams[1])
        for stream in streams:
            stream.synchronize()
        num_told, num_wrong = waited.get().tolist()
        assert (num_told, num_wrong) == (96, 0)
        array.invalidate([(7, 8)])
        arguments = (array.argument(streams[0]), reference, waited)
        held_kernels.get_function("wait_until_held")((1,), (96,), arguments, stream=streams[0])
        streams[0].synchronize()
        assert waited.get().tolist() == [96, 0]  # nobody more


def test_kernels_of_two_streams_use_one_array_at_once(cupy: Any, kernels: Any) -> None:
    host, reference = filled(cupy, kernels, 3_000_001)
    total = [cupy.zeros(1, cupy.uint64) for _ in range(2)]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    cupy.cuda.Device().synchronize()
    with isthmus.PagedArray(host, "4KiB") as array:
        for stream, own in zip(streams, total, strict=True):
            with stream:
                arguments = (array.argument(stream), np.uint64(1000), np.uint32(1), own)
                kernels.get_function("spans")((3001,), (64,), arguments)
        for stream in streams:
            stream.synchronize()
        stats = array.stats()
        assert stats.fetched_units == stats.num_units
        # All is held now, and the kernel looks at no unit.
        with streams[0]:
            arguments = (array.argument(streams[0]), np.uint64(1000), np.uint32(1), total[0])
            kernels.get_function("spans")((3001,), (64,), arguments)
        streams[0].synchronize()
        assert total[0].get()[0] == 2 * int(host.sum(dtype=np.uint64))
        total[0] //= 2
    assert [own.get()[0] for own in total] == [int(host.sum(dtype=np.uint64))] * 2
    assert np.array_equal(host, reference.get())


def test_a_checked_build_ends_the_kernel_and_names_index_and_array(cupy: Any) -> None:
    del cupy
    program = f"""
import cupy, isthmus, numpy
code = "#define ISTHMUS_PAGED_CHECKED\\n" + isthmus.paged_header()
code += open({str(_KERNELS)!r}).read()
kernel = cupy.RawModule(code=code, options=("--std=c++17",)).get_function("load_one")
array = isthmus.PagedArray(numpy.arange(1000, dtype=numpy.uint32))
found = cupy.zeros(1, cupy.uint32)
kernel((1,), (1,), (array.argument(), numpy.uint64(999), found))
print("in range:", found.get()[0], flush=True)
kernel((1,), (1,), (array.argument(), numpy.uint64(1000), found))
cupy.cuda.Device().synchronize()
"""
    done = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "system"})
    assert done.code != 0
    assert "in range: 999" in done.out
    assert "index 1000 is out of range: paged array 1 has 1000 items" in done.out


# Numba warns of what it uses of NumPy.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("how", ["units", "budgeted"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_kernels_of_numba_load_and_store_items(
    driver: _native.Driver, dtype: str, how: str
) -> None:
    del driver
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
        cuda = importlib.import_module("numba.cuda")
    except (ImportError, AttributeError) as error:  # with a NumPy that it is too old for
        pytest.skip(f"no numba-cuda that works: {error}")
    host = isthmus.pinned.empty(100_003, dtype)
    host[:] = np.arange(host.size) % 100
    wanted = host * 2
    options: dict[str, dict[str, Any]] = {
        "units": {},
        "budgeted": {"device_bytes": host.nbytes // 4 // 1024 * 1024},
    }
    with isthmus.PagedArray(host, **options[how]) as array:
        load, store = isthmus.numba.paged_access(array)

        @cuda.jit  # type: ignore[untyped-decorator]
        def doubled(pages: Any, count: int) -> None:
            for i in range(cuda.grid(1), count, cuda.gridsize(1)):
                store(pages, i, load(pages, i) * 2)

        doubled[256, 96](np.uint64(array.argument()), host.size)
        cuda.synchronize()
        array.flush()
    assert np.array_equal(host, wanted)
