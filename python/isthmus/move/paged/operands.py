"""Indices, values and numbers that are given to a paged array's operations."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.move.arrays.device_array import DeviceArray
from isthmus.move.arrays.layout import is_c_contiguous
from isthmus.move.arrays.streams import stream_handle
from isthmus.move.transfer.copying import copy
from isthmus.move.transfer.packing import numpy_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isthmus.move.windows.opening import Windows

_KINDS = {"float32": 0, "float64": 1, "int32": 2, "int64": 3}
_REDUCTIONS = {"sum": 0, "min": 1, "max": 2}


def reduction_of(dtype: str, operation: object) -> tuple[int, int]:
    """Give the numbers of a type and a reduction."""
    if dtype not in _KINDS:
        raise UsageError(f"items of {dtype} can't be reduced: {', '.join(_KINDS)} can")
    if not isinstance(operation, str) or operation not in _REDUCTIONS:
        raise UsageError(f"no reduction {operation!r}: there are sum, min and max")
    return _KINDS[dtype], _REDUCTIONS[operation]


def handle_of(stream: object) -> int:
    """Give a stream's handle; None is the legacy default stream."""
    return 0 if stream is None else stream_handle(stream)


Ranges = Iterable[tuple[SupportsIndex, SupportsIndex]]


def byte_ranges_of(ranges: Ranges | None, num_items: int, item_bytes: int) -> list[tuple[int, int]]:
    """Turn ranges of items into ranges of bytes; None is all items."""
    if ranges is None:
        return [(0, num_items * item_bytes)]
    if not isinstance(ranges, Iterable):
        raise UsageError(
            f"ranges are pairs (first, end) of indices, such as [(0, 100)], not {ranges!r}"
        )
    found = []
    for pair in ranges:
        try:
            first, end = map(operator.index, pair)
        except (TypeError, ValueError):
            raise UsageError(f"a range is a pair (first, end) of indices, not {pair!r}") from None
        if not 0 <= first <= end <= num_items:
            raise UsageError(
                f"range ({first}, {end}) isn't of items: the array has {num_items}, from 0"
            )
        found.append((first * item_bytes, end * item_bytes))
    return found


def of_type(dtype: object, values: Any) -> Any:  # noqa: ANN401 - an array of any library
    """Give values back, if they have this type, or none at all."""
    types = dtype, getattr(values, "dtype", dtype)
    wanted, given = (str(one).removeprefix("torch.") for one in types)
    if given != wanted:
        raise UsageError(
            f"values are {given}, and the rows {wanted}: nothing is converted; make values of "
            "the rows' type"
        )
    return values


def index_of(what: str, value: object) -> int:
    """Give a number of items."""
    return _whole(what, value, "a number of items", bits=63)


def _whole(what: str, value: object, kind: str, *, bits: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} is {kind}, not {value!r}") from None
    if not 0 <= number < 1 << bits:
        raise UsageError(f"{what} is {kind} from 0, not {number}")
    return number


def require_word(what: str, given: object, words: tuple[str, ...]) -> None:
    """Refuse whatever is none of these words."""
    if not isinstance(given, str) or given not in words:
        raise UsageError(f"there is no {what} {given!r}: there are {' and '.join(words)}")


_INDEX_TYPES = {"int32", "int64", "uint64"}
# By NumPy's kinds: what a kind of a lower rank can't have.
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


@dataclass(frozen=True, kw_only=True)
class Operand:
    """
    Items in device memory, complete.

    Attributes:
        owner: Keeps the memory.
    """

    pointer: int
    shape: tuple[int, ...]
    item_bytes: int
    dtype: str
    count: int
    owner: object

    @property
    def indices(self) -> tuple[int, int, int, bool]:
        """Give what the native part takes of indices."""
        return self.pointer, self.item_bytes, self.count, self.dtype != "uint64"


