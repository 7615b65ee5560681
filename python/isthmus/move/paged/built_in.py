"""What is built into a paged array, so that it is of use without a kernel of one's own."""

import math
from typing import TYPE_CHECKING, Any, Literal

from isthmus.errors import UsageError
from isthmus.move.arrays.device_array import DeviceArray
from isthmus.move.paged.operands import index_of, reduction_of
from isthmus.move.transfer.copying import copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isthmus import _native
    from isthmus.move.arrays.accepted import ArrayLike
    from isthmus.move.paged.operands import Operands

Reduction = Literal["sum", "min", "max"]


class BuiltIn:
    """Operations on the items of a paged array, which derives from it."""

    device: int
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    size: int
    _context: "_native.Context"
    _operands: "Operands"

    @property
    def _open(self) -> "_native.PagedMemory":
        """Give the native part; raise UsageError if the array was closed."""
        raise NotImplementedError

    def gather(
        self,
        indices: "ArrayLike | list[int]",
        *,
        axis: Literal[0] | None = None,
        out: "ArrayLike | None" = None,
    ) -> DeviceArray:
        """
        Read items or rows: `result[i] = array[indices[i]]`, as numpy.take. Complete on return.

        Runs in the legacy default stream, after the work on `indices`.

        Args:
            indices: int32, int64 or uint64, from 0, of any shape: in GPU memory (PyTorch, CuPy
                ...), a NumPy array or a list, which is uploaded.
            axis: None: indices of items of the flattened array. 0: of rows, array[index].
            out: An array of the result's shape and type, on the host or a GPU, to which the result
                is copied.

        Returns:
            The items, in GPU memory, in the shape of `indices`, followed by that of a row. Every
            library takes it.

        Raises:
            UsageError: An index isn't of an item: the message names it. Nothing was fetched. Or
                `indices` are told to lie where CUDA knows no memory; or `out` differs.
            OutOfDeviceMemory: The result doesn't fit.
        """
        if axis is not None and axis != 0:
            raise UsageError(
                f"axis={axis!r}: a paged array is gathered by items, axis=None, or rows, axis=0"
            )
        row = () if axis is None else self.shape[1:]
        memory = self._open
        wanted = self._operands.indices(indices)
        result = DeviceArray(self._context, wanted.shape + row, self.dtype, self.device)
        memory.gather(*wanted.indices, result.pointer, math.prod(row))
        if out is not None:
            copy(out, result)
        return result

    def scatter(
        self, indices: "ArrayLike | list[int]", values: "ArrayLike | Sequence[complex] | complex"
    ) -> None:
        """
        Store items: `array[indices[i]] = values[i]`. Complete on return; `flush()` writes back.

        Of several values for one index any may be stored.

        Args:
            indices: As for `gather`.
            values: As many, of the array's type, in GPU memory or not; or a number.

        Raises:
            UsageError: An index isn't of an item, the numbers differ, or the host's array is
                read-only. Nothing was stored.
        """
        memory = self._open
        wanted = self._operands.indices(indices)
        given = self._operands.values(values, self.dtype, wanted.count)
        memory.scatter(*wanted.indices, given.pointer)

    def write(self, values: "ArrayLike | Sequence[complex]", first: int = 0) -> None:
        """
        Store adjacent items. Complete on return. Units that are stored as a whole aren't fetched.

        Args:
            values: Of the array's type, in GPU memory or not.
            first: The index of the first.

        Raises:
            UsageError: They don't lie in the array, or the host's array is read-only.
        """
        memory = self._open
        given = self._operands.values(values, self.dtype, None)
        memory.write(index_of("first", first), given.count, given.pointer)

    def reduce(
        self, operation: Reduction = "sum", first: int = 0, count: int | None = None
    ) -> float | int:
        """
        Reduce adjacent items to one number. Complete on return.

        Args:
            operation: "sum", "min" or "max". A NaN gives NaN.
            first: The index of the first.
            count: How many, at least one; None is all that follow.

        Returns:
            Of floats a float, computed in double precision; of integers an integer, modulo 2**64.

        Raises:
            UsageError: The items are of another type than float32, float64, int32 and int64, don't
                lie in the array, or there is no such operation.
        """
        kind, number = reduction_of(str(self.dtype), operation)
        begin = index_of("first", first)
        length = max(0, self.size - begin) if count is None else index_of("count", count)
        return self._open.reduce(begin, length, kind, number)
