"""
The tests of many small copies: scattered pieces of host memory, one packed block on the device.

Each way has a test of its own; `bytes` of a result are the bytes of all pieces together.
"""

from dataclasses import dataclass
from enum import StrEnum

from isthmus.measure.bench.demand import Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation
from isthmus.measure.run.naming import Kind, directed_name

PIECES = "pieces"
_KIB = 1 << 10
_WORD_BYTES = 4
_LINE_BYTES = 64
_USUAL_PIECES = 256
# Bytes of a piece, number of pieces: various sizes at a usual number, and numbers at a usual size.
_SETS = (
    (64, _USUAL_PIECES),
    (4 * _KIB, 16),
    (4 * _KIB, _USUAL_PIECES),
    (4 * _KIB, 1024),
    (64 * _KIB, _USUAL_PIECES),
)
_QUICK_SETS = ((4 * _KIB, _USUAL_PIECES),)
_MAX_SAMPLES = 500


class ManyCopiesWay(StrEnum):
    """How the pieces are copied."""

    LOOP = "loop"
    BATCH = "batch"
    GRAPH = "graph"
    KERNEL = "kernel"
    PACKED = "packed"


@dataclass(frozen=True, kw_only=True)
class ManyCopiesTest(BenchTest):
    """Many small copies made in one way."""

    direction: Direction
    way: ManyCopiesWay
    loop: str = "many_copies"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give the size of a piece."""
        return {"piece_bytes": size_bytes // num_pieces(variation)}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Choose sets of pieces; requested sizes have 256 pieces each."""
        if demand.sizes is not None:
            return [
                _point(size // _USUAL_PIECES, _USUAL_PIECES)
                for size in demand.sizes
                if size % (_USUAL_PIECES * _WORD_BYTES) == 0
            ]
        return [_point(*each) for each in (_QUICK_SETS if demand.quick else _SETS)]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the packed block on both sides, and a slot for each piece on the host."""
        pieces = num_pieces(variation)
        slot_bytes = -(-(size_bytes // pieces) // _LINE_BYTES) * _LINE_BYTES + _LINE_BYTES
        return Footprint(host_bytes=size_bytes + slot_bytes * pieces, device_bytes=size_bytes)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take many samples: the CPU's clock, and the CPU's work, are noisy."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=5 if emulated else 50,
            max_samples=_MAX_SAMPLES,
            max_seconds=share_s,
            relative_iqr=0.005,
        )

    def moves_all(self, metric: Metric) -> bool:
        """Whether all of a point's bytes are moved in a metric's time."""
        return metric == Metric.COMPLETION

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "mapped" if self.way == ManyCopiesWay.KERNEL else "pinned"


def num_pieces(variation: Variation) -> int:
    """Give the number of pieces."""
    return int(dict(variation.axes)[PIECES])


def _point(piece_bytes: int, pieces: int) -> tuple[int, Variation]:
    return (piece_bytes * pieces, Variation(axes=((PIECES, pieces),)))


_ABOUT = {
    ManyCopiesWay.LOOP: "a cudaMemcpyAsync for each",
    ManyCopiesWay.BATCH: "one cudaMemcpyBatchAsync (CUDA 12.8)",
    ManyCopiesWay.GRAPH: "one launch of a graph of copies",
    ManyCopiesWay.KERNEL: "one launch of a kernel that accesses mapped memory",
    ManyCopiesWay.PACKED: "the CPU packs or unpacks, one copy",
}


def _test(direction: Direction, way: ManyCopiesWay) -> ManyCopiesTest:
    return ManyCopiesTest(
        name=directed_name(direction, Kind.MANY_COPIES, way),
        about=f"{direction.label} time of many small copies, pinned memory: {_ABOUT[way]}",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.COMPLETION, Metric.API_RETURN),
        direction=direction,
        way=way,
    )


MANY_COPIES_TESTS: tuple[ManyCopiesTest, ...] = tuple(
    _test(direction, way) for direction in Direction for way in ManyCopiesWay
)
