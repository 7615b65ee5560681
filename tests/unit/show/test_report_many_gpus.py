"""The reports of suites numa and multi, and reasons to doubt their numbers."""

from collections.abc import Callable, Sequence

import pytest

from fakes import runs
from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.errors import Unavailable
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.plan import plan_points
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import BenchTest
from isthmus.measure.bench.tests.multi import MULTI_TESTS
from isthmus.measure.bench.tests.numa import NUMA_TESTS
from isthmus.measure.run.model import Run
from isthmus.show.formats.as_text import as_text

GIB = 1 << 30


def limits(num_gpus: int) -> Limits:
    return Limits(device_bytes=64 * GIB, host_bytes=64 * GIB, num_gpus=num_gpus, cpu_nodes=(0, 1))


def usual(test: BenchTest, size_bytes: int) -> FakeMeasurement:
    names = ["copy_time" if metric == "bandwidth" else metric.value for metric in test.metrics]
    rates = {"copy_time": 40e9, "alone": 50e9, "aggregate": 80e9}
    samples = [FakeSamples(name, [size_bytes / rates[name]] * 5) for name in names]
    return FakeMeasurement(samples, host_pages_by_node={1: 64})


def report(
    tests: Sequence[BenchTest],
    *,
    num_gpus: int = 2,
    answer: Callable[[BenchTest, int], FakeMeasurement] = usual,
    clocks: Sequence[str] | None = None,
) -> str:
    plan = plan_points(tests, Demand(limits=limits(num_gpus)))
    session = FakeSession(answer, clocks=clocks)
    found = run_points(session, plan.points, RunSettings(budget_s=1.0), Watcher()).results
    run: Run = runs.run().model_copy(update={"results": found})
    return as_text(run)


def test_each_cpu_node_and_gpu_has_a_row_with_the_nodes_cpus() -> None:
    text = report(NUMA_TESTS)
    rows = [line.split() for line in text.splitlines() if line.startswith("64 MiB")]
    assert [row[2:5] for row in rows] == [
        ["0", "0-3", "0"],
        ["0", "0-3", "1"],
        ["1", "4-7,12", "0"],
        ["1", "4-7,12", "1"],
    ]
    assert all(row[5:] == ["40.00"] * 4 for row in rows)
    assert "GPU 0 is attached to CPU node 1" in text
    assert "all host pages were found on the node" in text


def test_a_node_that_can_not_be_used_says_why_once() -> None:
    def answer(*_: object) -> FakeMeasurement:
        raise Unavailable(
            capability="NUMA node 0", reason="this process may use none of its CPUs", needs="a CPU"
        )

    text = report(NUMA_TESTS[:1], num_gpus=1, answer=answer)
    assert text.count("NUMA node 0 unavailable") == 1


def test_all_gpus_have_a_row_each_and_one_together() -> None:
    text = report([test for test in MULTI_TESTS if test.name == "host_to_all_memcpy_ce"])
    rows = [line.split() for line in text.splitlines() if line.startswith("host_to_all_memcpy_ce")]
    assert [row[3:] for row in rows] == [
        ["0", "50.00", "40.00"],
        ["1", "50.00", "40.00"],
        ["all", "80.00"],
    ]
    assert "common start" in text


def test_gpus_among_themselves_are_a_matrix() -> None:
    text = report([test for test in MULTI_TESTS if test.name == "device_to_device_memcpy_read_ce"])
    rows = [line.split() for line in text.splitlines() if line.startswith("device_to_device")]
    assert [row[3:] for row in rows] == [["0", "-", "40.00"], ["1", "40.00", "-"]]


def test_one_gpu_is_one_line_and_no_table() -> None:
    def answer(*_: object) -> FakeMeasurement:
        raise Unavailable(capability="several GPUs", reason="there is one here", needs="two")

    text = report(MULTI_TESTS, num_gpus=1, answer=answer)
    assert text.count("there is one here") == 1
    assert "not measured, multi (" in text
    assert "All GPUs at once" not in text


def test_a_machine_with_many_outliers_is_called_noisy() -> None:
    def answer(*_: object) -> FakeMeasurement:
        seconds = [1.0, 1.01, 1.02, 1.03, 1.04, 9.0]
        return FakeMeasurement([FakeSamples("copy_time", seconds)], host_pages_by_node={1: 1})

    text = report(NUMA_TESTS[:1], num_gpus=1, answer=answer)
    assert "noisy machine: 2 of 2 results have outliers (none removed)" in text
    assert "outliers" not in report(NUMA_TESTS[:1], num_gpus=1)


@pytest.mark.parametrize("clocks", [None, []])
def test_clocks_that_nothing_held_down_are_no_news(clocks: Sequence[str] | None) -> None:
    assert "reduced" not in report(NUMA_TESTS, clocks=clocks)


def test_clocks_that_were_reduced_are_named_with_the_results_they_spoil() -> None:
    text = report(NUMA_TESTS[:1], num_gpus=1, clocks=["sw_power_cap"])
    assert "the GPU's clocks were reduced (sw_power_cap) during 2 results" in text
