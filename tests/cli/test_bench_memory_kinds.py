"""`isthmus bench`: copies between all kinds of memory, on the emulated device."""

import ctypes

import pytest

from isthmus.measure.bench.tests.managed import MANAGED_TESTS
from isthmus.measure.bench.tests.memory_kinds import MEMORY_KIND_TESTS
from isthmus.measure.run.model import Run, Status
from program import Invoke

EMULATED = ("bench", "--device", "emulated", "-i", "3", "--format", "json")
SMALL = (*EMULATED, "--sizes", "4,64KiB")
KINDS = [test.name for test in MEMORY_KIND_TESTS]
MANAGED = [test.name for test in MANAGED_TESTS]
# What brings the bytes of a test over, for the emulator to leave out.
BRINGS = {
    "host_to_device_memcpy_ce": "cuMemcpyHtoDAsync",
    "device_to_host_memcpy_ce": "cuMemcpyDtoHAsync",
    "host_to_device_memcpy_pageable": "cuMemcpyHtoD",
    "host_to_device_memcpy_registered": "cuMemcpyHtoDAsync",
    "device_to_host_memcpy_write_combined": "cuMemcpyDtoHAsync",
    "host_to_device_memcpy_pool": "cuMemcpyHtoDAsync",
    "host_to_device_memcpy_sm": "cuLaunchKernel",
    "device_to_host_memcpy_sm": "cuLaunchKernel",
    "device_to_host_memcpy_offset": "cuMemcpyDtoHAsync",
    "host_device_latency_sm": "cuLaunchKernel",
    "host_to_device_managed_demand_random": "cuLaunchKernel",
    "host_to_device_managed_prefetched": "cuMemPrefetchAsync",
    "managed_page_fault": "cuLaunchKernel",
}
OWN_SIZE = {"host_device_latency_sm", "managed_page_fault"}


def chosen(*names: str) -> list[str]:
    return [argument for name in names for argument in ("-t", name)]


def run_of(invoke: Invoke, *arguments: str, code: int = 0) -> Run:
    outcome = invoke(*arguments)
    assert outcome.code == code, outcome.err
    return Run.model_validate_json(outcome.out)


def test_every_kind_of_memory_is_measured_or_waived_with_a_reason(invoke: Invoke) -> None:
    run = run_of(invoke, *SMALL, *chosen(*KINDS))
    assert {result.test for result in run.results} == set(KINDS)
    waived = {result.test for result in run.results if result.status == Status.WAIVED}
    assert {name.rpartition("memcpy_")[2] for name in waived} <= {"huge_pages"}
    assert all(result.verified_on for result in run.results if result.test not in waived)
    offsets = [result for result in run.results if result.test == "host_to_device_memcpy_offset"]
    assert {"host_offset": "64 B", "device_offset": "0 B"} in [r.axes for r in offsets]
    assert {r.axes["contents"] for r in run.results if "contents" in r.test} == {"random", "zeros"}


def test_a_sweep_of_a_kind_of_memory_has_a_fitted_line(invoke: Invoke) -> None:
    sizes = (*EMULATED, "--sizes", "4,64,1KiB,64KiB,1MiB")
    run = run_of(invoke, *sizes, *chosen("host_to_device_memcpy_registered"))
    values = {r.metric: (r.unit, r.median) for r in run.results if r.metric != "bandwidth"}
    assert {unit for unit, _ in values.values()} == {"s", "B/s", "B", "1"}
    start, rate = values["fit_start"][1], values["fit_bandwidth"][1]
    assert start is not None
    assert rate is not None
    # The emulated link: 10 us and 3 GB/s.
    assert 5e-6 < start < 100e-6
    assert 0.3e9 < rate < 10e9


def test_managed_memory_is_measured_where_it_was_asked_for(invoke: Invoke) -> None:
    run = run_of(invoke, *EMULATED, "--managed", "--sizes", "16MiB", *chosen(*MANAGED))
    found = {result.test: result for result in run.results}
    assert set(found) == set(MANAGED)
    unseen = found.pop("device_to_host_managed_demand")
    assert (unseen.status, unseen.median) == (Status.WAIVED, None)
    assert "when the CPU touches them" in (unseen.reason or "")
    assert {result.status for result in found.values()} == {Status.PASSED}
    assert {r.source for r in run.results} == {"managed", "device"}
    refused = invoke(*EMULATED, *chosen(*MANAGED))
    assert refused.code == 2
    assert "can't be measured without --managed" in " ".join(refused.err.split())
    assert "add --managed" in refused.err


def test_faults_of_managed_memory_are_measured_on_both_sides(invoke: Invoke) -> None:
    run = run_of(invoke, *EMULATED, "--managed", *chosen("managed_page_fault"))
    assert [(r.metric, r.unit, r.clock, r.target, r.status) for r in run.results] == [
        ("device_fault", "s", "device", "device", Status.PASSED),
        ("host_fault", "s", "host", "host", Status.PASSED),
    ]


def test_loads_by_a_kernel_are_measured_in_both_orders(invoke: Invoke) -> None:
    run = run_of(invoke, *EMULATED, "--quick", *chosen("host_device_latency_sm"))
    assert [(r.metric, r.unit, r.bytes, r.axes) for r in run.results] == [
        ("access_latency", "s", 2 << 20, {}),
        ("access_latency", "s", 2 << 20, {"order": "random"}),
    ]


@pytest.mark.parametrize("name", BRINGS)
def test_bytes_that_never_crossed_are_an_error(
    invoke: Invoke, emulator: ctypes.CDLL, name: str
) -> None:
    emulator.isthmus_emulator_swallow_calls(BRINGS[name].encode())
    sizes = ("--quick",) if name in OWN_SIZE else ("--sizes", "64KiB")
    run = run_of(invoke, *EMULATED, "--managed", *sizes, *chosen(name), code=1)
    assert {result.status for result in run.results} == {Status.ERROR}
    messages = [result.error.message for result in run.results if result.error]
    assert all("verification failed" in message for message in messages)


def test_what_the_device_lacks_is_waived_and_the_rest_runs(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_hide_symbol(b"cuMemAllocAsync")
    names = ("host_to_device_memcpy_pool", "host_to_device_memcpy_registered")
    run = run_of(invoke, *SMALL, *chosen(*names))
    found = {result.test: result for result in run.results if result.bytes == 4}
    assert found[names[0]].status == Status.WAIVED
    assert "cuMemAllocAsync" in str(found[names[0]].reason)
    assert found[names[1]].status == Status.PASSED


def test_memory_that_cannot_be_registered_is_an_error_and_the_rest_runs(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    out_of_memory = 2
    emulator.isthmus_emulator_fail_call(b"cuMemHostRegister", 1, out_of_memory)
    names = ("host_to_device_memcpy_registered", "host_to_device_memcpy_write_combined")
    run = run_of(invoke, *SMALL, *chosen(*names), code=1)
    assert {(r.test, r.status) for r in run.results} == {
        (names[0], Status.ERROR),
        (names[1], Status.PASSED),
    }
