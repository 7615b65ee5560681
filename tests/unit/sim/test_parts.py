"""Statistics by kernel, allocation and page: their sums are the run's."""

from pathlib import Path

import numpy as np
import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.sim import TraceWriter
from isthmus.sim.machine_files import load_machine
from isthmus.sim.parts import COLUMNS, By, Row, parts_of, parts_table, rows_of
from isthmus.sim.policy import default_policy
from isthmus.sim.result import SimulationResult
from isthmus.sim.running import open_source, run
from isthmus.sim.settings import Setup, with_settings
from isthmus.sim.timeline import new_timeline

pytestmark = pytest.mark.native

# Workload, machine, policy, settings.
RUNS = [
    ("bfs", "paper-gtx480", "ranges", {}),
    ("nqu", "paper-gtx480", "whole-page", {}),
    ("lps", "paper-gtx480", "programmer", {}),
    ("bfs", "h100-pcie5", "zero-copy", {}),
    ("kv-decode", "gh200-c2c", "tree", {"partitions.memory": "20MiB"}),
]


def parts(
    workload: str | Path, machine: str, policy: str, settings: dict[str, str], by: By
) -> tuple[SimulationResult, list[Row]]:
    setup = with_settings(
        Setup(machine=load_machine(machine), policy=default_policy(policy)), settings
    )
    source = open_source(workload)
    names = parts_of(source.program, by, setup.policy.page)
    events = new_timeline(0, names)
    result = run(source, setup, timeline=events)
    return result, rows_of(by, names, source.program, result, events)


def total(rows: list[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)


@pytest.mark.parametrize(("workload", "machine", "policy", "settings"), RUNS)
def test_what_kernels_count_is_what_the_run_counts(
    workload: str, machine: str, policy: str, settings: dict[str, str]
) -> None:
    result, rows = parts(workload, machine, policy, settings, By.KERNEL)
    flat = result.flat()
    assert {name: total(rows, name) for name in COLUMNS[By.KERNEL][3:]} == {
        name: flat[name] for name in COLUMNS[By.KERNEL][3:]
    }
    assert total(rows, "time_ps") == result.kernel_ps
    assert total(rows, "launches") == len(result.launch_ps)
    assert all(int(row[name]) >= 0 for row in rows for name in COLUMNS[By.KERNEL][1:])


@pytest.mark.parametrize("by", [By.ALLOCATION, By.PAGE])
@pytest.mark.parametrize(("workload", "machine", "policy", "settings"), RUNS)
def test_bytes_and_transfers_of_parts_are_the_run_s(
    workload: str, machine: str, policy: str, settings: dict[str, str], by: By
) -> None:
    result, rows = parts(workload, machine, policy, settings, by)
    assert total(rows, "migrated_bytes") == result.traffic_bytes["migrated_to_gpu"]
    assert total(rows, "transfers") == result.counts["transfers"]
    if policy == "zero-copy":
        remote = result.traffic_bytes["remote_to_gpu"] + result.traffic_bytes["remote_to_cpu"]
        assert total(rows, "in_place_bytes") == remote > 0
    assert (total(rows, "evicted_bytes") > 0) == (result.counts["evictions"] > 0)
    assert (total(rows, "waited_ps") > 0) == (result.stall_ps["migration_ps"] > 0) or (
        policy == "zero-copy"
    )


def test_watching_changes_nothing() -> None:
    result, _ = parts("bfs", "paper-gtx480", "ranges", {}, By.PAGE)
    setup = Setup(machine=load_machine("paper-gtx480"), policy=default_policy("ranges"))
    assert run(open_source("bfs"), setup).event_digest == result.event_digest


@pytest.fixture
def two_arrays(tmp_path: Path) -> Path:
    """A kernel that reads all of an array, twice launched, and one that reads a byte of another."""
    path = tmp_path / "two.arrow"
    with TraceWriter(path, name="two") as trace:
        near = trace.allocate("near", 8 * 1024, address=0x40000000)
        far = trace.allocate("far", 4096, address=0x50000000)
        for name, begin, count in (("all", near, 64), ("one", far, 1), ("all", near, 64)):
            trace.launch(name, num_ctas=1, threads_per_cta=32)
            lines = begin + 128 * np.arange(count)
            trace.write("load", lines, warps=np.zeros(count, int), size_bytes=128)
    return path


def test_each_allocation_has_what_its_kernels_read(two_arrays: Path) -> None:
    _, rows = parts(two_arrays, "paper-gtx480", "bitmap", {"policy.unit": "1KiB"}, By.ALLOCATION)
    assert [(row["allocation"], row["migrated_bytes"], row["touched_bytes"]) for row in rows] == [
        ("near", 8192, 8192),
        ("far", 1024, 128),
    ]
    assert [row["transfers"] for row in rows] == [8, 1]
    assert all(int(row["waited_ps"]) > 0 for row in rows)


def test_launches_of_one_name_are_one_kernel(two_arrays: Path) -> None:
    result, rows = parts(two_arrays, "paper-gtx480", "bitmap", {}, By.KERNEL)
    assert [(row["kernel"], row["launches"], row["line_requests"]) for row in rows] == [
        ("all", 2, 128),
        ("one", 1, 1),
    ]
    lengths = (result.launch_ps[:, 1] - result.launch_ps[:, 0]).tolist()
    assert [row["time_ps"] for row in rows] == [lengths[0] + lengths[2], lengths[1]]
    assert [row["bytes_migrated_to_gpu"] for row in rows] == [8192, 1024]


def test_bytes_beyond_an_allocation_s_end_are_elsewhere(two_arrays: Path) -> None:
    _, rows = parts(two_arrays, "paper-gtx480", "whole-page", {}, By.ALLOCATION)
    assert [(row["allocation"], row["migrated_bytes"]) for row in rows] == [
        ("near", 8192),
        ("far", 4096),
        ("elsewhere", 2 * (2 << 20) - 8192 - 4096),
    ]


def test_pages_are_those_of_the_policy(two_arrays: Path) -> None:
    small = {"policy.page": "4KiB", "policy.unit": "4KiB"}
    _, rows = parts(two_arrays, "paper-gtx480", "bitmap", small, By.PAGE)
    assert [(row["page"], row["migrated_bytes"]) for row in rows] == [
        ("0x40000000", 4096),
        ("0x40001000", 4096),
        ("0x50000000", 4096),
    ]


def test_more_pages_than_can_be_counted_are_refused() -> None:
    program = _native.TraceProgram(
        "large",
        description="",
        synthetic=False,
        allocations=[_native.TraceAllocation("all", 0, 1 << 45)],
        launches=[],
        after=[],
        thread_instructions=0,
    )
    with pytest.raises(UsageError, match="more than 4194304 pages of 4 KiB") as refused:
        parts_of(program, By.PAGE, 4096)
    assert "--by allocation" in str(refused.value.hint)


def test_of_many_pages_those_that_cost_most_are_shown() -> None:
    rows: list[Row] = [
        dict.fromkeys(COLUMNS[By.PAGE], 0) | {"page": hex(at), "waited_ps": at * 10**6}
        for at in range(100)
    ]
    table = parts_table("tree", By.PAGE, rows)
    assert table.title == "tree: the 40 of 100 with the longest waits; .csv has all"
    assert [row[0] for row in table.rows] == [hex(at) for at in range(99, 59, -1)]
