"""Copies and windows on all kinds of memory on a real GPU. Skipped where there is none."""

import ctypes
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import isthmus
from fakes.cuda_calls import Cuda
from fakes.device_allocators import ALLOCATORS
from isthmus import _native
from isthmus.measure.bench.tests.managed import MANAGED_TESTS
from isthmus.measure.bench.tests.memory_kinds import MEMORY_KIND_TESTS
from program import PROGRAM, run_process

pytestmark = pytest.mark.gpu

NAMES = [test.name for test in (*MEMORY_KIND_TESTS, *MANAGED_TESTS)]
PINNED = "host_to_device_memcpy_ce"
LARGE_BYTES = 64 << 20


@pytest.fixture(scope="module")
def run(driver: _native.Driver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    assert not driver.emulated
    path: Path = tmp_path_factory.mktemp("run") / "run.json"
    chosen = [argument for name in (*NAMES, PINNED) for argument in ("-t", name)]
    sizes = (
        "--sizes",
        "4,1MiB,64MiB",
        "--managed",
        "--budget",
        "40",
        "-t",
        "host_device_latency_sm",
    )
    done = run_process(
        [*PROGRAM, "bench", "--device", "0", *sizes, *chosen, "--output", str(path)],
        max_seconds=300,
    )
    assert done.code == 0, done.err
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def rate(run: dict[str, Any], test: str) -> float:
    (found,) = [
        result
        for result in run["results"]
        if (result["test"], result["metric"]) == (test, "bandwidth")
        and result["bytes"] == LARGE_BYTES
    ]
    return float(found["median"])


def test_every_kind_passed_or_says_why_it_was_waived(run: dict[str, Any]) -> None:
    assert {result["test"] for result in run["results"]} >= set(NAMES)
    for result in run["results"]:
        assert result["status"] == "passed" or result["reason"], result


@pytest.mark.parametrize("kind", ["registered", "write_combined", "pool"])
def test_memory_that_is_pinned_otherwise_is_as_fast_as_pinned_memory(
    run: dict[str, Any], kind: str
) -> None:
    assert rate(run, f"host_to_device_memcpy_{kind}") > 0.9 * rate(run, PINNED)


def test_a_kernel_reaches_across_the_link_at_most_as_fast_as_a_copy_engine(
    run: dict[str, Any],
) -> None:
    assert 0.3 < rate(run, "host_to_device_memcpy_sm") / rate(run, PINNED) < 1.1


def test_a_load_across_the_link_takes_longer_than_one_of_the_device_s_own_memory(
    run: dict[str, Any],
) -> None:
    loads = [result for result in run["results"] if result["metric"] == "access_latency"]
    assert loads
    assert all(result["status"] == "passed" for result in loads), loads
    # A GPU's own memory answers in 0.2 to 0.6 us, links in 0.5 to 2.
    assert all(4e-7 < result["median"] < 1e-5 for result in loads)


# --- Windows ------------------------------------------------------------------------------------

POOL = "cudaMallocAsync"
HANDLELESS = "cuMemCreate without a handle"
MAPPED = [name for name in ALLOCATORS if name not in {POOL, "cudaMallocManaged"}]
# Less than a granule, whole granules, and an odd size of several.
SIZES = [4096, 2 << 20, (37 << 20) + 12_345]


@pytest.fixture
def cuda(driver: _native.Driver) -> Iterator[Cuda]:
    opened = Cuda(driver.path)
    yield opened
    opened.end()


@pytest.fixture(scope="module")
def windows(driver: _native.Driver) -> isthmus.Windows:
    opened = isthmus.Windows(driver.path)
    if not any(report.usable for report in opened.backends()):
        pytest.skip("; ".join(f"{one.backend}: {one.reason}" for one in opened.backends()))
    return opened


def random_bytes(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311 - reproducible on purpose


def put(cuda: Cuda, pointer: int, data: bytes) -> None:
    """Copy to the device as the driver does; afterwards the bytes are there."""
    cuda.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), data, ctypes.c_size_t(len(data)))
    cuda.call("cuCtxSynchronize")


