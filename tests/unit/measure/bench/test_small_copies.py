"""Small copies: which are planned, described and shown."""

from dataclasses import replace

from fakes.latency import ROOMY, results_of, run_of
from fakes.session import FakeMeasurement, FakeSamples, FakeSession
from isthmus.measure.bench.demand import Demand
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, Variation
from isthmus.measure.bench.tests.catalogue import BY_NAME, BenchTest
from isthmus.measure.bench.tests.experiments import EXPERIMENT_TESTS
from isthmus.measure.bench.tests.small_copies import SMALL_COPY_TESTS, Method
from isthmus.show.tables.small_copies import comparison_lines, small_copy_tables
from isthmus.show.tables.waived import waived_lines

KIB = 1 << 10
ASYNC = BY_NAME["host_to_device_small_copy_async"]
HOME_BY_CPU, HOME_BY_GPU, ROUND = EXPERIMENT_TESTS


def points_of(test: BenchTest, demand: Demand) -> list[tuple[int, Variation]]:
    return test.points(demand)


def test_there_is_a_test_for_each_way_in_each_direction() -> None:
    assert len(SMALL_COPY_TESTS) == 2 * len(Method)
    assert {test.method for test in SMALL_COPY_TESTS} == set(Method)


def test_small_copies_are_swept_from_1_b_to_64_kib_warm_and_some_cold() -> None:
    points = points_of(ASYNC, Demand(limits=ROOMY))
    warm = [size for size, variation in points if variation == PLAIN]
    assert (warm[0], warm[-1]) == (1, 64 * KIB)
    assert warm == sorted(warm)
    cold = [size for size, variation in points if variation.cpu_cache == "cold"]
    assert cold == [4, 4 * KIB, 64 * KIB]


def test_cold_bytes_are_measured_only_where_they_say_something_new() -> None:
    with_cold = {
        test.method
        for test in SMALL_COPY_TESTS
        if any(variation != PLAIN for _, variation in test.points(Demand(limits=ROOMY)))
    }
    assert with_cold == {Method.BLOCKING, Method.ASYNC, Method.KERNEL, Method.WINDOW}


def test_of_the_sizes_asked_for_small_copies_take_the_small_ones() -> None:
    demand = Demand(limits=ROOMY, sizes=[8, 64 * KIB, 1 << 20])
    assert points_of(ASYNC, demand) == [(8, PLAIN), (64 * KIB, PLAIN)]
    assert points_of(ASYNC, replace(demand, sizes=[1 << 20])) == [(4, PLAIN)]


def test_a_quick_run_copies_4_bytes() -> None:
    demand = Demand(limits=ROOMY, quick=True)
    assert points_of(ASYNC, demand) == [(4, PLAIN)]
    assert [size for size, _ in points_of(ROUND, demand)] == [4]


def test_latencies_name_the_memory_that_the_copier_sees() -> None:
    ends = {test.name: test.ends(Metric.COMPLETION, PLAIN) for test in SMALL_COPY_TESTS}
    assert ends["host_to_device_small_copy_blocking"] == ("pageable", "device")
    assert ends["device_to_host_small_copy_sm"] == ("device", "mapped")
    assert ends["device_to_host_small_copy_graph"] == ("device", "pinned")


def test_only_what_is_in_a_stream_and_can_wait_is_timed_behind_a_gate() -> None:
    gated = {test.method for test in SMALL_COPY_TESTS if test.behind_gate(Metric.EVENT_DELTA)}
    assert gated == {Method.ASYNC, Method.BATCH, Method.GRAPH, Method.KERNEL}
    assert not any(test.behind_gate(Metric.COMPLETION) for test in SMALL_COPY_TESTS)


def test_the_report_shows_one_size_in_full_and_each_latency_by_size() -> None:
    full, *by_size = small_copy_tables(run_of(results_of(SMALL_COPY_TESTS)))
    assert full.title == "Copies of 4 B, microseconds"
    assert {row[0] for row in full.rows} >= {"H2D async", "D2H window"}
    assert len(by_size) == 5
    heads = by_size[0].heads
    assert heads[:4] == ("copy", "bytes", "blocking", "async")
    assert [row[:2] for row in by_size[0].rows][:2] == [("H2D", "1 B"), ("H2D", "4 B")]
    # Three sizes are copied with cold caches, too.
    assert [row[0] for row in by_size[0].rows].count("H2D cold") == 3
    assert len(by_size[0].rows) == 2 * (9 + 3)


def test_one_size_needs_no_table_by_size() -> None:
    results = results_of(SMALL_COPY_TESTS, demand=Demand(limits=ROOMY, quick=True))
    assert len(small_copy_tables(run_of(results))) == 1


def test_ways_are_held_against_a_blocking_copy_of_the_same_size() -> None:
    up, down, ways = comparison_lines(run_of(results_of(SMALL_COPY_TESTS)))
    assert up.startswith("H2D completion over blocking: async 1.00x (10.00 / 10.00 us), batch")
    assert down.startswith("D2H completion over blocking: async")
    assert ways.startswith("completion, D2H / H2D: blocking 1.00x")


def test_what_is_waived_for_one_reason_is_one_line() -> None:
    def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
        del size_bytes
        kept = [FakeSamples(metric, [1e-5] * 3) for metric in test.metrics[:-1]]
        return FakeMeasurement(kept, waived={"visible": "nobody looks"})

    tests = [test for test in SMALL_COPY_TESTS if test.method in {Method.ASYNC, Method.BATCH}]
    demand = Demand(limits=ROOMY, quick=True)
    results = results_of(tests, FakeSession(answer), demand=demand)
    assert waived_lines(run_of(results)) == ["not measured, latency (4): nobody looks"]
