"""Copies between GPUs: each with each other, and each with all others at once."""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Suite, Variation
from isthmus.measure.bench.tests.many_gpus import (
    ABOUT,
    ENGINES,
    NOT_ALONE,
    Engine,
    ManyGpusTest,
    waived_points,
)
from isthmus.measure.bench.tests.numa import GPU, sizes_of

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
