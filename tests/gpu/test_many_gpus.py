"""Suites numa and multi on a real machine; most of it needs two GPUs."""

import json
from pathlib import Path
from typing import Any

import pytest

from isthmus import _native
from program import PROGRAM, run_process

pytestmark = pytest.mark.gpu

# A sample of each is some tens of copies: no more than this lies between two of them.
ROOM = 1.1


@pytest.fixture(scope="module")
def found(driver: _native.Driver, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    assert not driver.emulated
    path: Path = tmp_path_factory.mktemp("run") / "run.json"
    arguments = ("bench", "numa", "multi", "--budget", "30", "--output", str(path))
    done = run_process([*PROGRAM, *arguments, "--device", "0"], max_seconds=300)
    assert done.code == 0, done.err
    results: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["results"]
    return results


def medians(found: list[dict[str, Any]], test: str, metric: str) -> list[float]:
    return [
        r["median"]
        for r in found
        if (r["test"], r["metric"], r["status"]) == (test, metric, "passed")
    ]


def test_everything_passed_or_says_why_it_was_waived(found: list[dict[str, Any]]) -> None:
    for result in found:
        assert result["status"] == "passed" or result["reason"], result


def test_at_least_one_cpu_node_was_measured_with_its_memory_where_it_should_be(
    found: list[dict[str, Any]],
) -> None:
    passed = [r for r in found if r["suite"] == "numa" and r["status"] == "passed"]
    assert passed
    for result in passed:
        pages = result["host_pages_by_node"] or {}
        there = pages.get(str(result["axes"]["node"]), 0)
        assert not pages or there >= 0.95 * sum(pages.values())


def test_together_gpus_move_no_more_than_all_of_them_alone(
    driver: _native.Driver, found: list[dict[str, Any]]
) -> None:
    if driver.device_count() < 2:
        pytest.skip("needs two GPUs")
    for test in ("host_to_all_memcpy_ce", "all_to_host_memcpy_ce"):
        alone = medians(found, test, "alone")
        under_load = medians(found, test, "bandwidth")
        (together,) = medians(found, test, "aggregate")
        assert together <= ROOM * sum(alone)
        assert all(loaded <= ROOM * free for loaded, free in zip(under_load, alone, strict=True))


def test_gpus_that_reach_each_other_copy_both_ways(
    driver: _native.Driver, found: list[dict[str, Any]]
) -> None:
    if driver.device_count() < 2:
        pytest.skip("needs two GPUs")
    read = medians(found, "device_to_device_memcpy_read_ce", "bandwidth")
    if not read:
        pytest.skip("these GPUs can't reach each other's memory")
    # Slower than any link between GPUs would mean that bytes went by way of the host.
    assert min(read) > 5e9
