"""The main job on a real GPU. Skipped, with the reason, where there is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from isthmus import _native
from program import PROGRAM, Outcome, run_process

pytestmark = pytest.mark.gpu

_TESTS = "host_to_device_memcpy*,device_to_host_memcpy*,host_to_device_small_copy_async,window_*"


def isthmus(*arguments: str) -> Outcome:
    return run_process([*PROGRAM, *arguments], max_seconds=300)


@pytest.fixture(scope="module")
def run(driver: _native.Driver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    assert not driver.emulated
    path: Path = tmp_path_factory.mktemp("run") / "run.json"
    done = isthmus(
        *("bench", "-t", _TESTS, "--sizes", "4,1MiB,64MiB"),
        *("--budget", "60", "--output", str(path), "--device", "0"),
    )
    assert done.code == 0, done.err
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def results(run: dict[str, Any], **wanted: object) -> list[dict[str, Any]]:
    return [r for r in run["results"] if all(r[key] == value for key, value in wanted.items())]


def test_no_optional_driver_function_is_missing_on_a_current_driver(
    driver: _native.Driver,
) -> None:
    assert driver.missing_symbols() == []


def test_a_run_on_a_gpu_is_not_marked_as_emulated(run: dict[str, Any]) -> None:
    assert run["machine"]["emulated"] is False


def test_every_result_passed_or_says_why_it_was_waived(run: dict[str, Any]) -> None:
    assert run["results"]
    for result in run["results"]:
        assert result["status"] == "passed" or result["reason"], result


def test_copies_to_the_device_are_verified_on_the_device(run: dict[str, Any]) -> None:
    copies = [
        result
        for result in results(run, direction="h2d", metric="bandwidth")
        # Zeros, and what begins between words, no kernel of ours compares.
        if result["test"].startswith("host_to_device_memcpy") and not result["axes"]
    ]
    assert copies
    for result in copies:
        assert result["verified_on"] == "device"


def test_pinned_is_faster_than_pageable_at_64_mib_in_both_directions(run: dict[str, Any]) -> None:
    for test in ("host_to_device", "device_to_host"):
        (pinned,) = results(run, test=f"{test}_memcpy_ce", bytes=64 << 20)
        (pageable,) = results(run, test=f"{test}_memcpy_pageable", bytes=64 << 20)
        assert pinned["median"] > pageable["median"]


def test_a_copy_that_is_waited_for_takes_longer_than_its_call(run: dict[str, Any]) -> None:
    (call,) = results(run, test="host_to_device_small_copy_async", metric="api_return")
    (wait,) = results(run, test="host_to_device_small_copy_async", metric="completion")
    assert call["median"] < wait["median"]


def window_results(run: dict[str, Any], test: str, **wanted: object) -> list[dict[str, Any]]:
    """Give results of windows in plain circumstances; without windows, skip with their reason."""
    found = results(run, test=test, cpu_cache="warm", num_threads=1, **wanted)
    waived = [result["reason"] for result in found if result["status"] == "waived"]
    if waived:
        pytest.skip(waived[0])
    return found


def test_4_bytes_through_a_window_are_faster_than_by_cudamemcpy_both_ways(
    run: dict[str, Any],
) -> None:
    for test, metric in (("window_write", "fenced"), ("window_read", "complete")):
        (ours,) = window_results(run, test, metric=metric, bytes=4)
        for rival in ("memcpy_pinned", "memcpy_pageable"):
            (theirs,) = window_results(run, test, metric=rival, bytes=4)
            assert ours["median"] < theirs["median"]


def test_every_way_through_a_window_has_its_crossovers(run: dict[str, Any]) -> None:
    for test in ("window_write", "window_read"):
        for rival in ("pinned", "pageable"):
            (crossover,) = window_results(run, test, metric=f"crossover_{rival}")
            assert 4 <= crossover["median"] <= crossover["bytes"]


def test_a_running_kernel_answers_through_either_memory(run: dict[str, Any]) -> None:
    trips = window_results(run, "window_ping_pong")
    assert len(trips) == 20
    assert all(trip["status"] == "passed" for trip in trips)


def test_the_doctor_reads_the_link_of_every_gpu(driver: _native.Driver) -> None:
    done = isthmus("doctor", "--format", "json")
    assert done.code in {0, 1}, done.err
    names = [check["name"] for check in json.loads(done.out)["checks"]]
    for ordinal in range(driver.device_count()):
        assert f"gpu {ordinal} link" in names
