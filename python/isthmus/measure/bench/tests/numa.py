"""The tests of suite `numa`: each CPU node with each GPU."""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Demand
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation
from isthmus.measure.run.naming import Kind, directed_name

NODE, GPU = "node", "gpu"
_MIB = 1 << 20
# Bandwidth no longer grows here, and it is small enough for each node of a large machine in turn.
USUAL_BYTES = 64 * _MIB
QUICK_BYTES = 8 * _MIB


def sizes_of(demand: Demand) -> list[int]:
    """Choose sizes: those requested, or one at which bandwidth no longer grows."""
    if demand.sizes is not None:
        return list(demand.sizes)
    usual_bytes = QUICK_BYTES if demand.quick else USUAL_BYTES
    return [min(usual_bytes, demand.limits.largest_bytes)]


@dataclass(frozen=True, kw_only=True)
class NumaTest(BenchTest):
    """Copies with thread and host memory on one CPU node."""

    direction: Direction
    host_memory: Literal["pinned", "pageable"]
    loop: str = "node_copies"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give the node, and how its memory is copied."""
        del size_bytes
        return {"node": int(dict(variation.axes)[NODE]), "blocked": self.blocked}

    @property
    def blocked(self) -> bool:
        """Whether copies wait behind a gate; pageable ones can't."""
        return self.host_memory == "pinned"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair each CPU node with each GPU."""
        limits = demand.limits
        return [
            (size, Variation(axes=((NODE, str(node)), (GPU, str(gpu)))))
            for size in sizes_of(demand)
            for node in limits.cpu_nodes
            for gpu in range(limits.num_gpus)
        ]

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        del metric
        return "device" if self.blocked else "host"

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        del metric
        return self.blocked

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return self.host_memory


def _test(direction: Direction, host_memory: Literal["pinned", "pageable"]) -> NumaTest:
    name = directed_name(direction, Kind.MEMCPY, "ce" if host_memory == "pinned" else "pageable")
    return NumaTest(
        name=f"numa_{name}",
        about=f"{direction.label} bandwidth of each CPU node with each GPU, {host_memory}",
        suite=Suite.NUMA,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
        host_memory=host_memory,
    )


NUMA_TESTS: tuple[NumaTest, ...] = (
    _test(Direction.HOST_TO_DEVICE, "pinned"),
    _test(Direction.DEVICE_TO_HOST, "pinned"),
    _test(Direction.HOST_TO_DEVICE, "pageable"),
    _test(Direction.DEVICE_TO_HOST, "pageable"),
)
