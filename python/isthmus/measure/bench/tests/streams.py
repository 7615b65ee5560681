"""The tests of copies that several streams share, and of copies of rows."""

from dataclasses import dataclass

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Direction, Suite, Variation
from isthmus.measure.bench.tests.gated import GatedTest
from isthmus.measure.run.naming import Kind, directed_name

STREAMS, ROW_BYTES = "streams", "row_bytes"
_MIB = 1 << 20
_NUM_STREAMS = (1, 2, 4, 8)
_QUICK_NUM_STREAMS = (1, 4)
_MIN_SLICE_BYTES = 64
_STREAM_SIZES = (_MIB, 64 * _MIB)
# From a cache line to the width at which a copy is as fast as one of all rows.
_ROWS = (64, 512, 4096, 64 << 10)
_QUICK_ROWS = (4096,)
_ROWS_SIZE = 16 * _MIB
_PITCH_ALIGNMENT = 512


@dataclass(frozen=True, kw_only=True)
class StreamsTest(GatedTest):
    """One copy in slices, a slice for each stream."""

    direction: Direction
    loop: str = "stream_copies"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with numbers of streams."""
        wanted = demand.sizes or ((demand.quick_bytes,) if demand.quick else _STREAM_SIZES)
        return [
            (size, Variation(axes=((STREAMS, count),)))
            for size in wanted
            for count in (_QUICK_NUM_STREAMS if demand.quick else _NUM_STREAMS)
            if size >= count * _MIN_SLICE_BYTES
        ]


@dataclass(frozen=True, kw_only=True)
class PitchedTest(GatedTest):
    """One 2-D copy: rows that are contiguous in host memory, and have gaps on the device."""

    direction: Direction
    loop: str = "shaped_copies"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give the box."""
        return {
            "layout": "pitched",
            "rows": size_bytes // row_bytes(variation),
            "slices": None,
        }

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with widths of rows that divide them."""
        wanted = demand.sizes or (demand.quick_bytes if demand.quick else _ROWS_SIZE,)
        rows = _QUICK_ROWS if demand.quick else _ROWS
        return [
            (size, Variation(axes=((ROW_BYTES, row),)))
            for size in wanted
            for row in rows
            if size % row == 0
        ]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the rows with their gaps beside the packed ones, and an image of them."""
        row = row_bytes(variation)
        pitched_bytes = size_bytes // row * pitch(row)
        return Footprint(
            host_bytes=size_bytes + pitched_bytes, device_bytes=size_bytes + pitched_bytes
        )


def row_bytes(variation: Variation) -> int:
    """Give the width of a 2-D copy's rows."""
    return int(dict(variation.axes)[ROW_BYTES])


def pitch(row_bytes: int) -> int:
    """Give the distance of rows on the device: cuMemAllocPitch's, but always with a gap."""
    return (row_bytes // _PITCH_ALIGNMENT + 1) * _PITCH_ALIGNMENT


def _streams(direction: Direction) -> StreamsTest:
    return StreamsTest(
        name=directed_name(direction, Kind.MEMCPY, "streams"),
        about=f"{direction.label} bandwidth of one copy shared by 1 to 8 streams, pinned memory",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
    )


def _pitched(direction: Direction) -> PitchedTest:
    return PitchedTest(
        name=directed_name(direction, Kind.MEMCPY, "2d"),
        about=f"{direction.label} bandwidth of rows with gaps between them on the device, "
        "pinned memory",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
    )


STREAMS_TESTS: tuple[StreamsTest, ...] = tuple(_streams(direction) for direction in Direction)
PITCHED_TESTS: tuple[PitchedTest, ...] = tuple(_pitched(direction) for direction in Direction)
