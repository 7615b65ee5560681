"""
The tests of copies between kinds of memory, of contents and offsets, and of host memory allocated
anew each time.

Names are `<source>_to_<target>_memcpy_<circumstance>`; nvbandwidth's if it has the test (`_sm`).

The speed of pageable memory depends on the pages that the system provides; only several allocations
show that.
"""

from dataclasses import dataclass

from isthmus.measure.bench.demand import Demand, DeviceMemory, HostMemory, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation
from isthmus.measure.bench.tests.copies import CopyTest
from isthmus.measure.run.break_even import MEMORY
from isthmus.measure.run.naming import Kind, directed_name

_KIB, _MIB = 1 << 10, 1 << 20
# Powers of 4: the same curve as CUDA's own pinned copies have, with half as many points.
_SPARSE = tuple(1 << exponent for exponent in range(2, 29, 2))
_ALIGNED = "0 B"
# Bytes after the beginning of a page, host and device: from a fraction of a line to a line.
_OFFSETS = (
    (_ALIGNED, _ALIGNED),
    ("1 B", _ALIGNED),
    ("4 B", _ALIGNED),
    ("64 B", _ALIGNED),
    (_ALIGNED, "1 B"),
    (_ALIGNED, "4 B"),
    (_ALIGNED, "64 B"),
    ("1 B", "1 B"),
)


def _test(direction: Direction, way: str, how: str, **special: object) -> CopyTest:
    given: dict[str, object] = {
        "host_memory": HostMemory.PINNED,
        "sizes": _SPARSE,
        **special,
    }
    return CopyTest(
        name=directed_name(direction, Kind.MEMCPY, way),
        about=f"{direction.label} bandwidth, {how}",
        direction=direction,
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        blocked=True,
        **given,  # type: ignore[arg-type]  # fields of CopyTest, which mypy can't follow
    )


def _both(way: str, how: str, **special: object) -> list[CopyTest]:
    return [_test(direction, way, how, **special) for direction in Direction]


MEMORY_KIND_TESTS: tuple[CopyTest, ...] = (
    *_both("sm", "a kernel accesses mapped pinned memory", by_kernel=True),
    *_both(
        "registered",
        "memory of malloc, pinned afterwards (cudaHostRegister)",
        host_memory=HostMemory.REGISTERED,
    ),
    *_both(
        "write_combined",
        "pinned memory that bypasses the CPU's caches",
        host_memory=HostMemory.WRITE_COMBINED,
    ),
    *_both("huge_pages", "pinned huge pages", host_memory=HostMemory.HUGE_PINNED),
    *_both(
        "pool",
        "device memory of the stream-ordered pool (cudaMallocAsync)",
        device_memory=DeviceMemory.POOL,
    ),
    *_both(
        "contents",
        "random bytes against zeros, pinned memory",
        sizes=(64 * _KIB, 16 * _MIB, 256 * _MIB),
        quick_sizes=(16 * _MIB,),
        circumstances=tuple(Variation(axes=(("contents", what),)) for what in ("random", "zeros")),
    ),
    *_both(
        "offset",
        "either side some bytes after the beginning of a page, pinned memory",
        sizes=(4 * _KIB, 64 * _KIB, 16 * _MIB),
        quick_sizes=(64 * _KIB,),
        circumstances=tuple(
            Variation(axes=(("host_offset", host), ("device_offset", device)))
            for host, device in _OFFSETS
        ),
    ),
)

MEMORIES = ("pageable", "pinned")
# The experiment's own sizes are 160 to 3040 MiB in steps of 160; four sizes are enough.
_EMULATED_BYTES = 32 * _MIB
_SWEEP = (160 * _MIB, 640 * _MIB, 1600 * _MIB, 3040 * _MIB)


@dataclass(frozen=True, kw_only=True)
class LargeCopyTest(BenchTest):
    """Large copies in one direction, from or to both kinds of host memory."""

    direction: Direction
    loop: str = "memory_life"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with both kinds of memory, one after the other."""
        sweep = (_EMULATED_BYTES,) if demand.emulated else _SWEEP
        fitting = [size for size in sweep if size <= demand.limits.largest_bytes]
        quick = fitting[:1] if demand.quick else fitting
        sizes = quick if demand.sizes is None else demand.sizes
        return [
            (size, Variation(axes=((MEMORY, memory),))) for size in sizes for memory in MEMORIES
        ]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh them as a few copies: most of their time goes to allocating anew."""
        del variation
        return 1.0 + size_bytes / (64 * _MIB)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Allocate anew at least three times: each time is a sample of the spread."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=1 if emulated else 3,
            max_samples=20,
            max_seconds=share_s,
            relative_iqr=0.0,
        )

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the kinds of memory that are read and written."""
        del metric
        host = str(dict(variation.axes).get(MEMORY, "pageable"))
        return (host, "device") if self.direction == Direction.HOST_TO_DEVICE else ("device", host)


PINNED_VS_PAGEABLE_TESTS: tuple[LargeCopyTest, ...] = tuple(
    LargeCopyTest(
        name=directed_name(direction, Kind.PINNED_VS_PAGEABLE),
        about=f"{direction.label} bandwidth of large buffers, pinned beside pageable, "
        "allocated anew",
        suite=Suite.PINNED_VS_PAGEABLE,
        metrics=(Metric.BANDWIDTH,),
        derived=(Metric.PINNED_GAIN,),
        direction=direction,
    )
    for direction in Direction
)
