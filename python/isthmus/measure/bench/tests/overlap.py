"""The tests of suite `overlap`: copies behind computation."""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Direction, Suite, Variation
from isthmus.measure.bench.tests.copies import GatedTest
from isthmus.measure.run.naming import Kind, directed_name

CHUNKS, STREAMS = "chunks", "streams"
_COUNTS = (1, 2, 4, 8)
_QUICK_COUNTS = (1, 4)
_USUAL_CHUNKS = 8
_DOUBLE = 2
# Upload, kernel, download, and one chunk that waits for its turn.
_DUPLEX_STREAMS = 4
# An eighth of it takes 150 us on PCIe 5.0: long compared with a launch and an event.
_USUAL_BYTES = 64 << 20
_EMULATED_BYTES = 16 << 20
_WORD_BYTES = 16
# With smaller chunks, a launch takes as long as a chunk, and the halves can't be compared.
_MIN_BYTES = 4 << 20
_METRICS = (Metric.TOGETHER, Metric.COPY_ALONE, Metric.COMPUTE_ALONE)


@dataclass(frozen=True, kw_only=True)
class OverlapTest(GatedTest):
    """A pipeline of copies and kernels, and its halves alone."""

    copies: Literal["h2d", "d2h", "duplex"]
    varied: Literal["chunks", "streams"]
    loop: str = "overlap"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Vary the number of chunks, or of streams."""
        counts = _QUICK_COUNTS if demand.quick else _COUNTS
        return [(size, self._variation(count)) for size in _sizes(demand) for count in counts]

    def _variation(self, count: int) -> Variation:
        if self.varied == "streams":
            return Variation(axes=((CHUNKS, _USUAL_CHUNKS), (STREAMS, count)))
        streams = _DUPLEX_STREAMS if self.copies == "duplex" else _DOUBLE
        return Variation(axes=((CHUNKS, count), (STREAMS, min(streams, count))))

    def moves_all(self, metric: Metric) -> bool:
        """Whether all of a point's bytes are moved in a metric's time."""
        return metric in {Metric.TOGETHER, Metric.COPY_ALONE}

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count a pair of buffers and each stream's chunks; both ways, another host one."""
        chunks, streams = shape(variation)
        duplex = self.copies == "duplex"
        slots_bytes = (2 if duplex else 1) * min(chunks, streams) * (size_bytes // chunks)
        return Footprint(
            host_bytes=(2 if duplex else 1) * size_bytes, device_bytes=size_bytes + slots_bytes
        )

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh the pipeline and its halves."""
        return len(self.metrics) * super().weight(size_bytes, variation)


def _sizes(demand: Demand) -> list[int]:
    """Choose sizes: those requested that make chunks, the smallest that does, or our own."""
    if demand.sizes is None:
        usual_bytes = _EMULATED_BYTES if demand.emulated else _USUAL_BYTES
        return [demand.quick_bytes if demand.quick else usual_bytes]
    whole = [size for size in demand.sizes if size % (_WORD_BYTES * _USUAL_CHUNKS) == 0]
    return [size for size in whole if size >= _MIN_BYTES] or [_MIN_BYTES]


def shape(variation: Variation) -> tuple[int, int]:
    """Give the numbers of chunks and of streams."""
    axes = dict(variation.axes)
    return int(axes[CHUNKS]), int(axes[STREAMS])


def _test(
    name: str,
    about: str,
    copies: Literal["h2d", "d2h", "duplex"],
    varied: Literal["chunks", "streams"],
) -> OverlapTest:
    return OverlapTest(
        name=name,
        about=about,
        suite=Suite.OVERLAP,
        metrics=_METRICS,
        direction=None if copies == "duplex" else Direction(copies),
        derived=(Metric.OVERLAP_RATIO,),
        copies=copies,
        varied=varied,
    )


OVERLAP_TESTS: tuple[OverlapTest, ...] = (
    _test(
        directed_name("h2d", Kind.OVERLAP, "streams"),
        "H2D copies and kernels in 1 to 8 streams, 8 chunks",
        "h2d",
        "streams",
    ),
    _test(
        directed_name("h2d", Kind.OVERLAP, "double_buffering"),
        "H2D copy(n + 1) beside kernel(n), 2 streams, 1 to 8 chunks",
        "h2d",
        "chunks",
    ),
    _test(
        directed_name("d2h", Kind.OVERLAP, "double_buffering"),
        "kernel(n + 1) beside D2H copy(n), 2 streams, 1 to 8 chunks",
        "d2h",
        "chunks",
    ),
    _test(
        "duplex_overlap",
        "H2D copy, kernel and D2H copy of different chunks at once, 4 streams, 1 to 8 chunks",
        "duplex",
        "chunks",
    ),
)
