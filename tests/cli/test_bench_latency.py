"""`isthmus bench latency` on the emulated device: ways, experiments, wrong results caught."""

import ctypes

import pytest

from isthmus.measure.bench.tests.experiments import EXPERIMENT_TESTS
from isthmus.measure.bench.tests.small_copies import SMALL_COPY_TESTS
from isthmus.measure.run.model import Result, Run, Status
from program import Invoke, Outcome

DOWN = "device_to_host_small_copy"
UP = "host_to_device_small_copy"
# What means nothing for these ways, whatever the machine.
OVER_ON_RETURN = {
    (f"{DOWN}_{way}", metric)
    for way in ("blocking", "window")
    for metric in ("api_return", "visible")
}
NO_EVENTS = {
    (f"{start}_window", metric) for start in (UP, DOWN) for metric in ("event_delta", "event_floor")
}


def bench(run: Invoke, *arguments: str) -> Outcome:
    return run("bench", "--device", "emulated", "-i", "3", "--format", "json", *arguments)


def results_of(outcome: Outcome) -> list[Result]:
    return Run.model_validate_json(outcome.out).results


def named(*names: str) -> list[str]:
    return [part for name in names for part in ("-t", name)]


def test_every_way_of_a_small_copy_has_its_latencies(invoke: Invoke) -> None:
    names = [test.name for test in SMALL_COPY_TESTS]
    # More than three samples: beside a compiler, every one of three may find its core taken.
    outcome = bench(invoke, *named(*names), "--sizes", "4", "-i", "9")
    assert outcome.code == 0, outcome.err
    results = results_of(outcome)
    assert {result.test for result in results} == set(names)
    waived = {(r.test, r.metric) for r in results if r.status == Status.WAIVED}
    assert waived == OVER_ON_RETURN | NO_EVENTS
    assert {r.verified_on for r in results if r.status == Status.PASSED} == {"device", "host"}
    assert {result.suite for result in results} == {"latency"}


def test_small_copies_are_measured_cold_too(invoke: Invoke) -> None:
    outcome = bench(invoke, *named(f"{UP}_async"))
    assert outcome.code == 0, outcome.err
    cold = [result for result in results_of(outcome) if result.cpu_cache == "cold"]
    assert {r.bytes for r in cold} == {4, 4096, 65536}
    reasons = {r.metric: r.reason for r in cold if r.status == Status.WAIVED}
    assert set(reasons) == {"reciprocal_throughput"}


def test_the_experiments_give_a_value_for_each_run_and_their_ratios(invoke: Invoke) -> None:
    names = [test.name for test in EXPERIMENT_TESTS]
    outcome = bench(invoke, *named(*names), "--sizes", "4,4KiB", "-v")
    assert outcome.code == 0, outcome.err
    results = results_of(outcome)
    assert {(r.test, r.bytes) for r in results} == {(n, s) for n in names for s in (4, 4096)}
    assert {result.status for result in results} == {Status.PASSED}
    assert all(2 <= (result.n or 0) <= 5 for result in results)
    of_round = {r.metric: r for r in results if r.test == "copy_kernel_copy" and r.bytes == 4}
    assert of_round["upload"].copies_per_sample == 1000
    assert of_round["upload"].axes == {"iterations": 1000}
    assert of_round["download_over_upload"].unit == "1"
    ways = zip(
        of_round["download"].samples or [],
        of_round["upload"].samples or [],
        of_round["download_over_upload"].samples or [],
        strict=True,
    )
    assert all(ratio == pytest.approx(down / up) for down, up, ratio in ways)


def test_the_table_of_the_experiments_has_average_least_and_most(invoke: Invoke) -> None:
    outcome = invoke(
        "bench",
        "--device",
        "emulated",
        *named("kernel_then_copy_cpu_clock"),
        *("--quick", "-i", "3"),
    )
    assert outcome.code == 0, outcome.err
    assert "average" in outcome.out
    assert "async / blocking" in outcome.out


@pytest.mark.parametrize(
    ("symbol", "test"),
    [
        (b"cuMemcpyHtoD", f"{UP}_blocking"),
        (b"cuMemcpyDtoHAsync", f"{DOWN}_async"),
        (b"cuMemcpyBatchAsync", f"{UP}_batch"),
        (b"cuGraphLaunch", f"{DOWN}_graph"),
        (b"cuLaunchKernel", f"{DOWN}_sm"),
        (b"cuMemcpyDtoH", "kernel_then_copy_cpu_clock"),
        (b"cuMemcpyDtoHAsync", "kernel_then_copy_gpu_clock"),
        (b"cuLaunchKernel", "copy_kernel_copy"),
        (b"cuMemcpyHtoDAsync", "copy_kernel_copy"),
    ],
)
def test_a_step_that_never_happened_is_an_error_and_no_number(
    invoke: Invoke, emulator: ctypes.CDLL, symbol: bytes, test: str
) -> None:
    emulator.isthmus_emulator_swallow_calls(symbol)
    outcome = bench(invoke, *named(test), "--sizes", "64")
    assert outcome.code == 1
    results = results_of(outcome)
    assert {result.status for result in results} == {Status.ERROR}
    assert all("verification failed" in r.error.message for r in results if r.error)


def test_a_driver_without_batches_waives_them_and_says_what_is_needed(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_hide_symbol(b"cuMemcpyBatchAsync")
    outcome = bench(invoke, *named(f"{UP}_batch", f"{UP}_async"), "--sizes", "4")
    assert outcome.code == 0, outcome.err
    for result in results_of(outcome):
        batch = result.test.endswith("batch")
        assert result.status == (Status.WAIVED if batch else Status.PASSED)
        if batch:
            assert "CUDA 12.8" in (result.reason or "")


def test_without_kernels_the_experiments_are_waived(invoke: Invoke, emulator: ctypes.CDLL) -> None:
    emulator.isthmus_emulator_fail_call(b"cuModuleLoadData", 1, 222)
    outcome = bench(invoke, *named("copy_kernel_copy"), "--sizes", "4")
    assert outcome.code == 0, outcome.err
    assert {result.status for result in results_of(outcome)} == {Status.WAIVED}
