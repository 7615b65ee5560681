"""
NumPy arrays in pinned memory, which GPUs copy from and to at the link's speed.

The memory comes from a pool: pinning is slow, so memory that was pinned is kept and reused. An
array's memory returns to the pool when nothing uses the array any more.
"""

import math
import operator
import reprlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.transfer.packing import numpy_module

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

PinnedPoolStats = _native.PinnedPoolStats

# The limit of NumPy's arrays; before version 2 NumPy has only 32 dimensions, and raises itself.
_MAX_BYTES = (1 << 63) - 1
_MAX_DIMENSIONS = 64

_pools: dict[int, _native.PinnedPool] = {}
_lock = threading.Lock()


def pool_of(device: int) -> _native.PinnedPool:
    """
    Give the pool of a device, created when first needed, for the rest of the package.

    Args:
        device: The GPU's ordinal.

    Returns:
        The pool.

    Raises:
        Unavailable: There is no driver.
        UsageError: There is no such GPU.
    """
    found = _pools.get(device)
    if found is not None:
        return found
    with _lock:
        if device not in _pools:
            _pools[device] = _native.PinnedPool(_native.Driver.open(), device)
        return _pools[device]


def empty(
    shape: int | Sequence[int],
    dtype: "DTypeLike" = float,
    order: Literal["C", "F"] = "C",
    *,
    device: int = 0,
) -> "NDArray[Any]":
    """
    Make an array of undefined contents in pinned memory.

    Args:
        shape: Items along each dimension.
        dtype: Any NumPy type but Python objects.
        order: The order of its dimensions: "C", the last is adjacent; "F", the first.
        device: The GPU of most of its copies: the memory is allocated near it. Any GPU may use it.

    Raises:
        Unavailable: There is no NumPy or no driver, or a limit of the machine doesn't allow it.
        UsageError: The shape, type, order or device is invalid.
    """
    return _array_in_block(shape, dtype, order, device)[0]


def zeros(
    shape: int | Sequence[int],
    dtype: "DTypeLike" = float,
    order: Literal["C", "F"] = "C",
    *,
    device: int = 0,
) -> "NDArray[Any]":
    """Make an array of zeros in pinned memory, as `empty` does."""
    array, block = _array_in_block(shape, dtype, order, device)
    numpy_module().frombuffer(block, "u1").fill(0)  # also strings and structures
    return array


def empty_like(
    prototype: "NDArray[Any]", dtype: "DTypeLike | None" = None, *, device: int = 0
) -> "NDArray[Any]":
    """
    Make an array of undefined contents in pinned memory, like another one.

    Args:
        prototype: Gives the shape, the type, and the order: "F" if it is F and not C.
        dtype: Another type.
        device: As for `empty`.
    """
    flags = prototype.flags
    order: Literal["C", "F"] = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    kind = prototype.dtype if dtype is None else dtype
    return empty(prototype.shape, kind, order, device=device)


def stats(device: int = 0) -> PinnedPoolStats:
    """Give a pool's use so far: blocks, bytes, and the time spent allocating and pinning."""
    return pool_of(device).stats()


def trim(kept_bytes: int = 0) -> None:
    """Unpin memory that no array uses, until each device's pool has at most so many bytes."""
    for pool in list(_pools.values()):
        pool.trim(kept_bytes)


def cupy_allocator(size: int) -> Any:  # noqa: ANN401 - cupy.cuda.PinnedMemoryPointer
    """
    Allocate for CuPy: `cupy.cuda.set_pinned_memory_allocator(isthmus.pinned.cupy_allocator)`.

    Args:
        size: In bytes.

    Returns:
        A `cupy.cuda.PinnedMemoryPointer`, whose memory returns to the pool when nothing uses it.
    """
    import cupy  # type: ignore[import-not-found,unused-ignore]

    block = _native.PinnedBlock(pool_of(cupy.cuda.runtime.getDevice()), max(1, size))
    return cupy.cuda.PinnedMemoryPointer(block, 0)


def _array_in_block(
    shape: int | Sequence[int], dtype: "DTypeLike", order: str, device: int
) -> tuple["NDArray[Any]", _native.PinnedBlock]:
    """Make an array, and return the memory below it, which the array keeps."""
    np = numpy_module()
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise UsageError("Python objects can't be in pinned memory")
    lengths = _lengths(shape)
    if order not in {"C", "F"}:
        raise UsageError(f"the order must be 'C' or 'F', not {order!r}")
    # A length of 0 leaves the strides of the other dimensions.
    if kind.itemsize * math.prod(max(1, length) for length in lengths) > _MAX_BYTES:
        raise UsageError(f"no memory holds the shape {reprlib.repr(lengths)}")
    # A pool gives no memory of 0 bytes, and NumPy wants an address.
    size_bytes = max(1, math.prod(lengths) * kind.itemsize)
    block = _native.PinnedBlock(pool_of(device), size_bytes)
    try:
        return np.ndarray(lengths, kind, buffer=block, order=order), block
    except ValueError as error:
        raise UsageError(f"NumPy has no array of this shape: {error}") from None


def _lengths(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        lengths = tuple(map(operator.index, shape))  # type: ignore[arg-type]
    except TypeError:
        try:
            lengths = (operator.index(shape),)  # type: ignore[arg-type]
        except TypeError:
            raise UsageError(f"not a shape: {reprlib.repr(shape)}") from None
    if any(length < 0 for length in lengths):
        raise UsageError(f"a shape has no negative lengths: {reprlib.repr(shape)}")
    if len(lengths) > _MAX_DIMENSIONS:
        raise UsageError(f"a shape has at most {_MAX_DIMENSIONS} dimensions, not {len(lengths)}")
    return lengths
