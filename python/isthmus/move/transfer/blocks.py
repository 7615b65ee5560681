"""Copies of blocks by index, of pieces by addresses, and copies that are prepared once."""

import operator
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
            UsageError: Memory was freed since; or an index on the GPU was outside its pool in an
                earlier call, and nobody was told. Nothing was copied.
            DriverError: The driver refuses it.
        """
        return CopyFuture(self._native.run(stream))

    def explain(self) -> BlockWay:
        """Say how the copy is made, and why."""
        return self._native.explain()

    def __repr__(self) -> str:
        """Name what is copied, and the way."""
        how = self.explain()
        return (
            f"PreparedCopy(num_copies={how.num_copies}, size_bytes={how.size_bytes}, "
            f"way={how.way!r})"
        )


_LISTS = (list, tuple, range)


def _index(name: str, numbers: Any) -> Any:  # noqa: ANN401 - an array, or it is checked
    """Make an array of a list."""
    if numbers is None or isinstance(numbers, int):
        raise UsageError(f"{name} is {numbers}: pass an array or a list, such as [0, 7, 3]")
    if not isinstance(numbers, _LISTS):
        return numbers
    import numpy as np

    try:
        array = np.array(numbers)
    except ValueError:  # lists of unequal lengths
        array = np.array([None])
    if array.size != 0 and array.dtype.kind != "i":
        raise UsageError(f"{name} must be an array of int32 or int64, or a list of ints below 2^63")
    return array.astype(np.int64)


def _count(name: str, value: Any, most: int) -> int | None:  # noqa: ANN401 - it is checked
    """Check a number that may be NumPy's; None stays."""
    if value is None:
        return None
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if not 1 <= count <= most:
        raise UsageError(f"{name} must be an int from 1 to {most}, or None, not {value!r}")
    return count


_MOST_SMS, _MOST_BYTES = (1 << 31) - 1, (1 << 63) - 1


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
        sms, block_bytes = (
            _count("sms", sms, _MOST_SMS),
            _count("block_bytes", block_bytes, _MOST_BYTES),
        )
        to, of = _index("target_index", target_index), _index("source_index", source_index)
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
        sms, block_bytes = (
            _count("sms", sms, _MOST_SMS),
            _count("block_bytes", block_bytes, _MOST_BYTES),
        )
        to, of = _index("target_index", target_index), _index("source_index", source_index)
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
