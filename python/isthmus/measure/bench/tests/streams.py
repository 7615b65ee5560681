"""
The tests of copies that several streams share, and of copies of rows and boxes, also of CUDA
arrays.
"""

from dataclasses import dataclass
from enum import StrEnum

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Direction, Suite, Variation
from isthmus.measure.bench.tests.copies import GatedTest
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

ROWS, SLICES = "rows", "slices"
_SIZES = (_MIB, 16 * _MIB)
# Devices pad rows to this: shorter ones would mostly measure the padding.
_MIN_ROW_BYTES = 512
_ELEMENT_BYTES = 4
# A copy engine is launched once per slice, and a held stream takes some 1000 launches.
_MAX_SLICES = 128
# The rows of 2-D and 3-D arrays that every device since compute capability 7.0 supports. Source:
# CUDA C++ Programming Guide 13.0, technical specifications per compute capability.
_MAX_ROWS_2D, _MAX_ROWS_3D = 65536, 16384


class BoxLayout(StrEnum):
    """The layout of a box on the device."""

    PITCHED = "pitched"
    ARRAY = "array"


@dataclass(frozen=True)
class Shape:
    """
    A box of rows.

    Attributes:
        num_slices: None for a 2-D box.
    """

    row_bytes: int
    num_rows: int
    num_slices: int | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes that are copied."""
        return self.row_bytes * self.num_rows * (self.num_slices or 1)

    @property
    def pitched_bytes(self) -> int:
        """The bytes with gaps after rows and slices."""
        rows_a_slice = self.num_rows + (self.num_slices is not None)
        return pitch(self.row_bytes) * rows_a_slice * (self.num_slices or 1)

    @property
    def variation(self) -> Variation:
        """The circumstances of a result that describe the shape."""
        slices = () if self.num_slices is None else ((SLICES, self.num_slices),)
        return Variation(axes=((ROW_BYTES, self.row_bytes), (ROWS, self.num_rows), *slices))


def shape_of(variation: Variation) -> Shape:
    """Read the shape back from the circumstances."""
    axes = dict(variation.axes)
    slices = axes.get(SLICES)
    return Shape(int(axes[ROW_BYTES]), int(axes[ROWS]), None if slices is None else int(slices))


def square(size_bytes: int) -> Shape | None:
    """Shape a size into rows, about as many as a row has bytes; None if that is impossible."""
    row_bytes = max(_MIN_ROW_BYTES, _root(size_bytes, 2))
    shape = Shape(row_bytes, size_bytes // row_bytes)
    return shape if shape.size_bytes == size_bytes and shape.num_rows > 1 else None


def cube(size_bytes: int) -> Shape | None:
    """Shape a size into slices, about as many as they have rows and rows elements, or None."""
    row_bytes = max(_MIN_ROW_BYTES, _ELEMENT_BYTES * _root(size_bytes // _ELEMENT_BYTES, 3))
    num_slices = min(_root(size_bytes // row_bytes, 2), _MAX_SLICES)
    shape = Shape(row_bytes, size_bytes // row_bytes // max(num_slices, 1), num_slices)
    fits = shape.size_bytes == size_bytes and shape.num_rows > 1 and num_slices > 1
    return shape if fits else None


def _root(value: int, power: int) -> int:
    """Give the largest power of two whose power is at most the value; 0 for 0."""
    return 1 << (value.bit_length() - 1) // power if value > 0 else 0


@dataclass(frozen=True, kw_only=True)
class BoxTest(GatedTest):
    """
    One copy of a box whose rows are contiguous in host memory.

    Attributes:
        layout: The memory of the rows on the device: pitched memory with gaps between rows and
            slices, or a CUDA array.
    """

    direction: Direction
    layout: BoxLayout
    loop: str = "shaped_copies"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Say whether there are slices."""
        del size_bytes
        return {"slices": dict(variation.axes).get(SLICES)}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with shapes: boxes, and rows for arrays; a quick run has one of each size."""
        points = []
        for size in demand.sizes or ((demand.quick_bytes,) if demand.quick else _SIZES):
            shapes = [shape for shape in self._shapes(size) if shape is not None]
            points += [
                (size, shape.variation) for shape in (shapes[:1] if demand.quick else shapes)
            ]
        return points

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the shaped memory beside the packed buffers, and an image of it."""
        pitched = self.layout is BoxLayout.PITCHED
        shaped_bytes = shape_of(variation).pitched_bytes if pitched else size_bytes
        return Footprint(
            host_bytes=size_bytes + shaped_bytes, device_bytes=size_bytes + shaped_bytes
        )

    def _shapes(self, size_bytes: int) -> tuple[Shape | None, ...]:
        if self.layout is BoxLayout.PITCHED:
            return (cube(size_bytes),)
        return tuple(
            shape if shape is not None and shape.num_rows <= most else None
            for shape, most in (
                (square(size_bytes), _MAX_ROWS_2D),
                (cube(size_bytes), _MAX_ROWS_3D),
            )
        )


def _box(direction: Direction) -> BoxTest:
    return BoxTest(
        name=directed_name(direction, Kind.MEMCPY, "3d"),
        about=f"{direction.label} bandwidth of near cubic boxes with gaps between their rows, "
        "pinned memory",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
        layout=BoxLayout.PITCHED,
    )


def _array(direction: Direction) -> BoxTest:
    towards = "to" if direction == Direction.HOST_TO_DEVICE else "from"
    return BoxTest(
        name=directed_name(direction, Kind.MEMCPY, "array"),
        about=f"{direction.label} bandwidth of copies {towards} CUDA arrays, 2-D and 3-D, "
        "pinned memory",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
        layout=BoxLayout.ARRAY,
    )


BOX_TESTS: tuple[BoxTest, ...] = (
    *(_box(direction) for direction in Direction),
    *(_array(direction) for direction in Direction),
)
