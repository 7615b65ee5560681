"""Indices and values that are given to a paged array's operations."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.arrays.device_array import DeviceArray
from isthmus.arrays.layout import is_c_contiguous
from isthmus.errors import UsageError
from isthmus.transfer.copying import copy
from isthmus.transfer.packing import numpy_module

if TYPE_CHECKING:
    import numpy as np

    from isthmus import _native
    from isthmus.windows.opening import Windows

_INDEX_BYTES = {"int32": 4, "int64": 8}


@dataclass(frozen=True, kw_only=True)
class Operand:
    """
    Items in device memory, complete.

    Attributes:
        pointer: The address of the first.
        shape: Of the array that was given.
        item_bytes: Of one.
        count: How many there are.
        owner: Keeps the memory.
    """

    pointer: int
    shape: tuple[int, ...]
    item_bytes: int
    count: int
    owner: object


class Operands:
    """Reads operands for one device."""

    def __init__(self, windows: "Windows", context: "_native.Context", device: int) -> None:
        """Keep what reads arrays."""
        self._windows = windows
        self._context = context
        self._device = device

    def indices(self, given: object) -> Operand:
        """
        Take indices: an array of int32 or int64 of any library, or a list.

        Raises:
            UsageError: They aren't integers, have gaps, or are in another GPU's memory.
        """
        if _is_on_device(given):
            found, dtype = self._on_device(given, "indices")
        else:
            numpy = numpy_module()
            array = numpy.asarray(given)
            if array.size == 0:
                array = array.astype(numpy.int64)
            found, dtype = self._uploaded(array), str(array.dtype)
        if dtype not in _INDEX_BYTES:
            raise UsageError(f"indices are int32 or int64, not {dtype}")
        return found

    def values(self, given: object, dtype: "np.dtype[Any]", count: int | None) -> Operand:
        """
        Take values to store.

        Args:
            given: An array of any library, a list or a number.
            dtype: The paged array's, which an array must have.
            count: How many there must be; None is any number.

        Raises:
            UsageError: They have another type or number, gaps, or are in another GPU's memory.
        """
        numpy = numpy_module()
        if _is_on_device(given):
            found, kind = self._on_device(given, "values")
        else:
            has_type = isinstance(given, numpy.ndarray | numpy.generic)
            array = numpy.asarray(given, None if has_type else dtype)
            if array.ndim == 0 and count is not None:
                array = numpy.full(count, array)
            found, kind = self._uploaded(array), str(array.dtype)
        if kind != str(dtype):
            raise UsageError(f"values of {kind}: the paged array has items of {dtype}")
        if count is not None and found.count != count:
            raise UsageError(f"{found.count} values for {count} indices: give one for each")
        return found

    def _uploaded(self, array: Any) -> Operand:  # noqa: ANN401 - NumPy's
        target = DeviceArray(self._context, array.shape, array.dtype, self._device)
        copy(target, numpy_module().ascontiguousarray(array))
        return Operand(
            pointer=target.pointer,
            shape=array.shape,
            item_bytes=array.dtype.itemsize,
            count=array.size,
            owner=target,
        )

    def _on_device(self, given: object, what: str) -> tuple[Operand, str]:
        """Wait for the work on an array of the device."""
        array = self._windows.reader.read_source(given)
        shape = array.shape or ()
        if array.device not in {None, self._device}:
            raise UsageError(
                f"{what} are on GPU {array.device}, and the paged array on GPU {self._device}"
            )
        if not is_c_contiguous(shape, array.strides, array.item_bits // 8):
            raise UsageError(f"{what} have gaps: pass a contiguous copy")
        if array.stream is not None:
            self._windows.pending_work.wait(array.stream, array.device, array.pointer)
        item_bytes = array.item_bits // 8
        count = array.size_bytes // item_bytes
        found = Operand(
            pointer=array.pointer,
            shape=shape,
            item_bytes=item_bytes,
            count=count,
            owner=array.owner,
        )
        return found, str(array.item)


def _is_on_device(given: object) -> bool:
    """Tell what has a device's memory by its protocols; what is on the host goes by NumPy."""
    told = getattr(given, "__dlpack_device__", None)
    if told is not None and callable(told):
        kind, _ = told()
        return int(kind) == 2  # noqa: PLR2004 - DLPack's kDLCUDA
    return hasattr(given, "__cuda_array_interface__")
