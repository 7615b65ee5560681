from fakes.runs import run as fake_run
from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.errors import Unavailable
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.derived.catalogue import derived
from isthmus.measure.bench.plan import plan_points
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.bench_test import BenchTest
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result
from isthmus.show.page import Table
from isthmus.show.tables.fitted import fitted_tables
from isthmus.show.tables.memory_kinds import memory_notes, memory_tables
from isthmus.show.tables.waived import waived_lines

DEMAND = Demand(limits=Limits(device_bytes=1 << 30, host_bytes=1 << 30), managed=True)
SLOWER = {"host_to_device_memcpy_sm": 2.0, "host_to_device_memcpy_write_combined": 1.25}


def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
    if "huge_pages" in test.name:
        raise Unavailable(capability="huge pages", reason="there are none", needs="some")
    if test.name == "host_device_latency_sm":
        return FakeMeasurement([FakeSamples("access_latency", [1.2e-6, 1.1e-6, 1.3e-6])])
    if test.name == "managed_page_fault":
        faults = [FakeSamples("device_fault", [2.5e-5])]
        return FakeMeasurement(faults, waived={"host_fault": "pages stay where they are"})
    seconds = SLOWER.get(test.name, 1.0) * (2e-6 + size_bytes / 50e9)
    return FakeMeasurement([FakeSamples("copy_time", [seconds])])


def run_of(*names: str) -> Run:
    plan = plan_points([BY_NAME[name] for name in names], DEMAND)
    session = FakeSession(answer)
    results: list[Result] = run_points(
        session, plan.points, RunSettings(budget_s=1.0), Watcher()
    ).results
    return fake_run().model_copy(update={"results": [*results, *derived(results)]})


def tables(run: Run) -> list[Table]:
    return [*memory_tables(run), *fitted_tables(run)]


def table(run: Run, beginning: str) -> Table:
    (found,) = [each for each in tables(run) if each.title.startswith(beginning)]
    return found


def test_kinds_of_memory_stand_beside_pinned_memory_direction_by_direction() -> None:
    run = run_of(
        "host_to_device_memcpy_ce",
        "host_to_device_memcpy_sm",
        "host_to_device_memcpy_write_combined",
        "device_to_host_memcpy_pool",
    )
    up = table(run, "H2D by kind of memory")
    assert up.heads == ("size", "pinned", "write-combined", "mapped")
    sizes = [row[0] for row in up.rows]
    assert (sizes[0], sizes[-1]) == ("4 B", "256 MiB")
    pinned, combined, mapped = map(float, up.rows[-1][1:])
    assert pinned / mapped == float(f"{pinned / mapped:.6f}")
    assert 1.9 < pinned / mapped < 2.1
    assert 1.2 < pinned / combined < 1.3
    assert table(run, "D2H by kind of memory").heads == ("size", "device pool")


def test_pinned_and_pageable_memory_alone_need_no_table_of_kinds() -> None:
    run = run_of("host_to_device_memcpy_ce", "host_to_device_memcpy_pageable")
    assert [each.title for each in tables(run)] == ["Lines through the times"]


def test_what_cannot_run_here_is_called_waived() -> None:
    run = run_of("host_to_device_memcpy_huge_pages")
    assert {row[1] for row in table(run, "H2D by kind").rows} == {"waived"}


def test_zeros_and_offsets_stand_beside_what_they_are_held_to() -> None:
    run = run_of("host_to_device_memcpy_contents", "device_to_host_memcpy_offset")
    contents = table(run, "Random bytes against zeros")
    assert [row[:3] for row in contents.rows[:2]] == [
        ("H2D", "64 KiB", "random"),
        ("H2D", "64 KiB", "zeros"),
    ]
    assert {row[-1] for row in contents.rows} == {"1.00x"}
    offsets = table(run, "Offset of host and device side")
    assert offsets.rows[0][:3] == ("D2H", "4 KiB", "0 B / 0 B")
    assert ("D2H", "16 MiB", "1 B / 1 B") in {row[:3] for row in offsets.rows}


def test_managed_memory_has_a_column_for_each_way_and_direction() -> None:
    run = run_of("host_to_device_managed_demand", "device_to_host_managed_prefetched")
    managed = table(run, "Managed memory")
    assert managed.heads == ("size", "H2D demand", "D2H prefetched")
    assert [row[0] for row in managed.rows] == ["1 MiB", "16 MiB", "128 MiB", "512 MiB"]
    assert any(line.startswith("managed:") for line in memory_notes(run))


def test_a_fitted_line_says_start_bandwidth_half_size_and_error() -> None:
    lines = table(run_of("host_to_device_memcpy_registered"), "Lines through the times")
    ((test, where, start, rate, half, error),) = lines.rows
    assert (test, where) == ("host_to_device_memcpy_registered", "")
    assert (start, rate, error) == ("2.00", "50.00", "0%")
    assert half == "97.7 KiB"


def test_faults_are_in_microseconds_a_page_and_waived_ones_say_why() -> None:
    run = run_of("managed_page_fault")
    assert table(run, "Faults of managed memory").rows == (
        ("device", "25.00", "25.00", "25.00", "1"),
        ("host", "waived", "", "", ""),
    )
    assert waived_lines(run) == ["not measured, latency (1): pages stay where they are"]


def test_loads_by_a_kernel_are_in_nanoseconds() -> None:
    chase = table(run_of("host_device_latency_sm"), "Loads of host memory")
    assert chase.rows[0] == ("strided", "2 MiB", "1200.0", "1100.0", "1298.0", "3")
    assert chase.rows[1][0] == "random"
