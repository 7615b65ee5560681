"""A copy of a pair of arrays: plain, or with a packed host array in addition."""

from collections.abc import Callable
from dataclasses import dataclass

from isthmus import _native
from isthmus.arrays.array import Array, Place
from isthmus.errors import DriverError, UsageError
from isthmus.transfer.packing import buffer_like, copy_items, unpacking
from isthmus.transfer.pairs import PlainCopy, plain_copy, require_packable


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    A copy of which only bytes are left to copy.

    Attributes:
        plain: These bytes; None if the follow-up does everything.
        packed: The packed host array that they are copied from or to, if there is one.
        follow_up: To be called when they have arrived; None if nothing remains.
    """

    plain: PlainCopy | None
    packed: Array | None = None
    follow_up: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """
    What a copy of two arrays needs.

    Attributes:
        objects: The target and the source as they were passed.
        target: Fits the source.
        source: Fits the target.
        stream: The CUstream of the copy.
        plain: The bytes to copy; None if the memory orders differ.
    """

    objects: tuple[object, object]
    target: Array
    source: Array
    stream: int
    plain: PlainCopy | None

    def prepared(self) -> Prepared:
        """
        Pack what has to be packed, so that only bytes are left to copy.

        Raises:
            UsageError: Even a packed host array wouldn't help.
        """
        if self.plain is not None:
            return Prepared(self.plain)
        self.require_possible()
        if self.target.on_device:
            packed = self._packed_source()
            return Prepared(self._from_packed(packed), packed)
        if self.source.on_device:
            packed = buffer_like(self.target, self.source)
            return Prepared(self._to_packed(packed), packed, unpacking(self.target, packed))
        return Prepared(None, None, unpacking(self.target, self.source))

    def require_possible(self) -> None:
        """
        Refuse a copy that packing wouldn't make possible. Reads and writes nothing.

        Raises:
            UsageError: See `require_packable`; or no thread could wait for the stream.
        """
        if self.plain is not None:
            return
        require_packable(self.target, self.source)
        if self.stream != 0 and not self.target.on_device and not self.source.on_device:
            raise UsageError(
                "a copy between two host arrays that lie differently is made by the calling "
                "thread: it waits for no stream"
            )

    def copy(self, native: _native.Transfers) -> None:
        """Make the copy."""
        prepared = self.prepared()
        if prepared.plain is not None:
            self._copy(native, prepared.plain, prepared.packed)
        if prepared.follow_up is not None:
            prepared.follow_up()

    def begin(self, native: _native.Transfers, source_order: str) -> _native.CopyFuture | None:
        """
        Begin the copy.

        Returns:
            None if it is complete.
        """
        prepared = self.prepared()
        if prepared.plain is None:
            assert prepared.follow_up is not None, "a copy by NumPy alone"  # noqa: S101
            prepared.follow_up()
            return None
        # A packed source belongs to the copy: nothing else changes it.
        order = "stream" if prepared.packed and self.target.on_device else source_order
        return native.copy_async(
            prepared.plain.target,
            prepared.plain.source,
            prepared.plain.size_bytes,
            needs=(self, prepared.packed),
            stream=self.stream,
            target_kind=_kind(self.target),
            source_kind=_kind(self.source),
            source_order=order,
            follow_up=prepared.follow_up,
        )

    def add_to(self, batch: _native.ArrayBatch, pair: int) -> Callable[[], None] | None:
        """
        Add the copy to a batch.

        Args:
            batch: The batch that these arrays are from.
            pair: Their number in it.

        Returns:
            What remains to be done when the batch is complete.
        """
        prepared = self.prepared()
        if prepared.plain is not None:
            batch.add(
                pair,
                prepared.plain.target,
                prepared.plain.source,
                prepared.plain.size_bytes,
                self.stream,
                _kind(self.target),
                _kind(self.source),
                (self, prepared.packed),
            )
        return prepared.follow_up

    def _packed_source(self) -> Array:
        packed = buffer_like(self.source, self.target)
        copy_items(packed, self.source)
        return packed

    def _from_packed(self, packed: Array) -> PlainCopy:
        plain = plain_copy(self.target, packed)
        assert plain is not None, "it was made to lie like the target"  # noqa: S101
        return plain

    def _to_packed(self, packed: Array) -> PlainCopy:
        plain = plain_copy(packed, self.source)
        assert plain is not None, "it was made to lie like the source"  # noqa: S101
        return plain

    def _copy(
        self, native: _native.Transfers, plain: PlainCopy, packed: Array | None = None
    ) -> None:
        try:
            native.copy(
                plain.target,
                plain.source,
                plain.size_bytes,
                stream=self.stream,
                target_kind=_kind(self.target),
                source_kind=_kind(self.source),
            )
        except DriverError as failure:
            if failure.memory_in_use:
                _native.keep_forever((self, packed))
            raise


def _kind(array: Array) -> str:
    """Give the kind of the object's memory: a NumPy array may view any host memory."""
    if array.place is Place.DEVICE:
        return "device"
    # Only blocks of our own pool are certain to be pinned.
    ours = array.place is Place.PINNED and isinstance(array.owner, _native.PinnedBlock)
    return "pinned" if ours else "unknown"
