"""A copy of a pair of arrays: plain, or with a packed host array in addition."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from isthmus import _native
from isthmus.errors import DriverError, UsageError
from isthmus.move.arrays.array import Array, Place
from isthmus.move.transfer.packing import buffer_like, copy_items, range_of, unpacking
from isthmus.move.transfer.pairs import (
    PlainCopy,
    StridedCopy,
    fills_its_memory,
    in_own_order,
    is_contiguous,
    is_conversion,
    is_foreign,
    plain_copy,
    require_possible,
    strided_copy,
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    A copy of which no host array has to be packed any more.

    Attributes:
        copy: What the native module copies; None if the follow-up does everything.
        packed: The packed host array that it is copied from or to, if there is one.
        follow_up: To be called when everything has arrived; None if nothing remains.
    """

    copy: PlainCopy | StridedCopy | None
    packed: Array | None = None
    follow_up: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """
    What a copy of two arrays needs.

    Attributes:
        plain: The bytes to copy; None if the memory orders or the types differ.
    """

    objects: tuple[object, object]
    target: Array
    source: Array
    stream: int
    plain: PlainCopy | None

    @property
    def is_strided(self) -> bool:
        """Tell whether packing a host array isn't enough."""
        on_gpu = [array for array in (self.target, self.source) if array.on_device]
        if self.plain is not None or not on_gpu:
            return False
        both = len(on_gpu) == 2  # noqa: PLR2004
        return both or self.converts or not fills_its_memory(on_gpu[0])

    @property
    def converts(self) -> bool:
        """Tell whether the items get another type, and not just another byte order."""
        to, of = self.target.item, self.source.item
        return to is not None and of is not None and in_own_order(to) != in_own_order(of)

    @property
    def differs(self) -> bool:
        """Tell whether the items get another type or another byte order."""
        return is_conversion(self.target, self.source)

    @property
    def is_layout(self) -> bool:
        """Tell whether it is made item by item, by no path: see `Prepared.copy`."""
        on_gpu = self.target.on_device or self.source.on_device
        return self.is_strided or (self.plain is None and not on_gpu)

    def prepared(self, native: _native.Transfers) -> Prepared:
        """Pack what has to be packed, after the work that is in the copy's stream."""
        if self.plain is not None:
            return Prepared(self.plain)
        self.require_possible()
        if self.is_strided:
            return self._prepared_strided(native)
        if not self.target.on_device and not self.source.on_device:
            _require_host(native, self.target, writes=True)
            self._await_source(native)
            return Prepared(None, None, unpacking(self.target, self.source))
        if self.target.on_device:
            packed = self._packed_source(native, self.target)
            return Prepared(self._from_packed(packed), packed)
        _require_host(native, self.target, writes=True)
        packed = buffer_like(self.target, self.source, in_own=self.differs)
        return Prepared(self._to_packed(packed), packed, unpacking(self.target, packed))

    def _prepared_strided(self, native: _native.Transfers) -> Prepared:
        """Bring the host's array, if there is one, into C order and this machine's byte order."""
        if not self.target.on_device and not _is_ready(self.target):
            _require_host(native, self.target, writes=True)
            packed = buffer_like(
                self.target, replace(self.target, strides=None), in_own=self.differs
            )
            follow_up = unpacking(self.target, packed)
            return Prepared(strided_copy(packed, self.source), packed, follow_up)
        if not self.source.on_device and not _is_ready(self.source):
            packed = self._packed_source(native, replace(self.source, strides=None))
            return Prepared(strided_copy(self.target, packed), packed)
        return Prepared(strided_copy(self.target, self.source))

    def require_possible(self) -> None:
        """Refuse what no packing makes possible. Reads and writes nothing."""
        if self.plain is not None:
            return
        require_possible(self.target, self.source)
        on_host = not self.target.on_device and not self.source.on_device
        if on_host and _overlap(self.target, self.source):
            raise UsageError(
                "source and target of the copy overlap", hint="copy through a third array"
            )
        if self.stream != 0 and on_host:
            raise UsageError(
                "a copy between two host arrays that lie differently, or that are converted, is "
                "made by the calling thread: it waits for no stream"
            )
        if on_host and self.converts and "bfloat16" in {self.target.item, self.source.item}:
            raise UsageError(
                "NumPy converts between host arrays, and has no bfloat16",
                hint="copy it to a GPU as it is, and convert it by the copy back",
            )

    def copy(self, native: _native.Transfers) -> None:
        """Make the copy."""
        self.finish(native, self.prepared(native))

    def check(self, native: _native.Transfers, prepared: Prepared) -> None:
        """Raise what `finish` would raise before it writes anything."""
        if isinstance(prepared.copy, StridedCopy):
            self._copy_strided(native, prepared.copy, check_only=True)

    def finish(self, native: _native.Transfers, prepared: Prepared) -> None:
        """Make the copy, which was prepared; complete on return."""
        try:
            if isinstance(prepared.copy, StridedCopy):
                self._copy_strided(native, prepared.copy)
            elif prepared.copy is not None:
                self._copy(native, prepared.copy)
        except DriverError as failure:
            if failure.memory_in_use:
                _native.keep_forever((self, prepared.packed))
            raise
        if prepared.follow_up is not None:
            prepared.follow_up()

    def begin(self, native: _native.Transfers, source_order: str) -> _native.CopyFuture | None:
        """Begin the copy; None if it is complete, as one between two layouts is on return."""
        prepared = self.prepared(native)
        if not isinstance(prepared.copy, PlainCopy):
            self.finish(native, prepared)
            return None
        # A packed source belongs to the copy: nothing else changes it.
        order = "stream" if prepared.packed and self.target.on_device else source_order
        return native.copy_async(
            prepared.copy.target,
            prepared.copy.source,
            prepared.copy.size_bytes,
            needs=(self, prepared.packed),
            stream=self.stream,
            target_kind=_kind(self.target),
            source_kind=_kind(self.source),
            source_order=order,
            follow_up=prepared.follow_up,
        )

    def add_to(
        self, batch: _native.ArrayBatch, pair: int, copy: PlainCopy, packed: Array | None
    ) -> None:
        """
        Add a prepared copy of the batch's pair of that number, from or to `packed`, if there is
        one.
        """
        batch.add(
            pair,
            copy.target,
            copy.source,
            copy.size_bytes,
            self.stream,
            _kind(self.target),
            _kind(self.source),
            (self, packed),
        )

    def _packed_source(self, native: _native.Transfers, layout_of: Array) -> Array:
        self._await_source(native)
        packed = buffer_like(self.source, layout_of, in_own=self.differs)
        copy_items(packed, self.source)
        return packed

    def _await_source(self, native: _native.Transfers) -> None:
        """Return when the host's array may be read: earlier work of the stream may write it."""
        _require_host(native, self.source, writes=False)
        native.wait_for_work(self.stream)

    def _from_packed(self, packed: Array) -> PlainCopy:
        plain = plain_copy(self.target, packed)
        assert plain is not None, "it was made to lie like the target"  # noqa: S101
        return plain

    def _to_packed(self, packed: Array) -> PlainCopy:
        plain = plain_copy(packed, self.source)
        assert plain is not None, "it was made to lie like the source"  # noqa: S101
        return plain

    def _copy_strided(
        self, native: _native.Transfers, copy: StridedCopy, *, check_only: bool = False
    ) -> None:
        native.copy_strided(
            copy.target,
            copy.source,
            copy.item_bytes,
            copy.shape,
            copy.target_strides,
            copy.source_strides,
            stream=self.stream,
            target_type=copy.target_type,
            source_type=copy.source_type,
            check_only=check_only,
        )

    def _copy(self, native: _native.Transfers, plain: PlainCopy) -> None:
        native.copy(
            plain.target,
            plain.source,
            plain.size_bytes,
            stream=self.stream,
            target_kind=_kind(self.target),
            source_kind=_kind(self.source),
        )


def _is_ready(array: Array) -> bool:
    return is_contiguous(array) and not is_foreign(array)


def _overlap(target: Array, source: Array) -> bool:
    """Tell whether two arrays without gaps share memory."""
    if not fills_its_memory(target) or not fills_its_memory(source):
        return False
    (to, to_bytes), (begin, size_bytes) = range_of(target), range_of(source)
    return to < begin + size_bytes and begin < to + to_bytes


def _require_host(native: _native.Transfers, array: Array, *, writes: bool) -> None:
    """Refuse a host array that NumPy can't touch."""
    native.check_host_memory(*range_of(array), writes=writes)


def _kind(array: Array) -> str:
    """Give the kind of the object's memory: a NumPy array may view any host memory."""
    if array.place is Place.DEVICE:
        return "device"
    # Only blocks of our own pool are certain to be pinned.
    ours = array.place is Place.PINNED and isinstance(array.owner, _native.PinnedBlock)
    return "pinned" if ours else "unknown"
