"""
A machine to simulate: every parameter with its unit.

The simulator's own description of each, with defaults, is cpp/src/sim/machine.hpp; where the
values of a machine come from is said beside them in its TOML file.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from isthmus.run.record import Record
from isthmus.sim.quantities import (
    Bandwidth,
    Count,
    Duration,
    Extent,
    Frequency,
    Memory,
    Number,
    Size,
)

LINE_BYTES = 128
"""What warps' requests are cut into: kLineBytes of cpp/src/trace/trace.hpp."""


class Handling(StrEnum):
    """How a driver goes about faults."""

    EACH = "each"
    """Side by side: each is late by the latency."""
    BATCH = "batch"
    """A batch at a time: what arrives meanwhile waits for the next."""
    SERIAL = "serial"
    """One after the other."""


class Curve(StrEnum):
    """How a link's bandwidth depends on the size of a transfer."""

    NONE = "none"
    ATAN = "atan"
    """
    bandwidth x 2/pi x atan(0.07292 x size in KiB), as UVMSmart has it, but without its halving
    from 2 MiB on.
    """


class Cores(Record):
    """Streaming multiprocessors (the paper: compute units)."""

    count: Number
    """How many."""
    clock: Frequency
    """Of cores, caches and network; every count of cycles is of it."""
    max_warps: Number
    """Resident on one core."""
    max_ctas: Number
    """Resident on one core, if registers and shared memory allow."""
    issue_per_cycle: Number
    """Warp instructions of one core."""
    dependent_issue_cycles: Number
    """From one instruction of a warp to its next."""
    lines_per_cycle: Number
    """That a core's load/store unit takes."""


class L1Cache(Record):
    """One core's first-level cache."""

    size: Size
    """0: no such cache."""
    ways: Number
    """Lines in a set."""
    hit_cycles: Count
    """Until a hit is there."""
    misses: Number
    """Lines on their way at once."""
    merges: Number
    """Requests that wait for one of them."""

    @model_validator(mode="after")
    def _whole_sets(self) -> Self:
        _check_sets("l1.size", self.size, self.ways)
        return self


class Tlb(Record):
    """Address translation. A miss lets later hits pass."""

    entries: Number
    """Of one core's TLB."""
    ways: Count
    """Entries in a set; 0: fully associative."""
    ports: Number
    """Look-ups in a cycle."""
    shared_entries: Count
    """Of the second level, of all cores; 0: none."""
    shared_ways: Count
    """Entries in a set of it; 0: fully associative."""
    shared_cycles: Count
    """Of a look-up in it."""
    walk_cycles: Count
    """Of a page walk."""
    walkers: Count
    """Walks at once; 0: as many as are asked for."""


class Network(Record):
    """Between cores and memory partitions."""

    latency_cycles: Count
    """One way."""
    port_bytes_per_cycle: Number
    """Of one partition."""
    partition_stripe: Extent
    """Neighbours of this size lie in other partitions."""


class Partitions(Record):
    """Memory partitions: an L2 slice and a DRAM channel each."""

    count: Number
    """How many."""
    l2_size: Size
    """Of one; 0: no L2."""
    l2_ways: Number
    """Lines in a set."""
    l2_cycles: Count
    """Look-up and return."""
    dram_bandwidth: Bandwidth
    """Of one."""
    dram_cycles: Count
    """Latency of memory beside the time for the bytes."""
    memory: Memory
    """Of the GPU in all; what doesn't fit is evicted."""

    @model_validator(mode="after")
    def _whole_sets(self) -> Self:
        _check_sets("partitions.l2_size", self.l2_size, self.l2_ways)
        return self


class Gmmu(Record):
    """The GPU's memory management unit, which asks the CPU for pages."""

    buffer_entries: Number
    """Migrations under way; a request that finds it full waits. Of whom: options.buffer_scope."""
    query_cycles: Count
    """Of reading and changing a page's state."""


class LinkCost(Record):
    """One point of a measured link: a transfer of a size, and how long it keeps the link busy."""

    size: Memory
    busy: Duration


class Link(Record):
    """Between CPU and GPU."""

    bandwidth: Bandwidth
    """To the GPU."""
    back_bandwidth: Bandwidth
    """To the CPU."""
    latency: Duration
    """From a request to its first byte."""
    packet: Size
    """Most bytes in a packet; 0: no packets."""
    packet_overhead: Size
    """Bytes that a packet has beside."""
    half_duplex: bool
    """Whether the two directions share the link."""
    curve: Curve = Curve.NONE
    """Lower bandwidth for small transfers."""
    costs: Annotated[list[LinkCost], Field(default_factory=list)]
    """In place of bandwidth and packets, by rising size; straight lines between."""

    @model_validator(mode="after")
    def _one_description(self) -> Self:
        if self.costs and self.curve is not Curve.NONE:
            raise ValueError("a link has either costs or a curve")
        sizes = [cost.size for cost in self.costs]
        if sizes != sorted(set(sizes)):
            raise ValueError("a link's costs must be given by rising size")
        return self


class Faults(Record):
    """What a page fault costs before its migration starts."""

    latency: Duration
    """0: hardware that asks for pages itself, as the paper assumes."""
    handling: Handling
    """Side by side, in batches, or one by one."""
    batch_faults: Number
    """Most in a batch."""


class Launch(Record):
    """Of a kernel."""

    latency: Duration
    """Before each."""


class Machine(Record):
    """The whole file."""

    schema_version: Literal[1]
    name: str
    """As --machine takes it."""
    description: str
    """One line."""
    cores: Cores
    l1: L1Cache
    tlb: Tlb
    network: Network
    partitions: Partitions
    gmmu: Gmmu
    link: Link
    faults: Faults
    launch: Launch


def _check_sets(name: str, size_bytes: int, ways: int) -> None:
    if size_bytes % (ways * LINE_BYTES):
        raise ValueError(
            f"{name}: {size_bytes} B are no whole number of sets of {ways} lines of {LINE_BYTES} B"
        )
