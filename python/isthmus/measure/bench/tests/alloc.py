"""
The tests of suite `alloc`: the cost of allocating and freeing memory, and when pinning it pays
off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.ground.sizes import powers_of_two
from isthmus.measure.bench.demand import MAX_MANAGED_BYTES, Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Suite, Variation
from isthmus.measure.run.break_even import MEMORY

LIVE, PAGES = "live", "pages"
TOUCHED = "touched"
_KIB, _MIB = 1 << 10, 1 << 20
_MIN_BYTES = 4
# A quarter of the powers of two between 256 B and 1 GiB is enough.
_SWEEP = powers_of_two(256, 1 << 30)[::2]
# A gigabyte takes half a second to pin, and a minute to pin in all kinds.
_MAX_QUICK_BYTES = 16 * _MIB
# This number, or as many as take this much memory.
_MAX_LIVE = 64
_MAX_LIVE_BYTES = 256 * _MIB

Kind = Literal[
    "heap",
    "mapping",
    "pinned",
    "write_combined",
    "registered",
    "huge_pinned",
    "pooled",
    "device",
    "pitched",
    "pitched_3d",
    "array",
    "array_3d",
    "managed",
    "stream_ordered",
    "stream_ordered_kept",
    "virtual_memory",
]
_MEMORY_OF: dict[str, str] = {
    "heap": "host",
    "mapping": "host",
    "stream_ordered": "pool",
    "stream_ordered_kept": "pool",
    "managed": "managed",
    "pinned": "pinned",
    "write_combined": "write_combined",
    "registered": "registered",
    "huge_pinned": "huge_pinned",
    "pooled": "huge_pinned",
}
_TOUCHABLE = ("heap", "mapping", "registered", "managed")
# Memory of huge pages, or of granules, is never smaller.
_MIN_OF = {"huge_pinned": 4 * _MIB, "virtual_memory": 4 * _MIB}
_SLOT_OF = {"huge_pinned": 2 * _MIB, "virtual_memory": 2 * _MIB}
# Pitched memory pads rows to this.
_ROW_BYTES = 512
_MAX_OF = {"managed": MAX_MANAGED_BYTES}


def sizes_of(demand: Demand, sweep: Sequence[int]) -> list[int]:
    """Choose sizes: those requested, or a sweep's; small ones if time is short."""
    if demand.sizes is not None:
        return [size for size in demand.sizes if size >= _MIN_BYTES]
    short = demand.quick or demand.emulated
    return demand.sweep([size for size in sweep if not short or size <= _MAX_QUICK_BYTES])


