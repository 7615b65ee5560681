"""
The tests of suite `multi`: all GPUs at once, and copies between GPUs.

Names are nvbandwidth's; the metric `bandwidth` is what it prints.
"""

from dataclasses import dataclass, replace
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation
from isthmus.measure.bench.tests.numa import GPU, sizes_of

NUM_GPUS = "gpus"
Engine = Literal["copy_engine", "multiprocessors"]
ENGINES: dict[Engine, str] = {"copy_engine": "ce", "multiprocessors": "sm"}
ABOUT: dict[Engine, str] = {"copy_engine": "copy engine", "multiprocessors": "SM kernel"}
NOT_ALONE = 2


def waived_points(size_bytes: int) -> list[tuple[int, Variation]]:
    """Give the point of a machine with too few GPUs: its result says so."""
    return [(size_bytes, Variation(axes=((NUM_GPUS, 1),)))]


@dataclass(frozen=True, kw_only=True)
class ManyGpusTest(BenchTest):
    """
    The base of tests of several GPUs.

    Attributes:
        both_ways: While the same copies run in the opposite direction, in other memory.
    """

    engine: Engine
    both_ways: bool = False

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Name what moves the bytes."""
        del size_bytes
        return {"by": self.engine, "under_load": "gpu" in dict(variation.axes)}

    def unit(self, metric: Metric) -> Literal["B/s", "s", "B", "1"]:
        """Every metric is a bandwidth."""
        del metric
        return "B/s"

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """No GPU's clock covers another's copies, so the CPU's clock times all together."""
        return "host" if metric == Metric.AGGREGATE else "device"

    def behind_gate(self, metric: Metric) -> bool:
        """All copies are enqueued before the first begins."""
        del metric
        return True

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Give waived points no weight."""
        if dict(variation.axes).get(NUM_GPUS) == 1:
            return 0.0
        return self._num_samplings(variation) * super().weight(size_bytes, variation)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Divide the share: each metric is sampled by itself."""
        own_s = share_s / self._num_samplings(variation)
        return super().stopping(size_bytes, variation, own_s, emulated=emulated)

    def _num_samplings(self, variation: Variation) -> int:
        """Under load two metrics are sampled, one of them twice."""
        return 3 if Metric.ALONE in self.metrics_in(variation) else 1


@dataclass(frozen=True, kw_only=True)
class AllGpusTest(ManyGpusTest):
    """Copies between the host and all GPUs at once: each alone, each under load, all together."""

    direction: Direction
    loop: str = "all_gpus"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List each GPU, and then all."""
        limits = demand.limits
        sizes = sizes_of(demand)
        if limits.num_gpus < NOT_ALONE:
            return waived_points(sizes[0])
        per_gpu = 2 if self.both_ways else 1
        # All have their buffers at once, so that all can run at once.
        largest_bytes = limits.host_bytes // (limits.num_gpus * per_gpu)
        if demand.sizes is None:
            sizes = [min(size, largest_bytes) for size in sizes]
        together = Variation(axes=((NUM_GPUS, limits.num_gpus),))
        each = [Variation(axes=((GPU, str(gpu)),)) for gpu in range(limits.num_gpus)]
        return [(size, v) for size in sizes if 0 < size <= largest_bytes for v in (*each, together)]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give one GPU's share; points() has checked the total."""
        alone = super().footprint(size_bytes, variation)
        if not self.both_ways:
            return alone
        return replace(alone, host_bytes=2 * size_bytes, device_bytes=2 * size_bytes)

    def metrics_in(self, variation: Variation) -> tuple[Metric, ...]:
        """Under load and alone for one GPU; together for all."""
        if GPU in dict(variation.axes):
            return (Metric.BANDWIDTH, Metric.ALONE)
        return (Metric.AGGREGATE,)

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "pinned"


def _all_gpus(direction: Direction, engine: Engine, *, both_ways: bool = False) -> AllGpusTest:
    ways = "host_to_all" if direction == Direction.HOST_TO_DEVICE else "all_to_host"
    both = ", and in the other direction at once" if both_ways else ""
    return AllGpusTest(
        name=f"{ways}{'_bidirectional' if both_ways else ''}_memcpy_{ENGINES[engine]}",
        about=f"{direction.label} bandwidth of each GPU while all copy{both}, {ABOUT[engine]}",
        suite=Suite.MULTI,
        metrics=(Metric.BANDWIDTH, Metric.ALONE, Metric.AGGREGATE),
        direction=direction,
        engine=engine,
        both_ways=both_ways,
    )


_UP, _DOWN = Direction.HOST_TO_DEVICE, Direction.DEVICE_TO_HOST
ALL_GPUS_TESTS: tuple[AllGpusTest, ...] = (
    *(_all_gpus(direction, "copy_engine") for direction in (_UP, _DOWN)),
    *(_all_gpus(direction, "copy_engine", both_ways=True) for direction in (_UP, _DOWN)),
    *(_all_gpus(direction, "multiprocessors") for direction in (_UP, _DOWN)),
)

