"""Suites alloc, pinned_vs_pageable and host on the emulated device, and what they refuse."""

import ctypes
import json
from collections import Counter
from typing import Any

import pytest

from isthmus.measure.bench.tests.alloc import ALLOC_TESTS, LIFE_TESTS
from isthmus.measure.run.model import Run, Status
from program import Invoke

SMALL = ("bench", "--device", "emulated", "--sizes", "4KiB,256KiB", "-i", "3")
_MIB = 1 << 20


def _run(invoke: Invoke, *arguments: str) -> Run:
    outcome = invoke(*arguments, "--format", "json")
    assert outcome.code == 0, outcome.err
    return Run.model_validate_json(outcome.out)


def test_every_way_to_allocate_is_timed_on_the_emulated_device(invoke: Invoke) -> None:
    run = _run(invoke, *SMALL, "alloc", "--managed")
    assert {result.test for result in run.results} == {
        test.name for test in (*ALLOC_TESTS, *LIFE_TESTS)
    }
    passed = [result for result in run.results if result.status == Status.PASSED]
    # Whether the kernel gives huge pages is the machine's affair.
    waived = {r.axes.get("memory") for r in run.results if r.status == Status.WAIVED}
    assert waived <= {"huge_pinned", "pinned", "registered"}
    counted = Counter((r.test, r.metric) for r in passed if r.bytes == 4096)
    assert counted["alloc_cuda_malloc", "allocate_live"] == 1
    assert counted["alloc_cuda_host_register", "free"] == 2  # touched and untouched
    assert counted["alloc_cuda_malloc_managed", "free"] == 2
    assert all((result.median or 0) > 0 for result in passed if result.unit == "s")


@pytest.mark.long
def test_touched_pages_cost_more_than_untouched_ones(invoke: Invoke) -> None:
    run = _run(invoke, "bench", "--device", "emulated", "-t", "alloc_mmap", "--sizes", "16MiB")
    times = {r.axes.get("pages"): r.median or 0 for r in run.results if r.metric == "allocate"}
    assert times["touched"] > 10 * times[None]


def test_large_copies_are_measured_both_ways_with_both_kinds_and_a_gain(invoke: Invoke) -> None:
    run = _run(invoke, *SMALL, "pinned_vs_pageable")
    assert {(r.status, r.verified_on) for r in run.results if r.unit == "B/s"} == {
        (Status.PASSED, "device"),
        (Status.PASSED, "host"),
    }
    ends = {(r.direction, r.source, r.target) for r in run.results}
    assert ends == {
        ("h2d", "pageable", "device"),
        ("h2d", "pinned", "device"),
        ("d2h", "device", "pageable"),
        ("d2h", "device", "pinned"),
    }
    assert Counter(r.metric for r in run.results) == {"bandwidth": 8, "pinned_gain": 4}


def test_host_copies_are_measured_and_say_where_their_pages_were(invoke: Invoke) -> None:
    run = _run(invoke, *SMALL, "host")
    assert {r.status for r in run.results} == {Status.PASSED}
    assert {r.source for r in run.results} == {r.target for r in run.results} == {"host"}
    assert {r.verified_on for r in run.results} == {"host"}


@pytest.mark.long
def test_nothing_is_larger_than_max_bytes_allows(invoke: Invoke) -> None:
    suites = ("alloc", "pinned_vs_pageable", "host")
    arguments = ("bench", *suites, "--device", "emulated", "-i", "3")
    run = _run(invoke, *arguments, "--max-bytes", "4MiB")
    for result in run.results:
        if result.suite == "alloc":
            assert result.bytes * int(result.axes.get("live", 1)) <= 4 * _MIB
        elif result.suite == "host":
            assert 2 * result.bytes <= 4 * _MIB
    assert not any(result.suite == "pinned_vs_pageable" for result in run.results)


@pytest.mark.parametrize(
    ("symbol", "test"),
    [
        ("cuMemAlloc", "alloc_cuda_malloc"),
        ("cuMemFree", "alloc_cuda_malloc"),
        ("cuMemHostAlloc", "alloc_cuda_malloc_host"),
        ("cuArrayCreate", "alloc_cuda_malloc_array"),
        ("cuMemcpyHtoD", "host_to_device_pinned_vs_pageable"),
        ("cuMemcpyDtoH", "device_to_host_pinned_vs_pageable"),
        ("cuMemcpyHtoD", "host_memory_life"),
    ],
)
def test_what_never_happened_is_an_error_and_no_number(
    invoke: Invoke, emulator: ctypes.CDLL, symbol: str, test: str
) -> None:
    arguments = ("bench", "--device", "emulated", "--sizes", "64KiB", "-i", "3")
    assert invoke(*arguments, "-t", test, "--format", "json").code == 0
    emulator.isthmus_emulator_swallow_calls(symbol.encode())
    outcome = invoke(*arguments, "-t", test, "--format", "json")
    emulator.isthmus_emulator_reset()
    results: list[dict[str, Any]] = json.loads(outcome.out)["results"]
    assert outcome.code == 1
    assert {result["status"] for result in results} == {"error"}
    assert all("verification failed" in result["error"]["message"] for result in results)


def test_memory_that_runs_out_is_an_error_of_its_size_and_the_rest_runs(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_fail_call(b"cuMemHostAlloc", 1, 2)
    outcome = invoke(
        *SMALL, "-t", "alloc_cuda_malloc_host", "-t", "alloc_cuda_malloc", "--format", "json"
    )
    results = json.loads(outcome.out)["results"]
    failed = {(r["test"], r["bytes"]) for r in results if r["status"] == "error"}
    assert failed == {("alloc_cuda_malloc_host", 4096)}
    assert {r["bytes"] for r in results if r["status"] == "passed"} >= {4096, 256 << 10}
