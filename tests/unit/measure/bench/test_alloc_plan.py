"""The sizes and circumstances of suites alloc, pinned_vs_pageable and host."""

import pytest

from isthmus.measure.bench.demand import MAX_MANAGED_BYTES, Demand, Limits
from isthmus.measure.bench.tests.alloc import ALLOC_TESTS, LIFE_TESTS, LIVE, PAGES
from isthmus.measure.bench.tests.bench_test import BenchTest, Suite
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.bench.tests.host import HOST_TESTS
from isthmus.measure.bench.tests.memory_kinds import PINNED_VS_PAGEABLE_TESTS

_MIB = 1 << 20
_LIMITS = Limits(device_bytes=64 << 30, host_bytes=64 << 30, num_cores=8)
_TESTS: tuple[BenchTest, ...] = (*ALLOC_TESTS, *LIFE_TESTS, *PINNED_VS_PAGEABLE_TESTS, *HOST_TESTS)


def test_every_way_to_allocate_that_cuda_has_is_a_test() -> None:
    names = {test.name.removeprefix("alloc_") for test in ALLOC_TESTS}
    assert names >= {
        "malloc",
        "cuda_malloc_host",
        "cuda_host_alloc_write_combined",
        "cuda_host_register",
        "cuda_malloc",
        "cuda_malloc_pitch",
        "cuda_malloc_array",
        "cuda_malloc_3d",
        "cuda_malloc_managed",
        "cuda_malloc_async",
        "cu_mem_create",
    }


def test_allocations_go_from_256_bytes_to_a_gigabyte() -> None:
    sizes = [size for size, _ in BY_NAME["alloc_cuda_malloc"].points(Demand(limits=_LIMITS))]
    assert (sizes[0], sizes[-1]) == (256, 1 << 30)
    assert sizes == sorted(set(sizes))


def test_large_copies_go_from_160_mib_to_3_gb_with_both_kinds_of_memory() -> None:
    for test in PINNED_VS_PAGEABLE_TESTS:
        points = test.points(Demand(limits=_LIMITS))
        assert min(size for size, _ in points) == 160 * _MIB
        assert max(size for size, _ in points) > 3 * 10**9
        assert {dict(v.axes)["memory"] for _, v in points} == {"pinned", "pageable"}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("max_bytes", [4 * _MIB, 300 * _MIB, 64 << 30])
@pytest.mark.parametrize("test", _TESTS, ids=lambda test: test.name)
def test_no_default_point_has_more_memory_than_is_allowed(
    test: BenchTest, max_bytes: int, *, quick: bool
) -> None:
    limits = _LIMITS.at_most(max_bytes)
    for size, variation in test.points(Demand(limits=limits, quick=quick, managed=True)):
        if test.suite == Suite.PINNED_VS_PAGEABLE and size > max_bytes:
            pytest.fail("a size is planned that doesn't fit")
        assert limits.hold(test.footprint(size, variation)), (size, variation)


def test_several_are_alive_as_far_as_they_take_256_mib() -> None:
    live = {
        size: dict(variation.axes)[LIVE]
        for size, variation in BY_NAME["alloc_cuda_malloc"].points(Demand(limits=_LIMITS))
    }
    assert live[256] == 64
    assert live[16 * _MIB] == 16
    assert live[1 << 30] == 1


def test_managed_memory_is_touched_only_if_that_was_asked_for_and_is_never_large() -> None:
    test = BY_NAME["alloc_cuda_malloc_managed"]
    usual = test.points(Demand(limits=_LIMITS))
    asked = test.points(Demand(limits=_LIMITS, managed=True))
    assert not any(PAGES in dict(variation.axes) for _, variation in usual)
    assert any(PAGES in dict(variation.axes) for _, variation in asked)
    assert max(size for size, _ in asked) <= MAX_MANAGED_BYTES


def test_memory_that_the_cpu_makes_pages_of_is_measured_touched_and_untouched() -> None:
    touched = {
        test.kind
        for test in ALLOC_TESTS
        for _, variation in test.points(Demand(limits=_LIMITS))
        if PAGES in dict(variation.axes)
    }
    assert touched == {"heap", "mapping", "registered"}


def test_a_quick_run_pins_no_gigabyte() -> None:
    demand = Demand(limits=_LIMITS, quick=True)
    largest = {test.name: max(size for size, _ in test.points(demand)) for test in _TESTS}
    assert all(size <= 160 * _MIB for size in largest.values()), largest


def test_sizes_that_were_asked_for_are_measured_by_every_test() -> None:
    demand = Demand(limits=_LIMITS, sizes=[64, 4096])
    for test in _TESTS:
        assert {size for size, _ in test.points(demand)} == {64, 4096}, test.name


def test_host_copies_are_of_one_core_and_of_all() -> None:
    threads = {v.num_threads for _, v in BY_NAME["host_memcpy"].points(Demand(limits=_LIMITS))}
    assert threads == {1, 8}


def test_host_copies_go_from_every_node_to_every_node() -> None:
    limits = Limits(device_bytes=1 << 30, host_bytes=1 << 30, num_cores=2, cpu_nodes=(0, 3))
    points = BY_NAME["host_memcpy_node_to_node"].points(Demand(limits=limits))
    pairs = [tuple(dict(variation.axes).values()) for _, variation in points]
    assert pairs == [("0", "0"), ("0", "3"), ("3", "0"), ("3", "3")]
