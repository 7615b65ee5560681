"""What suites numa and multi plan on other machines."""

from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.plan import plan_points
from isthmus.measure.bench.tests.catalogue import BY_NAME, Variation
from isthmus.measure.bench.tests.multi import MULTI_TESTS, AllGpusTest, OneGpuTest, PeerTest
from isthmus.measure.bench.tests.numa import NUMA_TESTS, USUAL_BYTES

GIB = 1 << 30
MIB = 1 << 20


def limits(*, num_gpus: int = 1, cpu_nodes: tuple[int, ...] = (0,), host: int = 64) -> Limits:
    return Limits(
        device_bytes=64 * GIB, host_bytes=host * GIB, num_gpus=num_gpus, cpu_nodes=cpu_nodes
    )


def axes_of(name: str, demand: Demand) -> list[dict[str, str | int]]:
    return [dict(variation.axes) for _, variation in BY_NAME[name].points(demand)]


def test_every_cpu_node_meets_every_gpu() -> None:
    demand = Demand(limits=limits(num_gpus=3, cpu_nodes=(0, 2)))
    pairs = [(axes["node"], axes["gpu"]) for axes in axes_of(NUMA_TESTS[0].name, demand)]
    assert pairs == [("0", "0"), ("0", "1"), ("0", "2"), ("2", "0"), ("2", "1"), ("2", "2")]


def test_a_machine_with_one_node_has_one_row() -> None:
    for test in NUMA_TESTS:
        assert len(test.points(Demand(limits=limits()))) == 1


def test_the_clock_is_the_gpus_where_copies_can_wait_for_each_other() -> None:
    clocks = {test.name: test.clock(test.metrics[0]) for test in NUMA_TESTS}
    assert clocks["numa_host_to_device_memcpy_ce"] == "device"
    assert clocks["numa_host_to_device_memcpy_pageable"] == "host"


def test_all_gpus_are_measured_one_by_one_and_then_together() -> None:
    demand = Demand(limits=limits(num_gpus=2))
    points = BY_NAME["host_to_all_memcpy_ce"].points(demand)
    assert [dict(variation.axes) for _, variation in points] == [
        {"gpu": "0"},
        {"gpu": "1"},
        {"gpus": 2},
    ]
    test = BY_NAME["host_to_all_memcpy_ce"]
    assert [test.metrics_in(variation) for _, variation in points] == [
        ("bandwidth", "alone"),
        ("bandwidth", "alone"),
        ("aggregate",),
    ]
    assert test.clock(test.metrics_in(points[-1][1])[0]) == "host"


def test_each_gpu_copies_to_each_other_but_not_to_itself() -> None:
    demand = Demand(limits=limits(num_gpus=3))
    pairs = {(a["gpu"], a["peer"]) for a in axes_of("device_to_device_memcpy_read_ce", demand)}
    assert len(pairs) == 6
    assert all(gpu != peer for gpu, peer in pairs)
    quick = Demand(limits=limits(num_gpus=3), quick=True)
    assert len(axes_of("device_to_device_memcpy_read_ce", quick)) == 2


def test_with_one_gpu_each_test_has_one_point_that_will_be_waived_and_takes_no_time() -> None:
    for test in MULTI_TESTS:
        ((size, variation),) = test.points(Demand(limits=limits()))
        assert variation == Variation(axes=(("gpus", 1),))
        assert test.weight(size, variation) == 0


def test_all_gpus_buffers_fit_into_the_hosts_memory_together() -> None:
    for name, per_gpu in (
        ("host_to_all_memcpy_ce", 1),
        ("host_to_all_bidirectional_memcpy_ce", 2),
    ):
        tight = Limits(device_bytes=GIB, host_bytes=128 * MIB, num_gpus=8)
        points = BY_NAME[name].points(Demand(limits=tight))
        assert points
        assert all(size * 8 * per_gpu <= tight.host_bytes for size, _ in points)
        assert BY_NAME[name].points(Demand(limits=tight, sizes=[64 * MIB])) == []


def test_sizes_are_the_usual_one_or_those_that_were_asked_for() -> None:
    test = BY_NAME["device_to_device_memcpy_write_sm"]
    two = limits(num_gpus=2)
    assert {size for size, _ in test.points(Demand(limits=two))} == {USUAL_BYTES}
    assert {size for size, _ in test.points(Demand(limits=two, sizes=[4, MIB]))} == {4, MIB}


def test_reads_and_writes_are_seen_from_the_gpu_that_copies() -> None:
    for test in MULTI_TESTS:
        if isinstance(test, PeerTest):
            ends = test.ends(test.metrics[0], Variation())
            assert ends == (("peer", "device") if test.role == "read" else ("device", "peer"))
        elif isinstance(test, OneGpuTest):
            ends = test.ends(test.metrics[0], Variation())
            assert ends == (("peer", "device") if test.gathers else ("device", "peer"))
            assert test.clock(test.metrics[0]) == "host"
        elif isinstance(test, AllGpusTest):
            assert "pinned" in test.ends(test.metrics[0], Variation())


def test_names_are_nvbandwidths() -> None:
    names = {test.name for test in MULTI_TESTS}
    assert {
        "all_to_host_memcpy_ce",
        "host_to_all_memcpy_sm",
        "host_to_all_bidirectional_memcpy_ce",
        "device_to_device_memcpy_read_ce",
        "device_to_device_bidirectional_memcpy_write_sm",
        "all_to_one_write_ce",
        "one_to_all_read_sm",
    } <= names


def test_the_plan_takes_them_as_they_are() -> None:
    demand = Demand(limits=limits(num_gpus=2, cpu_nodes=(0, 1)))
    plan = plan_points([*NUMA_TESTS, *MULTI_TESTS], demand)
    assert len(plan.points) == sum(len(test.points(demand)) for test in (*NUMA_TESTS, *MULTI_TESTS))


def test_one_gpu_has_as_many_buffers_as_there_are_others() -> None:
    tight = Limits(device_bytes=70 * MIB, host_bytes=GIB, num_gpus=8)
    test = BY_NAME["all_to_one_read_ce"]
    assert {size for size, _ in test.points(Demand(limits=tight))} == {10 * MIB}
    assert test.points(Demand(limits=tight, sizes=[11 * MIB])) == []
