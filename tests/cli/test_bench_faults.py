"""Machines on which something is wrong: waived or an error, with the reason, and the rest runs."""

import pytest

from isthmus.measure.run.model import Result, Run, Status
from program import Invoke, Outcome

BANDWIDTHS = ("-t", "host_to_device_memcpy_ce", "-t", "device_to_host_memcpy_ce")


def results_of(outcome: Outcome) -> list[Result]:
    return Run.model_validate_json(outcome.out).results


def bench(run: Invoke, profile: str, *arguments: str) -> Outcome:
    return run(
        "bench", "--device", f"emulated:{profile}", *arguments, "-i", "3", "--format", "json"
    )


def test_a_gpu_in_exclusive_mode_is_no_device_for_us_and_the_line_says_so(spawn: Invoke) -> None:
    outcome = spawn("bench", "--device", "emulated:exclusive")
    assert outcome.code == 4
    assert "exclusive or prohibited mode" in outcome.err
    assert "nvidia-smi -c 0" in outcome.err


@pytest.mark.long
def test_a_device_that_disappears_ends_the_rest_with_the_reason_and_keeps_what_was_done(
    spawn: Invoke,
) -> None:
    outcome = bench(spawn, "vanishing", *BANDWIDTHS, "--sizes", "4M,8M,16M", "-i", "3")
    assert outcome.code == 1, outcome.err
    results = results_of(outcome)
    states = [result.status for result in results]
    assert Status.PASSED in states
    lost = [r.error.message for r in results if r.error]
    assert lost
    assert all(state == Status.ERROR for state in states[states.index(Status.ERROR) :])
    assert all(message.startswith("not run, the device was lost") for message in lost[1:])
    assert all(r.error.code_name == "CUDA_ERROR_UNKNOWN" for r in results if r.error)


def test_events_that_go_negative_waive_what_they_time_and_the_rest_runs(invoke: Invoke) -> None:
    outcome = bench(
        invoke,
        "confidential",
        *BANDWIDTHS,
        "-t",
        "host_to_device_memcpy_pageable",
        "-t",
        "host_to_device_small_copy_async",
        "--sizes",
        "64K",
    )
    assert outcome.code == 0, outcome.err
    for result in results_of(outcome):
        by_events = result.clock == "device"
        assert result.status == (Status.WAIVED if by_events else Status.PASSED), result
        if by_events:
            assert "confidential computing" in (result.reason or "")


def test_memory_that_can_not_be_pinned_is_an_error_of_its_size_and_the_rest_runs(
    invoke: Invoke,
) -> None:
    outcome = bench(
        invoke,
        "little-memlock",
        *BANDWIDTHS,
        "-t",
        "host_to_device_memcpy_pageable",
        "--sizes",
        "64M",
    )
    assert outcome.code == 1
    states = {(r.test.rpartition("_")[2], r.status) for r in results_of(outcome)}
    assert states == {("ce", Status.ERROR), ("pageable", Status.PASSED)}
    messages = [r.error.message for r in results_of(outcome) if r.error]
    assert all("cuMemHostAlloc" in message for message in messages)


def test_a_size_that_does_not_fit_on_the_device_is_refused_by_name(invoke: Invoke) -> None:
    outcome = bench(invoke, "tiny-memory", *BANDWIDTHS, "--sizes", "1M,128M")
    assert outcome.code == 2
    assert "128 MiB" in outcome.err
    assert "largest size that fits" in outcome.err


@pytest.mark.parametrize(("suite", "tests"), [("numa", "numa_*"), ("multi", "all_to_*")])
def test_a_device_that_disappears_ends_suites_of_many_gpus_too(
    spawn: Invoke, suite: str, tests: str
) -> None:
    outcome = bench(spawn, "vanishing", *BANDWIDTHS, "-t", tests, "--sizes", "4K,8K", "-i", "3")
    assert outcome.code == 1, outcome.err
    of_suite = [r for r in results_of(outcome) if r.suite == suite]
    assert {r.status for r in of_suite} <= {Status.ERROR, Status.WAIVED}