PEER = "peer"
Role = Literal["read", "write"]


@dataclass(frozen=True, kw_only=True)
class PeerTest(ManyGpusTest):
    """
    Copies from one GPU's memory to another's.

    Attributes:
        role: Whether the GPU that copies reads the other's memory or writes to it.
    """

    role: Role
    loop: str = "peers"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair each GPU with each other; a quick run takes the first two."""
        sizes, num_gpus = sizes_of(demand), demand.limits.num_gpus
        if num_gpus < NOT_ALONE:
            return waived_points(sizes[0])
        if self.both_ways and demand.sizes is None:
            sizes = [min(size, demand.limits.device_bytes // 2) for size in sizes]
        gpus = range(NOT_ALONE if demand.quick else num_gpus)
        pairs = [(gpu, peer) for gpu in gpus for peer in gpus if gpu != peer]
        return [
            (size, Variation(axes=((GPU, str(gpu)), (PEER, str(peer)))))
            for size in sizes
            for gpu, peer in pairs
        ]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give the memory on each of the two GPUs; the host has none."""
        del variation
        return Footprint(device_bytes=2 * size_bytes if self.both_ways else size_bytes)

    def metrics_in(self, variation: Variation) -> tuple[Metric, ...]:
        """If both directions are busy, each is also timed alone."""
        del variation
        return self.metrics

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the memory that is read and written, relative to the GPU that copies."""
        del metric, variation
        return ("peer", "device") if self.role == "read" else ("device", "peer")


@dataclass(frozen=True, kw_only=True)
class OneGpuTest(ManyGpusTest):
    """
    Copies between one GPU and all others at once; the result is the total.

    Attributes:
        gathers: Whether the one receives from all others, or all others from the one.
    """

    role: Role
    gathers: bool
    loop: str = "one_gpu"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List each GPU; its memory holds as many buffers as there are others."""
        sizes, num_gpus = sizes_of(demand), demand.limits.num_gpus
        if num_gpus < NOT_ALONE:
            return waived_points(sizes[0])
        largest_bytes = demand.limits.device_bytes // (num_gpus - 1)
        if demand.sizes is None:
            sizes = [min(size, largest_bytes) for size in sizes]
        gpus = range(1 if demand.quick else num_gpus)
        return [
            (size, Variation(axes=((GPU, str(gpu)),)))
            for size in sizes
            if 0 < size <= largest_bytes
            for gpu in gpus
        ]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give one other GPU's share; points() has checked that of the one."""
        del variation
        return Footprint(device_bytes=size_bytes)

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """No GPU's clock covers another's copies."""
        del metric
        return "host"

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the memory that is read and written, relative to the one GPU."""
        del metric, variation
        return ("peer", "device") if self.gathers else ("device", "peer")


def _peers(role: Role, engine: Engine, *, both_ways: bool = False) -> PeerTest:
    doing = "reading from" if role == "read" else "writing to"
    both = ", and in the other direction at once" if both_ways else ""
    name = "device_to_device_bidirectional" if both_ways else "device_to_device"
    return PeerTest(
        name=f"{name}_memcpy_{role}_{ENGINES[engine]}",
        about=f"bandwidth of each GPU {doing} each other{both}, {ABOUT[engine]}",
        suite=Suite.MULTI,
        metrics=(Metric.BANDWIDTH, Metric.ALONE) if both_ways else (Metric.BANDWIDTH,),
        direction=None,
        role=role,
        engine=engine,
        both_ways=both_ways,
    )


def _one_gpu(role: Role, engine: Engine, *, gathers: bool) -> OneGpuTest:
    name = "all_to_one" if gathers else "one_to_all"
    ways = "from all others to each GPU" if gathers else "from each GPU to all others"
    return OneGpuTest(
        name=f"{name}_{role}_{ENGINES[engine]}",
        about=f"bandwidth {ways} at once, all together, by {role}s, {ABOUT[engine]}",
        suite=Suite.MULTI,
        metrics=(Metric.BANDWIDTH,),
        direction=None,
        role=role,
        engine=engine,
        gathers=gathers,
    )


_ROLES: tuple[Role, ...] = ("read", "write")
PEER_TESTS: tuple[ManyGpusTest, ...] = (
    *(_peers(role, engine) for engine in ENGINES for role in _ROLES),
    *(_peers(role, engine, both_ways=True) for engine in ENGINES for role in _ROLES),
    *(
        _one_gpu(role, engine, gathers=gathers)
        for engine in ENGINES
        for gathers in (True, False)
        for role in _ROLES
    ),
)

MULTI_TESTS: tuple[ManyGpusTest, ...] = (*ALL_GPUS_TESTS, *PEER_TESTS)
