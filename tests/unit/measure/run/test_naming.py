"""What the name of a test says about the test and its results."""

import pytest

from fakes import runs
from isthmus.measure.bench.tests.catalogue import TESTS, Suite
from isthmus.measure.run.naming import Kind, directed_name, kind_and_way


@pytest.mark.parametrize("kind", [Kind.MEMCPY, Kind.BIDIRECTIONAL, Kind.PINNED_VS_PAGEABLE])
@pytest.mark.parametrize("way", ["", "ce", "write_combined"])
def test_a_name_that_was_made_is_taken_apart_again(kind: Kind, way: str) -> None:
    for direction in ("h2d", "d2h"):
        assert kind_and_way(directed_name(direction, kind, way)) == (kind, way)


@pytest.mark.parametrize(
    ("test", "kind", "way"),
    [
        ("window_write", Kind.WINDOW, "write"),
        ("window_bandwidth_write", Kind.WINDOW_BANDWIDTH, "write"),
        ("alloc_cuda_malloc_3d", Kind.ALLOC, "cuda_malloc_3d"),
        ("host_memcpy", Kind.HOST_MEMCPY, ""),
        ("host_memcpy_node_to_node", Kind.HOST_MEMCPY, "node_to_node"),
        ("host_to_all_memcpy_ce", None, "host_to_all_memcpy_ce"),
        ("numa_host_to_device_memcpy_ce", None, "numa_host_to_device_memcpy_ce"),
        ("duplex_memcpy_ce", None, "duplex_memcpy_ce"),
        ("windows", None, "windows"),
    ],
)
def test_a_name_says_its_kind_and_way(test: str, kind: Kind | None, way: str) -> None:
    assert kind_and_way(test) == (kind, way)


def test_every_kind_is_of_one_suite() -> None:
    suites: dict[Kind, set[Suite]] = {}
    for test in TESTS:
        kind, _ = kind_and_way(test.name)
        if kind is not None:
            suites.setdefault(kind, set()).add(test.suite)
    assert suites.keys() == set(Kind)
    assert all(len(found) == 1 for found in suites.values())


def test_a_result_says_what_is_special_about_it() -> None:
    plain = next(r for r in runs.run().results if r.test == "host_to_device_memcpy_ce")
    assert (plain.kind, plain.way, plain.variation) == (Kind.MEMCPY, "ce", "")
    assert (plain.host_memory, plain.source) == ("pinned", "pinned")
    special = {"cpu_cache": "cold", "num_threads": 4, "axes": {"streams": 2, "contents": "zeros"}}
    varied = plain.model_copy(update=special)
    assert varied.variation == "cold, 4 threads, contents zeros, 2 streams"
