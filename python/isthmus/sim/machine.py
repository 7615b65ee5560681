"""
A machine to simulate: every parameter with its unit.

The simulator's own description of each, with defaults, is cpp/src/sim/machine.hpp. A machine's TOML
file has the source of each value.
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
"""The unit of warps' requests: kLineBytes of cpp/src/trace/trace.hpp."""


class Handling(StrEnum):
    """How a driver handles faults."""

    EACH = "each"
    """In parallel: each takes the latency."""
    BATCH = "batch"
    """A batch at a time: faults that arrive meanwhile wait for the next."""
    SERIAL = "serial"
    """One after the other."""
    LANES = "lanes"
    """As each, but without a driver: lanes fetch what they lack, so that warps wait for what their
    stores lack, too. Paged arrays do."""


class Curve(StrEnum):
    """How a link's bandwidth depends on the size of a transfer."""

    NONE = "none"
    ATAN = "atan"
    """
    bandwidth x 2/pi x atan(0.07292 x size in KiB), as in UVMSmart, but without its halving
    from 2 MiB on.
    """


class Cores(Record):
    """Streaming multiprocessors (Zhang 2019: compute units)."""

    count: Number
    """The number of cores."""
    clock: Frequency
    """The clock of cores, caches and network; all counts of cycles refer to it."""
    max_warps: Number
    """The most warps resident on one core."""
    max_ctas: Number
    """The most CTAs resident on one core, if registers and shared memory allow."""
    issue_per_cycle: Number
    """Warp instructions that one core issues."""
    dependent_issue_cycles: Number
    """Cycles from one instruction of a warp to its next."""
    lines_per_cycle: Number
    """Lines that a core's load/store unit accepts."""


class L1Cache(Record):
    """One core's first-level cache."""

    size: Size
    """0: no such cache."""
    ways: Number
    """Lines in a set."""
    hit_cycles: Count
    """Cycles until a hit has arrived."""
    misses: Number
    """Lines in transit at once."""
    merges: Number
    """Requests that wait for one of them."""

    @model_validator(mode="after")
    def _whole_sets(self) -> Self:
        _check_sets("l1.size", self.size, self.ways)
        return self


class Tlb(Record):
    """Address translation. Later hits may pass a miss."""

    entries: Number
    """Entries of one core's TLB."""
    ways: Count
    """Entries in a set; 0: fully associative."""
    ports: Number
    """Look-ups per cycle."""
    shared_entries: Count
    """Entries of the second level, which all cores share; 0: none."""
    shared_ways: Count
    """Entries in one of its sets; 0: fully associative."""
    shared_cycles: Count
    """Cycles of a look-up in it."""
    walk_cycles: Count
    """Cycles of a page walk."""
    walkers: Count
    """Concurrent walks; 0: no limit."""


class Network(Record):
    """Between cores and memory partitions."""

    latency_cycles: Count
    """Cycles in one direction."""
    port_bytes_per_cycle: Number
    """Bandwidth of one partition."""
    partition_stripe: Extent
    """Neighbouring blocks of this size are in different partitions."""


class Partitions(Record):
    """Memory partitions: an L2 slice and a DRAM channel each."""

    count: Number
    """The number of partitions."""
    l2_size: Size
    """Size of one slice; 0: no L2."""
    l2_ways: Number
    """Lines in a set."""
    l2_cycles: Count
    """Cycles of look-up and return."""
    dram_bandwidth: Bandwidth
    """Bandwidth of one channel."""
    dram_cycles: Count
    """Latency of memory, in addition to the time for the bytes."""
    memory: Memory
    """The GPU's total memory; pages that don't fit are evicted."""
    arrivals_in_dram: bool = False
    """Whether migrated bytes keep DRAM channels busy when they arrive."""

    @model_validator(mode="after")
    def _whole_sets(self) -> Self:
        _check_sets("partitions.l2_size", self.l2_size, self.l2_ways)
        return self


class Gmmu(Record):
    """The GPU's memory management unit, which requests pages from the CPU."""

    buffer_entries: Number
    """Pending migrations; requests wait while it is full. options.buffer_scope: per what."""
    query_cycles: Count
    """Cycles to read and change a page's state."""
    counter: Extent = 2 << 20
    """access-counter: the bytes with one counter, if policy.counter is 0."""


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
    """Time from a request to its first byte."""
    packet: Size
    """Most bytes in a packet; 0: no packets."""
    packet_overhead: Size
    """Additional bytes of a packet."""
    half_duplex: bool
    """Whether the two directions share the link."""
    coherent: bool = False
    """Whether L2 caches the CPU's lines, and neither side needs a migration to reach the other."""
    curve: Curve = Curve.NONE
    """Lower bandwidth for small transfers."""
    costs: Annotated[list[LinkCost], Field(default_factory=list)]
    """Instead of bandwidth and packets: points by rising size, with straight lines between."""

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
    """0: the hardware requests pages itself, as Zhang 2019 assumes."""
    handling: Handling
    """In parallel, in batches, one by one, or by the lanes that miss."""
    batch_faults: Number
    """Most faults in a batch."""
    block: Duration = 0
    """Time for each block of 2 MiB in a batch; 0 if faults are handled in parallel."""
    first: Duration = 0
    """What a kernel's first batch takes longer; 0 if faults are handled in parallel."""
    page: Duration = 0
    """Time for each page of 4 KiB that migrates; 0 if faults are handled in parallel."""
    evict: Duration = 0
    """Time for each part that is evicted to make room; 0 if faults are handled in parallel."""
    fetch: Duration = 0
    """Time that lanes take to fetch what they lack, besides the link's: with handling lanes."""
    prefetch: Duration = 0
    """Time to begin the prefetch of an allocation."""
    prefetch_block: Duration = 0
    """Time for each block of 2 MiB that is prefetched, before its bytes cross the link."""
    back_fault: Duration = 0
    """Time for each page fault of the CPU, which takes back 64 KiB to 1 MiB."""
    back_page: Duration = 0
    """Time for each page of 4 KiB of it. Both count if downloads do: options.count_downloads."""
    back_prefetch: Duration = 0
    """Time to begin a prefetch to the CPU: with the policy prefetch, what the CPU accesses next."""
    back_prefetch_block: Duration = 0
    """Time for each block of 2 MiB of it."""


class Launch(Record):
    """Time to launch a kernel."""

    latency: Duration
    """Time before each."""


class ModelledMachine(Record):
    """The whole file."""

    schema_version: Literal[1]
    name: str
    """The name for --machine."""
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
