"""One copy of one pair of arrays: plain, or with a packed host array beside it."""

from dataclasses import dataclass
from functools import partial

from isthmus import _native
from isthmus.arrays.array import Array, Place
from isthmus.errors import UsageError
from isthmus.transfer.background import InBackground
from isthmus.transfer.future import Pending
from isthmus.transfer.packing import buffer_like, copy_items
from isthmus.transfer.pairs import PlainCopy, plain_copy, require_packable


@dataclass(frozen=True, slots=True)
class Work:
    """
    What a copy of two arrays takes.

    Attributes:
        target: Fits the source.
        source: Fits the target.
        stream: The CUstream to do it in.
        plain: The bytes to copy; None if the arrays lie differently.
    """

    target: Array
    source: Array
    stream: int
    plain: PlainCopy | None

    def copy(self, native: _native.Transfers) -> None:
        """Do it."""
        if self.plain is not None:
            _copy(native, self.plain, self)
            return
        require_packable(self.target, self.source)
        if self.target.on_device:
            packed = self._packed_source()  # kept until it has been copied
            _copy(native, self._from_packed(packed), self)
        elif self.source.on_device:
            packed = buffer_like(self.target, self.source)
            _copy(native, self._to_packed(packed), self)
            copy_items(self.target, packed)
        else:
            self._copy_on_the_host()

    def begin(self, native: _native.Transfers, source_order: str) -> Pending:
        """Begin to do it."""
        if self.plain is not None:
            return _begin(native, self.plain, self, source_order)
        require_packable(self.target, self.source)
        if self.target.on_device:
            packed = self._packed_source()
            # The packed array is the copy's own: nobody changes it.
            return _Holding(_begin(native, self._from_packed(packed), self, "stream"), packed)
        if self.source.on_device:
            packed = buffer_like(self.target, self.source)
            pending = _begin(native, self._to_packed(packed), self, source_order)
            return InBackground(partial(_unpack, pending, self.target, packed))
        self._copy_on_the_host()
        return _Complete()

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


class _Complete:
    """A copy that is complete."""

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Return at once."""
        del timeout_seconds
        return True

    def ready(self) -> bool:
        """Tell that it is."""
        return True


class _Holding:
    """A copy under way, and memory of its own that it needs."""

    def __init__(self, pending: Pending, memory: object) -> None:
        self._pending = pending
        self._memory = memory

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Return True when it is complete, False when the time is up."""
        return self._pending.wait(timeout_seconds)

    def ready(self) -> bool:
        """Tell whether `wait` would not wait."""
        return self._pending.ready()


def _copy(native: _native.Transfers, plain: PlainCopy, work: Work) -> None:
    native.copy(
        plain.target,
        plain.source,
        plain.size_bytes,
        stream=work.stream,
        target_kind=_kind(work.target),
        source_kind=_kind(work.source),
    )


def _begin(
    native: _native.Transfers, plain: PlainCopy, work: Work, source_order: str
) -> _native.CopyFuture:
    return native.copy_async(
        plain.target,
        plain.source,
        plain.size_bytes,
        stream=work.stream,
        target_kind=_kind(work.target),
        source_kind=_kind(work.source),
        source_order=source_order,
    )


def _kind(array: Array) -> str:
    """Tell the kind of memory where the object does: a NumPy array may view any of the host's."""
    if array.place is Place.DEVICE:
        return "device"
    # Only blocks of our own pool are certain to be pinned.
    ours = array.place is Place.PINNED and isinstance(array.owner, _native.PinnedBlock)
    return "pinned" if ours else "unknown"


def _unpack(pending: Pending, target: Array, packed: Array) -> None:
    pending.wait()
    copy_items(target, packed)
