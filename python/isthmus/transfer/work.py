"""A copy of a pair of arrays: plain, or with a packed host array in addition."""

from collections.abc import Callable
from dataclasses import dataclass

from isthmus import _native
from isthmus.arrays.array import Array, Place
from isthmus.errors import DriverError, UsageError
from isthmus.transfer.packing import buffer_like, copy_items, unpacking
from isthmus.transfer.pairs import PlainCopy, plain_copy, require_packable


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

    def copy(self, native: _native.Transfers) -> None:
        """Make the copy."""
        if self.plain is not None:
            self._copy(native, self.plain)
            return
        require_packable(self.target, self.source)
        if self.target.on_device:
            packed = self._packed_source()
            self._copy(native, self._from_packed(packed), packed)
        elif self.source.on_device:
            packed = buffer_like(self.target, self.source)
            self._copy(native, self._to_packed(packed), packed)
            copy_items(self.target, packed)
        else:
            self._copy_on_the_host()

    def begin(self, native: _native.Transfers, source_order: str) -> _native.CopyFuture | None:
        """
        Begin the copy.

        Returns:
            None if it is complete.
        """
        if self.plain is not None:
            return self._begin(native, self.plain, source_order)
        require_packable(self.target, self.source)
        if self.target.on_device:
            packed = self._packed_source()
            # The packed array belongs to the copy: nothing else changes it.
            return self._begin(native, self._from_packed(packed), "stream", packed)
        if self.source.on_device:
            packed = buffer_like(self.target, self.source)
            unpack = unpacking(self.target, packed)
            return self._begin(native, self._to_packed(packed), source_order, packed, unpack)
        self._copy_on_the_host()
        return None

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

    def _copy_on_the_host(self) -> None:
        if self.stream != 0:
            raise UsageError(
                "a copy between two host arrays that lie differently is made by the calling "
                "thread: it waits for no stream"
            )
        copy_items(self.target, self.source)

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

    def _begin(
        self,
        native: _native.Transfers,
        plain: PlainCopy,
        source_order: str,
        packed: Array | None = None,
        follow_up: Callable[[], None] | None = None,
    ) -> _native.CopyFuture:
        return native.copy_async(
            plain.target,
            plain.source,
            plain.size_bytes,
            needs=(self, packed),
            stream=self.stream,
            target_kind=_kind(self.target),
            source_kind=_kind(self.source),
            source_order=source_order,
            follow_up=follow_up,
        )


def _kind(array: Array) -> str:
    """Give the kind of the object's memory: a NumPy array may view any host memory."""
    if array.place is Place.DEVICE:
        return "device"
    # Only blocks of our own pool are certain to be pinned.
    ours = array.place is Place.PINNED and isinstance(array.owner, _native.PinnedBlock)
    return "pinned" if ours else "unknown"
