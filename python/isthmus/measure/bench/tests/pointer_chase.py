"""The latency of a kernel's load from host memory."""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, BenchTest, Direction, Suite, Variation

_MIB = 1 << 20
# The size of nvbandwidth's test of this name.
_CHAIN_BYTES = 2 * _MIB
# More than a GPU's first translation buffers cover.
_LONG_CHAIN_BYTES = 16 * _MIB
_RANDOM = Variation(axes=(("order", "random"),))


@dataclass(frozen=True, kw_only=True)
class PointerChaseTest(BenchTest):
    """A chain of pointers in host memory that a kernel follows, in order or in random order."""

    loop: str = "pointer_chase"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Follow the lines in order as nvbandwidth does, then in random order."""
        points = [(_CHAIN_BYTES, PLAIN), (_CHAIN_BYTES, _RANDOM)]
        return points if demand.quick else [*points, (_LONG_CHAIN_BYTES, _RANDOM)]

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Say in which order lines are visited."""
        del size_bytes
        return {"order": dict(variation.axes).get("order", "strided")}

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the chain on the host, and almost nothing on the device."""
        del variation
        return Footprint(host_bytes=size_bytes)

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Time a round by events: it takes milliseconds."""
        del metric
        return "device"

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory that the chain is in."""
        del metric
        return "mapped"


POINTER_CHASE_TESTS: tuple[PointerChaseTest, ...] = (
    PointerChaseTest(
        name="host_device_latency_sm",
        about="latency of a load of host memory by a kernel that follows pointers",
        suite=Suite.LATENCY,
        metrics=(Metric.ACCESS_LATENCY,),
        direction=Direction.HOST_TO_DEVICE,
    ),
)
