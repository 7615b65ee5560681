"""Copies between all kinds of memory on a real GPU. Skipped where there is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from isthmus import _native
from isthmus.bench.tests.managed import MANAGED_TESTS
from isthmus.bench.tests.memory_kinds import MEMORY_KIND_TESTS
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
        "20",
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
    # A GPU's own memory answers in 0.2 to 0.6 us, links in 0.5 to 2.
    assert all(4e-7 < result["median"] < 1e-5 for result in loads)
