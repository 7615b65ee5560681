"""Copies of blocks by index, of pieces by addresses, and copies that are prepared once."""

from typing import TYPE_CHECKING, Any, Literal

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.move.transfer.future import CopyFuture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.move.arrays.accepted import ArrayLike, StreamLike, Structure
    from isthmus.move.arrays.pointers import Blocks

    # One pool, or one for each layer.
    Pools = ArrayLike | Blocks | Sequence[ArrayLike | Blocks]
    Index = ArrayLike | Sequence[int]

Priority = Literal["bulk", "urgent"]
BULK: Priority = "bulk"
BlockWay = _native.BlockWay


class PreparedCopy:
    """
    A copy whose arrays are checked and whose indices are kept: `isthmus.plan_blocks` and
    `isthmus.plan_many` make it. Call it as often as the copy is needed. It keeps its arrays, and
    must live as long as a graph that has captured it. May be used from any thread.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.PreparedCopy) -> None:
        """Wrap it."""
        self._native = native

    def __call__(self, *, stream: "StreamLike | None" = None) -> CopyFuture:
        """
        Begin the copy; returns at once for memory of GPUs and pinned memory.

        Args:
            stream: The copy begins after the work in it, and is captured if it is. None is the
                current stream of the arrays' library, at the moment of the call.

        Raises:
            UsageError: Memory was freed since, or an earlier copy of blocks had a wrong index.
            DriverError: The driver refuses it.
        """
        return CopyFuture(self._native.run(stream))

    def explain(self) -> BlockWay:
        """Say how the copy is made, and why."""
        return self._native.explain()


_LISTS = (list, tuple, range)


def _index(numbers: "Index") -> Any:  # noqa: ANN401 - any array
    """Make an array of a list."""
    if not isinstance(numbers, _LISTS):
        return numbers
    import numpy as np

    array = np.array(numbers)
    if array.size != 0 and array.dtype.kind != "i":
        raise UsageError("an index must be an array of int32 or int64, or a list of ints")
    return array.astype(np.int64)


def _require_counts(sms: object, block_bytes: object) -> None:
    for name, value in (("sms", sms), ("block_bytes", block_bytes)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name} must be a number of 1 at least, or None, not {value!r}")


class BlockCalls:
    """The calls of `isthmus.Transfers` that copy blocks."""

    _native: _native.Transfers

    def _find_compiler(self) -> None:
        raise NotImplementedError

    def copy_blocks(  # noqa: PLR0913 - as isthmus.copy_blocks
        self,
        target: "Pools",
        source: "Pools",
        target_index: "Index",
        source_index: "Index",
        *,
        block_bytes: int | None = None,
        stream: "StreamLike | None" = None,
        sms: int | None = None,
        priority: Priority = BULK,
    ) -> CopyFuture:
        """Begin to copy blocks by index, as `isthmus.copy_blocks` does."""
        self._find_compiler()
        _require_counts(sms, block_bytes)
        to, of = _index(target_index), _index(source_index)
        begun = self._native.copy_blocks(
            target, source, to, of, block_bytes, stream, sms or 0, priority
        )
        return CopyFuture(begun)

    def plan_blocks(  # noqa: PLR0913 - as isthmus.plan_blocks
        self,
        target: "Pools",
        source: "Pools",
        target_index: "Index",
        source_index: "Index",
        *,
        block_bytes: int | None = None,
        stream: "StreamLike | None" = None,
        sms: int | None = None,
        priority: Priority = BULK,
    ) -> PreparedCopy:
        """Prepare a copy of blocks, as `isthmus.plan_blocks` does."""
        self._find_compiler()
        _require_counts(sms, block_bytes)
        to, of = _index(target_index), _index(source_index)
        return PreparedCopy(
            self._native.plan_blocks(
                target, source, to, of, block_bytes, stream, sms or 0, priority
            )
        )

    def check_blocks(self) -> None:
        """Raise the error of a wrong index on a GPU, as `isthmus.check_blocks` does."""
        self._native.check_blocks()

    def copy_many(
        self,
        target_pointers: "ArrayLike",
        source_pointers: "ArrayLike",
        sizes: "ArrayLike",
        *,
        stream: "StreamLike | None" = None,
    ) -> CopyFuture:
        """Begin to copy between addresses, as `isthmus.copy_many` does."""
        self._find_compiler()
        return CopyFuture(self._native.copy_pieces(target_pointers, source_pointers, sizes, stream))

    def plan_many(self, targets: "Structure", sources: "Structure") -> PreparedCopy:
        """Prepare a copy of many arrays, as `isthmus.plan_many` does."""
        self._find_compiler()
        return PreparedCopy(self._native.plan_many(targets, sources))
