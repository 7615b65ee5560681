"""
The tests of copies between other kinds of memory, and of the effects of contents and offsets.

Names are `<source>_to_<target>_memcpy_<circumstance>`; nvbandwidth's if it has the test (`_sm`).
"""

from isthmus.measure.bench.buffers import DeviceMemory, HostMemory
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Direction, Suite, Variation
from isthmus.measure.bench.tests.copies import CopyTest
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
