"""The native module's measurements of other kinds of copies than one after the other."""

from typing import TYPE_CHECKING

from isthmus.bench.buffers import BufferKinds, HostMemory
from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import Direction, Variation
from isthmus.bench.tests.boxes import BoxLayout, BoxTest, Shape, shape_of
from isthmus.bench.tests.duplex import DuplexTest
from isthmus.bench.tests.many_copies import ManyCopiesTest, num_pieces
from isthmus.bench.tests.overlap import OverlapTest, shape
from isthmus.bench.tests.streams import STREAMS, PitchedTest, StreamsTest, row_bytes

if TYPE_CHECKING:
    from isthmus import _native

_PINNED = BufferKinds(host_memory=HostMemory.PINNED)


class NativeDuplex(NativeInstrument):
    """Both directions at once, each between buffers of its own."""

    def measure(
        self, test: DuplexTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one size.

        Raises:
            Unavailable: No stream can be held back here, or there are no kernels to copy by.
        """
        from isthmus import _native

        del variation
        rule = native_rule(stopping)
        buffers = self._device.allocate(_PINNED, size_bytes)
        other = self._device.allocate(_PINNED, size_bytes)

        def ask(kernels: "_native.Kernels | None") -> "_native.Measurement":
            if test.direction is None:
                return _native.measure_duplex(
                    buffers, other, kernels, size_bytes=size_bytes, stopping=rule
                )
            return _native.measure_under_load(
                buffers,
                other,
                kernels,
                direction=test.direction.value,
                size_bytes=size_bytes,
                stopping=rule,
                by="multiprocessors" if test.by_kernel else "copy_engine",
            )

        return self._device.with_kernels(ask)


class NativeStreams(NativeInstrument):
    """One copy that several streams share."""

    def measure(
        self, test: StreamsTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one number of streams.

        Raises:
            Unavailable: No stream can be held back here.
        """
        from isthmus import _native

        rule = native_rule(stopping)
        buffers = self._device.allocate(_PINNED, size_bytes)
        return self._device.with_kernels(
            lambda kernels: _native.measure_stream_copies(
                buffers,
                kernels,
                direction=test.direction.value,
                size_bytes=size_bytes,
                num_streams=int(dict(variation.axes)[STREAMS]),
                stopping=rule,
            )
        )


class _ShapedInstrument(NativeInstrument):
    """Copies between packed rows and pitched memory or arrays on the device."""

    def _measure(
        self, direction: Direction, layout: BoxLayout, shape: Shape, stopping: StoppingRule
    ) -> "_native.Measurement":
        from isthmus import _native

        rule = native_rule(stopping)
        buffers = self._device.allocate(_PINNED, shape.size_bytes)
        return self._device.with_kernels(
            lambda kernels: _native.measure_shaped_copies(
                buffers,
                kernels,
                direction=direction.value,
                layout=layout.value,
                row_bytes=shape.row_bytes,
                num_rows=shape.num_rows,
                num_slices=shape.num_slices,
                stopping=rule,
            )
        )


class NativePitched(_ShapedInstrument):
    """2-D copies."""

    def measure(
        self, test: PitchedTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one width of rows.

        Raises:
            Unavailable: No stream can be held back here.
        """
        row = row_bytes(variation)
        return self._measure(
            test.direction, BoxLayout.PITCHED, Shape(row, size_bytes // row), stopping
        )


class NativeBoxes(_ShapedInstrument):
    """3-D copies, and copies into and out of arrays."""

    def measure(
        self, test: BoxTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one shape.

        Raises:
            Unavailable: No stream can be held back here, or the driver has no 3-D copies.
        """
        del size_bytes  # the shape's
        return self._measure(test.direction, test.layout, shape_of(variation), stopping)


class NativeManyCopies(NativeInstrument):
    """Many small copies."""

    def measure(
        self, test: ManyCopiesTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one set of pieces.

        Raises:
            Unavailable: The driver is too old for a batch, or there are no kernels to copy by.
        """
        from isthmus import _native

        rule, pieces = native_rule(stopping), num_pieces(variation)
        buffers = self._device.allocate(_PINNED, size_bytes)
        return self._device.with_kernels(
            lambda kernels: _native.measure_many_copies(
                buffers,
                kernels,
                direction=test.direction.value,
                way=test.way.value,
                piece_bytes=size_bytes // pieces,
                num_pieces=pieces,
                stopping=rule,
            )
        )


class NativeOverlap(NativeInstrument):
    """Pipelines of copies and kernels."""

    def measure(
        self, test: OverlapTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one pipeline and its halves.

        Raises:
            Unavailable: There are no kernels here, or no stream can be held back.
        """
        from isthmus import _native

        rule, (chunks, streams) = native_rule(stopping), shape(variation)
        buffers = self._device.allocate(_PINNED, size_bytes)
        return self._device.with_kernels(
            lambda kernels: _native.measure_overlap(
                buffers,
                kernels,
                copies=test.copies,
                size_bytes=size_bytes,
                num_chunks=chunks,
                num_streams=streams,
                stopping=rule,
            )
        )