class Operands:
    """Reads operands for one device."""

    def __init__(self, windows: "Windows", context: "_native.Context", device: int) -> None:
        """Keep what reads arrays."""
        self._windows = windows
        self._context = context
        self._device = device

    def indices(self, given: object) -> Operand:
        """Take indices: an array of int32, int64 or uint64 of any library, or a list."""
        if _is_on_device(given):
            found = self._on_device(given, "indices")
            _require_index(found.dtype)
            return found
        numpy = numpy_module()
        array = _as_array(given, None, "indices")
        if array.size == 0:
            array = array.astype(numpy.int64)
        _require_index(str(array.dtype))
        return self._uploaded(array)

    def values(self, given: object, dtype: "np.dtype[Any]", count: int | None) -> Operand:
        """
        Take values to store: an array of the paged array's type, a list or a number; any number of
        them if `count` is None.
        """
        numpy = numpy_module()
        if _is_on_device(given):
            found = self._on_device(given, "values")
            _require_type(found.dtype, dtype)
        else:
            has_type = isinstance(given, numpy.ndarray | numpy.generic)
            array = _as_array(given, None, "values")
            if not has_type:
                if array.size > 0:
                    _require_no_loss(array.dtype, dtype)
                array = _as_array(given, dtype, "values")
            _require_type(str(array.dtype), dtype)
            if array.ndim == 0 and count is not None:
                array = numpy.full(count, array)
            found = self._uploaded(array)
        if count is not None and found.count != count:
            raise UsageError(f"{found.count} values for {count} indices: give one for each")
        return found

    def _uploaded(self, array: Any) -> Operand:  # noqa: ANN401 - NumPy's
        target = DeviceArray(self._context, array.shape, array.dtype, self._device)
        copy(target, numpy_module().asarray(array, order="C"))
        return Operand(
            pointer=target.pointer,
            shape=array.shape,
            item_bytes=array.dtype.itemsize,
            dtype=str(array.dtype),
            count=array.size,
            owner=target,
        )

    def _on_device(self, given: object, what: str) -> Operand:
        """Wait for the work on an array of the device."""
        array = self._windows._reader.read_source(given)
        shape = array.shape or ()
        device = array.device
        if array.size_bytes > 0:
            # A kernel that reads what isn't there ends all work of the GPU.
            ends = array.pointer, array.pointer + array.size_bytes - 1
            found = [_native.pointer_device(self._windows._driver, end) for end in ends]
            if None in found:
                raise UsageError(
                    f"{what} at {array.pointer:#x}: CUDA doesn't know {array.size_bytes} bytes of "
                    "memory there: it was freed, or never was a GPU's"
                )
            # Not every protocol names the GPU.
            device = found[0] if device is None else device
        if device not in {None, self._device}:
            raise UsageError(
                f"{what} are on GPU {device}, and the paged array on GPU {self._device}",
                hint="copy them to that GPU, or pass a NumPy array",
            )
        if not is_c_contiguous(shape, array.strides, array.item_bits // 8):
            raise UsageError(f"{what} have gaps: pass a contiguous copy")
        if array.stream is not None:
            self._windows._pending_work.wait(array.stream, array.device, array.pointer)
        item_bytes = array.item_bits // 8
        count = array.size_bytes // item_bytes
        return Operand(
            pointer=array.pointer,
            shape=shape,
            item_bytes=item_bytes,
            dtype=str(array.item),
            count=count,
            owner=array.owner,
        )


def _as_array(given: object, dtype: "np.dtype[Any] | None", what: str) -> "NDArray[Any]":
    """Make a NumPy array of what is on the host."""
    numpy = numpy_module()
    if isinstance(given, numpy.ma.MaskedArray):
        raise UsageError(
            f"{what} are a masked array, and a paged array has no masks",
            hint="pass array.compressed() or array.filled(value)",
        )
    if hasattr(given, "__array_interface__") and not isinstance(given, numpy.ndarray):
        # NumPy would read the memory of which another object tells, be it there or not.
        told = numpy.asarray(given)
        own = numpy.empty_like(told)
        copy(own, told)
        given = own
    try:
        array: NDArray[Any] = numpy.asarray(given, dtype)
    except (OverflowError, TypeError, ValueError) as error:
        kind = "one array" if dtype is None else f"items of {dtype}"
        raise UsageError(f"{what} can't be made {kind}: {error}") from None
    return array


def _require_index(dtype: str) -> None:
    if dtype not in _INDEX_TYPES:
        raise UsageError(
            f"indices are int32, int64 or uint64, not {dtype}",
            hint="numpy.asarray(indices, numpy.int64) converts them",
        )


def _require_type(kind: str, dtype: "np.dtype[Any]") -> None:
    if kind != str(dtype):
        raise UsageError(
            f"values of {kind}: the paged array has items of {dtype}",
            hint="convert them: values.astype(array.dtype)",
        )


def _require_no_loss(given: "np.dtype[Any]", dtype: "np.dtype[Any]") -> None:
    """Refuse floats for integers, and complex numbers for real ones, which NumPy would cut off."""
    if _RANKS.get(given.kind, len(_RANKS)) > max(1, _RANKS[dtype.kind]):
        raise UsageError(
            f"values of {given}: the paged array has items of {dtype}",
            hint="convert them yourself, since that loses a part of each value",
        )


def _is_on_device(given: object) -> bool:
    """Tell what has a device's memory by its protocols; what is on the host goes by NumPy."""
    told = getattr(given, "__dlpack_device__", None)
    if told is not None and callable(told):
        kind, _ = told()
        return int(kind) == 2  # noqa: PLR2004 - DLPack's kDLCUDA
    return hasattr(given, "__cuda_array_interface__")
