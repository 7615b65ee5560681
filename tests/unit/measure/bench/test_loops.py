"""The tests of `isthmus bench` and the native module's table of loops agree."""

import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.native.device_under_test import DeviceUnderTest
from isthmus.measure.bench.native.places import values_of
from isthmus.measure.bench.native.session import loop_named
from isthmus.measure.bench.tests.bench_test import BenchTest
from isthmus.measure.bench.tests.catalogue import TESTS
from isthmus.measure.machine.placement import Placement

LOOPS = _native.measuring_loops()
NATIVE = [test for test in TESTS if test.loop]
LIMITS = Limits(device_bytes=1 << 32, host_bytes=1 << 32, num_gpus=2)
PLACE = Placement(nodes=[], device_node=None, bound_node=None, cpus=[0])


def test_only_programs_are_no_loops() -> None:
    assert {test.suite.value for test in TESTS if not test.loop} == {"paging"}
    assert {test.loop for test in NATIVE} == {loop.name for loop in LOOPS}


@pytest.mark.parametrize("test", NATIVE, ids=lambda test: test.name)
def test_a_point_has_every_value_of_its_loop(
    test: BenchTest, driver: _native.Driver, context: _native.Context
) -> None:
    device = DeviceUnderTest(driver, context, None, placement=PLACE)
    loop = loop_named(test.loop)
    for size, variation in test.points(Demand(limits=LIMITS, quick=True, managed=True)):
        if variation.cpu_node != "far" and not (test.loop == "managed" and driver.emulated):
            values = values_of(device, test, size, variation)
            assert set(loop.values) - {"stopping"} <= values.keys()


@pytest.mark.parametrize("test", NATIVE, ids=lambda test: test.name)
def test_a_test_s_metrics_are_its_loop_s(test: BenchTest) -> None:
    """A bandwidth is bytes over the time of a copy; of large copies, over that of a life's."""
    own = {"copy_time": "bandwidth"} | ({"life_upload": "bandwidth"} if test.direction else {})
    clocks = {own.get(m.name, m.name): m.clock for m in loop_named(test.loop).metrics}
    for metric in test.metrics:
        clock = "host" if clocks[metric] == "alone" else clocks[metric]
        assert clock in {"either", test.clock(metric)}


def test_what_a_loop_lacks_is_named(context: _native.Context) -> None:
    bench = _native.Bench(context)
    with pytest.raises(UsageError, match="unknown loop 'chase': see measuring_loops"):
        bench.measure("chase", {})
    with pytest.raises(UsageError, match="loop 'pointer_chase' needs the value 'size_bytes'"):
        bench.measure("pointer_chase", {})
    with pytest.raises(UsageError, match="loop 'pointer_chase': 'size_bytes' can't be 'large'"):
        bench.measure("pointer_chase", {"size_bytes": "large"})
    with pytest.raises(UsageError, match="unknown order 'upwards': use strided, random"):
        bench.measure("pointer_chase", {"size_bytes": 4096, "order": "upwards"})
    rule = _native.Stopping()
    given = {"size_bytes": 64, "streams": 1, "direction": "h2d", "stopping": rule}
    with pytest.raises(UsageError, match="this loop needs 1 pairs of buffers"):
        bench.measure("stream_copies", given)