def taken(cuda: Cuda, pointer: int, size: int) -> bytes:
    back = ctypes.create_string_buffer(size)
    cuda.call("cuMemcpyDtoH_v2", back, ctypes.c_uint64(pointer), ctypes.c_size_t(size))
    return back.raw


def assert_same_memory(cuda: Cuda, window: isthmus.Window, pointer: int, size: int) -> None:
    """Send bytes both ways at the beginning, in the middle and at the end."""
    length = min(4096, size)
    for seed, offset in enumerate((0, (size - length) // 2, size - length)):
        sent = random_bytes(length, seed)
        put(cuda, pointer + offset, sent)
        assert window.read(length, offset) == sent
        window.write(sent[::-1], offset)
        assert taken(cuda, pointer + offset, length) == sent[::-1]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("allocator", MAPPED)
def test_a_window_shows_memory_of_this_kind(
    windows: isthmus.Windows, cuda: Cuda, allocator: str, size: int
) -> None:
    with ALLOCATORS[allocator](cuda, size) as pointer, windows.open(pointer, size) as window:
        assert_same_memory(cuda, window, pointer, size)


@pytest.mark.parametrize("size", [4096, 400_000, 4 << 20])
def test_memory_of_a_pool_has_a_window_or_is_refused_as_a_pools(
    windows: isthmus.Windows,
    cuda: Cuda,
    size: int,
    record_property: Any,  # noqa: ANN401
) -> None:
    with ALLOCATORS[POOL](cuda, size) as pointer:
        cuda.call("cuCtxSynchronize")
        reason = ""
        try:
            with windows.open(pointer, size) as window:
                assert_same_memory(cuda, window, pointer, size)
        except isthmus.Unavailable as absence:
            reason = str(absence)
        record_property("reason", reason)
        assert not reason or "memory of cudaMallocAsync" in reason
        assert "reach beyond" not in reason


def test_every_kind_of_memory_is_reported_as_it_is_mapped(
    windows: isthmus.Windows,
    record_property: Any,  # noqa: ANN401
) -> None:
    reports = {report.memory: report for report in windows.memory_kinds()}
    for memory, report in reports.items():
        record_property(memory, report.reason)
    assert all(report.usable for memory, report in reports.items() if memory != POOL)


def test_each_of_many_objects_without_a_handle_shows_its_own_bytes(
    windows: isthmus.Windows, cuda: Cuda
) -> None:
    size, count = 2 << 20, 40
    with ExitStack() as held:
        pointers = [held.enter_context(ALLOCATORS[HANDLELESS](cuda, size)) for _ in range(count)]
        for seed, pointer in enumerate(pointers):
            put(cuda, pointer + size // 2, random_bytes(4096, seed))
        opened = [held.enter_context(windows.open(pointer, size)) for pointer in pointers]
        for seed, window in enumerate(opened):
            assert window.read(4096, size // 2) == random_bytes(4096, seed)


def test_memory_without_a_handle_is_found_again_where_other_memory_was(
    windows: isthmus.Windows, cuda: Cuda
) -> None:
    for seed in range(20):
        size = 2 << 20
        with (
            ALLOCATORS[HANDLELESS](cuda, size) as pointer,
            windows.open(pointer, size) as window,
        ):
            put(cuda, pointer, random_bytes(4096, seed))
            assert window.read(4096) == random_bytes(4096, seed)


def test_an_object_without_a_handle_may_be_larger_than_4_gib(
    windows: isthmus.Windows, cuda: Cuda, driver: _native.Driver
) -> None:
    size = (4 << 30) + (2 << 20)
    if _native.Context(driver, 0).free_memory_bytes() < 2 * size:
        pytest.skip("needs 8 GiB of free device memory")
    with (
        ALLOCATORS[HANDLELESS](cuda, size) as pointer,
        windows.open(pointer + size - 8192, 8192) as window,
    ):
        assert_same_memory(cuda, window, pointer + size - 8192, 8192)