@dataclass(frozen=True, kw_only=True)
class AllocTest(BenchTest):
    """One way to allocate and free memory."""

    kind: Kind
    loop: str = "allocation"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Say whether pages are touched; nothing is copied."""
        del size_bytes
        return {"pages": dict(variation.axes).get(PAGES, "untouched"), "copied": False}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with touching; several allocations are alive at a time, as far as they fit."""
        least = 0 if demand.sizes else _MIN_OF.get(self.kind, 0)
        most = _MAX_OF.get(self.kind)
        return [
            (size, Variation(axes=((LIVE, self._num_live(size, demand)), *pages)))
            for pages in self._touching(demand)
            for size in sizes_of(demand, _SWEEP)
            if size >= least and (most is None or size <= most)
        ]

    def _touching(self, demand: Demand) -> list[tuple[tuple[str, str], ...]]:
        untouched: tuple[tuple[str, str], ...] = ()
        # Touching managed memory makes it migrate: only if requested.
        if self.kind not in _TOUCHABLE or (self.kind == "managed" and not demand.managed):
            return [untouched]
        return [untouched, ((PAGES, TOUCHED),)]

    def _num_live(self, size_bytes: int, demand: Demand) -> int:
        usual_bytes = _MAX_QUICK_BYTES if demand.quick else _MAX_LIVE_BYTES
        max_bytes = min(usual_bytes, demand.limits.largest_bytes)
        slot_bytes = max(size_bytes, _SLOT_OF.get(self.kind, _ROW_BYTES))
        return min(_MAX_LIVE, max(1, max_bytes // slot_bytes))

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count everything that is alive at a time, on its side."""
        slot_bytes = max(size_bytes, _SLOT_OF.get(self.kind, _ROW_BYTES))
        num_bytes = slot_bytes * int(dict(variation.axes).get(LIVE, 1))
        host_bytes = num_bytes if self.memory not in {"device", "pool"} else 0
        return Footprint(
            host_bytes=host_bytes,
            device_bytes=0 if host_bytes and self.kind != "managed" else num_bytes,
        )

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Give microsecond allocations a small weight; pinning a gigabyte takes half a second."""
        del variation
        return 0.2 + size_bytes / (64 * _MIB)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take few samples of slow allocations; there are three loops."""
        del variation
        return StoppingRule(
            min_samples=min_samples(size_bytes, emulated=emulated),
            max_samples=500,
            max_seconds=share_s / 3,
            relative_iqr=0.01,
        )

    @property
    def memory(self) -> str:
        """The kind of memory that it allocates."""
        return _MEMORY_OF.get(self.kind, "device")

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Nothing is read; the allocated memory is the target."""
        del metric, variation
        return None, self.memory


def min_samples(size_bytes: int, *, emulated: bool) -> int:
    """Choose the minimum number of samples: a gigabyte takes half a second to pin."""
    if emulated:
        return 3 if size_bytes <= _MIB else 1
    if size_bytes <= _MIB:
        return 20
    if size_bytes <= 16 * _MIB:
        return 5
    return 3 if size_bytes <= 64 * _MIB else 2


_EACH = (
    Metric.ALLOCATE,
    Metric.FREE,
    Metric.PAIR,
    Metric.ALLOCATE_LIVE,
    Metric.FREE_LIVE,
)
_STREAM_ORDERED = (*_EACH, Metric.ALLOCATE_RETURN, Metric.FREE_RETURN)
_ROWS: tuple[tuple[str, Kind, str], ...] = (
    ("malloc", "heap", "malloc and free"),
    ("mmap", "mapping", "mmap and munmap: fresh pages each time"),
    ("cuda_malloc_host", "pinned", "cudaMallocHost (cuMemHostAlloc)"),
    ("cuda_host_alloc_write_combined", "write_combined", "cudaHostAlloc, write-combined"),
    ("cuda_host_register", "registered", "cudaHostRegister of existing memory"),
    ("isthmus_pinned", "huge_pinned", "isthmus's pinned memory: huge pages, several threads"),
    ("isthmus_pinned_pool", "pooled", "isthmus's pinned memory, a block that its pool has already"),
    ("cuda_malloc", "device", "cudaMalloc (cuMemAlloc)"),
    ("cuda_malloc_pitch", "pitched", "cudaMallocPitch (cuMemAllocPitch), near square"),
    ("cuda_malloc_array", "array", "cudaMallocArray (cuArrayCreate) of floats, near square"),
    ("cuda_malloc_3d", "pitched_3d", "cudaMalloc3D (cuMemAllocPitch), near cubic"),
    ("cuda_malloc_3d_array", "array_3d", "cudaMalloc3DArray (cuArray3DCreate), near cubic"),
    ("cuda_malloc_managed", "managed", "cudaMallocManaged (cuMemAllocManaged)"),
    ("cuda_malloc_async", "stream_ordered", "cudaMallocAsync, a pool that keeps nothing"),
    ("cuda_malloc_async_kept", "stream_ordered_kept", "cudaMallocAsync, a pool that keeps all"),
    ("cu_mem_create", "virtual_memory", "cuMemCreate, cuMemMap and cuMemSetAccess"),
)

ALLOC_TESTS: tuple[AllocTest, ...] = tuple(
    AllocTest(
        name=f"alloc_{name}",
        about=f"cost of {about}",
        suite=Suite.ALLOC,
        metrics=_STREAM_ORDERED if kind.startswith("stream_ordered") else _EACH,
        derived=(
            Metric.ALLOCATION_START,
            Metric.ALLOCATION_RATE,
            Metric.ALLOCATION_ERROR,
        ),
        direction=None,
        kind=kind,
    )
    for name, kind, about in _ROWS
)

LIFE_MEMORIES = ("pageable", "pinned", "registered", "huge_pinned")
_LIFE_SWEEP = powers_of_two(64 * _KIB, 256 * _MIB)[::2]
# A region of one huge page can't be checked for huge pages.
_MIN_HUGE_BYTES = 4 * _MIB


@dataclass(frozen=True, kw_only=True)
class LifeTest(BenchTest):
    """Host memory that is allocated, copied up and down, and freed."""

    loop: str = "memory_life"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with the kinds of memory that are compared."""
        return [
            (size, Variation(axes=((MEMORY, memory),)))
            for memory in LIFE_MEMORIES
            for size in sizes_of(demand, _LIFE_SWEEP)
            if demand.sizes or size >= _MIN_HUGE_BYTES * (memory == "huge_pinned")
        ]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh a lifetime as a few copies: most of its time can't be chosen."""
        del variation
        return 0.5 + size_bytes / (64 * _MIB)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take few lifetimes of slow memory: a lifetime is a sample of each of its steps."""
        del variation
        least = min_samples(size_bytes, emulated=emulated)
        return StoppingRule(
            min_samples=min(least, 10), max_samples=200, max_seconds=share_s, relative_iqr=0.01
        )

    def moves_all(self, metric: Metric) -> bool:
        """Tell the copies from the other steps."""
        return metric in {Metric.LIFE_UPLOAD, Metric.LIFE_DOWNLOAD}

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the memory that a step reads and writes."""
        memory = str(dict(variation.axes).get(MEMORY, "pageable"))
        if metric == Metric.LIFE_DOWNLOAD:
            return "device", memory
        if metric in {Metric.ALLOCATE, Metric.FREE}:
            return None, memory
        return memory, "device"


LIFE_TESTS: tuple[LifeTest, ...] = (
    LifeTest(
        name="host_memory_life",
        about="host memory allocated, copied up and down, freed: when pinning pays off",
        suite=Suite.ALLOC,
        metrics=(
            Metric.ALLOCATE,
            Metric.LIFE_UPLOAD,
            Metric.LIFE_DOWNLOAD,
            Metric.FREE,
            Metric.LIFE_ONE_WAY,
            Metric.LIFE_BOTH_WAYS,
        ),
        derived=(
            Metric.BREAK_EVEN_ONE_WAY,
            Metric.BREAK_EVEN_BOTH_WAYS,
        ),
        direction=None,
    ),
)
