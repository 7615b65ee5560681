"""The tests of suite `host`: copies within host memory, which limit all staged copies."""

from dataclasses import dataclass
from itertools import product
from typing import Literal

from isthmus.ground.sizes import powers_of_two
from isthmus.measure.bench.demand import Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Suite, Variation

FROM_NODE, TO_NODE = "from_node", "to_node"
_KIB, _MIB = 1 << 10, 1 << 20
# The caches of a core, of a socket, and memory.
_SWEEP = powers_of_two(16 * _KIB, 1 << 30)[::4]
_MAX_QUICK_BYTES = 64 * _MIB
_NODE_BYTES = 256 * _MIB

Stores = Literal["libc", "cached", "streaming"]


@dataclass(frozen=True, kw_only=True)
class HostCopyTest(BenchTest):
    """
    One way to copy within host memory.

    Attributes:
        stores: How a core stores: as libc's memcpy does, never bypassing the caches, or always.
        each_node: From every NUMA node to every other; otherwise by one core and by all.
    """

    stores: Stores
    each_node: bool = False
    loop: str = "host_memcpy"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with numbers of threads, or with nodes."""
        limits = demand.limits
        if self.each_node:
            return [
                (size, _between(source, target, limits.num_cores))
                for size in self._node_sizes(demand)
                for source, target in product(limits.cpu_nodes, repeat=2)
            ]
        threads = sorted({1, limits.num_cores})
        return [
            (size, Variation(num_threads=num_threads))
            for num_threads in threads
            for size in self._sizes(demand)
        ]

    def _sizes(self, demand: Demand) -> list[int]:
        most = demand.limits.host_bytes // 2
        if demand.quick or demand.emulated:
            most = min(most, _MAX_QUICK_BYTES)
        if demand.sizes is not None:
            return list(demand.sizes)
        fitting = [size for size in _SWEEP if size <= most]
        return fitting[-1:] if demand.quick else fitting

    def _node_sizes(self, demand: Demand) -> list[int]:
        if demand.sizes is not None:
            return list(demand.sizes)
        wanted = _MAX_QUICK_BYTES if demand.quick or demand.emulated else _NODE_BYTES
        return [max(1, min(wanted, demand.limits.host_bytes // 2))]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Two buffers, both on the host."""
        del variation
        return Footprint(host_bytes=2 * size_bytes)

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Use a small weight: a sample takes a millisecond or one copy."""
        del variation
        return 0.3 + size_bytes / (128 * _MIB)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Sample as bandwidths are sampled; an emulated device changes nothing here."""
        del size_bytes, variation, emulated
        return StoppingRule(min_samples=5, max_samples=200, max_seconds=share_s, relative_iqr=0.005)

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Both ends are on the host."""
        del metric, variation
        return "host", "host"


def _between(source: int, target: int, num_threads: int) -> Variation:
    return Variation(
        num_threads=num_threads,
        axes=((FROM_NODE, f"{source}"), (TO_NODE, f"{target}")),
    )


def _test(name: str, about: str, stores: Stores, *, each_node: bool = False) -> HostCopyTest:
    return HostCopyTest(
        name=name,
        about=about,
        suite=Suite.HOST,
        metrics=(Metric.BANDWIDTH,),
        direction=None,
        stores=stores,
        each_node=each_node,
    )


HOST_TESTS: tuple[HostCopyTest, ...] = (
    _test("host_memcpy", "copies within host memory, libc's memcpy, one core and all", "libc"),
    _test(
        "host_memcpy_cached",
        "copies within host memory that stay in the caches: 64 KiB a call, one core and all",
        "cached",
    ),
    _test(
        "host_memcpy_non_temporal",
        "copies within host memory past the caches, one core and all",
        "streaming",
    ),
    _test(
        "host_memcpy_node_to_node",
        "copies from each NUMA node to each, by all cores of the first",
        "libc",
        each_node=True,
    ),
)
