"""
NumPy arrays in pinned memory, which GPUs copy from and to at the link's speed.

The memory comes from a pool: pinning is slow, so memory that was pinned is kept and reused. An
array's memory returns to the pool after the array's last use.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from isthmus import _native
from isthmus.errors import DriverError, UsageError
from isthmus.ground.forks import lock_of_process
from isthmus.move.arrays.layout import MAX_BYTES, dtype_of, lengths_of, require_addressable
from isthmus.move.arrays.ordinals import ordinal_of
from isthmus.move.transfer.packing import numpy_module, range_of
from isthmus.move.windows.opening import default_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.move.arrays.accepted import DeviceLike, ItemType

_Registered = TypeVar("_Registered")
PinnedPoolStats = _native.PinnedPoolStats

_pools: dict[int, _native.PinnedPool] = {}
# Held by whoever opens or exchanges one. Opening takes that of isthmus.move.windows.opening, too.
pools_lock = lock_of_process()


def pool_of(device: "DeviceLike") -> _native.PinnedPool:
    """
    Give the pool of a device, created when first needed, for the rest of the package.

    Args:
        device: As for `isthmus.device_empty`.

    Returns:
        The pool.

    Raises:
        Unavailable: There is no driver.
        UsageError: There is no such GPU.
    """
    found = _pools.get(device) if type(device) is int else None
    if found is not None:
        return found
    with pools_lock:
        driver = default_windows()._driver
        ordinal = ordinal_of(device, driver)
        if ordinal not in _pools:
            _pools[ordinal] = _native.PinnedPool(driver, ordinal)
        return _pools[ordinal]


def exchange_pools(pools: dict[int, _native.PinnedPool]) -> dict[int, _native.PinnedPool]:
    """Let the process use other pools, by their devices; give the former ones."""
    global _pools
    with pools_lock:
        former, _pools = _pools, pools
        return former


def empty(
    shape: int | Sequence[int],
    dtype: "ItemType" = float,
    order: Literal["C", "F"] = "C",
    *,
    device: "DeviceLike" = 0,
) -> "NDArray[Any]":
    """
    Make an array of undefined contents in pinned memory.

    Args:
        shape: Items along each dimension.
        dtype: As for `isthmus.device_empty`.
        order: The order of its dimensions: "C", the last is adjacent; "F", the first.
        device: The GPU of most of its copies, as for `isthmus.device_empty`: the memory is
            allocated near it. Any GPU may use it.

    Returns:
        The array. Its memory goes back to the pool with its last view: keep it until work that
        you have put into a stream yourself no longer uses it.

    Raises:
        Unavailable: There is no NumPy or no driver, a limit of the machine doesn't allow it, or
            NumPy has the type only with ml_dtypes, which isn't installed.
        OutOfDeviceMemory: The machine can't pin that much.
        UsageError: The shape, type, order or device is invalid.
    """
    pool = _pools.get(device) if type(device) is int else None
    if pool is not None and order == "C":
        array = pool.array(shape, dtype)
        if array is not None:
            return array
    return _array_in_block(shape, dtype, order, device)[0]


def zeros(
    shape: int | Sequence[int],
    dtype: "ItemType" = float,
    order: Literal["C", "F"] = "C",
    *,
    device: "DeviceLike" = 0,
) -> "NDArray[Any]":
    """
    Make an array of zeros in pinned memory.

    Args:
        shape: As for `empty`.
        dtype: The same.
        order: The same.
        device: The same.

    Returns:
        The array, as from `empty`.

    Raises:
        Unavailable: As for `empty`.
        OutOfDeviceMemory: The same.
        UsageError: The same.
    """
    array, block = _array_in_block(shape, dtype, order, device)
    numpy_module().frombuffer(block, "u1").fill(0)  # also strings and structures
    return array


def empty_like(
    prototype: "NDArray[Any]", dtype: "ItemType | None" = None, *, device: "DeviceLike" = 0
) -> "NDArray[Any]":
    """
    Make an array of undefined contents in pinned memory, like another one.

    Args:
        prototype: Gives the shape, the type, and the order: "F" if it is F and not C.
        dtype: Another type.
        device: As for `empty`.

    Returns:
        The array, as from `empty`.

    Raises:
        Unavailable: As for `empty`.
        OutOfDeviceMemory: The same.
        UsageError: The same.
    """
    try:
        flags = prototype.flags
    except AttributeError:
        raise UsageError(f"not a NumPy array to take the shape of: {prototype!r}") from None
    order: Literal["C", "F"] = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    kind = prototype.dtype if dtype is None else dtype
    return empty(prototype.shape, kind, order, device=device)


@contextmanager
def register(array: _Registered, *, device: "DeviceLike" = 0) -> Iterator[_Registered]:
    """
    Pin existing memory in place, during a `with` block.

    This and other libraries then copy it, or parts of it, at the link's speed, like memory from
    `empty`. Pinning takes longer than one copy, so it pays for memory that is copied several
    times. Gaps of an array are pinned, too.

    The end of the block waits for running copies, and for other work of the GPUs. Meanwhile no
    other thread may start to copy the array, and no graph that copies it may be launched later.
    In a forked child the array is ordinary memory, and the end does nothing.

    Args:
        array: Any array in the host's memory, such as NumPy's, a PyTorch tensor, also one that is
            shared between processes, a mapped file, or the `buf` of a `SharedMemory`. It is kept,
            and what it lies in can't be closed, until the block has ended. The file of a mapping
            must not become shorter meanwhile.
        device: The GPU through whose driver it is pinned, as its ordinal or "cuda:ORDINAL". Any
            GPU may use it.

    Returns:
        A context manager, which gives the array.

    Raises:
        UsageError: It isn't an array, isn't in the host's memory, or some of it is pinned already.
        Unavailable: There is no driver, or the system can't pin it: a limit doesn't allow it, or
            the memory is read-only and the array isn't marked so, or it is a file's on a disk and
            writable.
        DriverError: The driver refused; at the end of the block: the memory is kept until the
            process ends.
    """
    windows = default_windows()
    found = windows._reader.read_source(array)
    if found.on_device:
        raise UsageError(f"this {found.what} is in a GPU's memory: only the host's is pinned")
    if isinstance(array, bytes | bytearray):
        raise UsageError(
            f"copies take the memory of {found.what} for pageable",
            hint="pass numpy.frombuffer(...) here and to the copies",
        )
    pointer, size_bytes = range_of(found)
    if size_bytes == 0:
        yield array
        return
    context = windows._pending_work.context(ordinal_of(device, windows._driver))
    registration = _native.Registration(context, pointer, size_bytes, read_only=found.read_only)
    try:
        yield array
    finally:
        try:
            registration.end()
        except DriverError:
            _native.keep_forever(found)
            raise


def stats(device: "DeviceLike" = 0) -> PinnedPoolStats:
    """
    Give a pool's use so far: blocks, bytes, and the time spent allocating and pinning.

    Args:
        device: The GPU whose pool it is.

    Returns:
        Counts, bytes and seconds, each with its unit in its name.

    Raises:
        Unavailable: There is no driver.
        UsageError: There is no such GPU.
    """
    return pool_of(device).stats()


def trim(kept_bytes: int = 0) -> None:
    """
    Unpin memory that no array uses, until each device's pool has at most so many bytes.

    Complete on return. Unpinning takes some 20 ms a GiB (benchmarks/transfer/README.md).

    Args:
        kept_bytes: What each pool may keep, in bytes.

    Raises:
        DriverError: The driver refused; what is in use stays.
        UsageError: It isn't a number of bytes, or more than 2**63 - 1.
    """
    given: object = kept_bytes
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise UsageError(f"what a pool may keep must be a number of bytes, not {kept_bytes!r}")
    if given > MAX_BYTES:
        raise UsageError(
            f"what a pool may keep must be at most {MAX_BYTES} bytes, more than any machine has; "
            "without a number it keeps nothing that is unused"
        )
    for pool in list(_pools.values()):
        pool.trim(kept_bytes)


def cupy_allocator(size: int) -> Any:  # noqa: ANN401 - cupy.cuda.PinnedMemoryPointer
    """
    Allocate for CuPy: `cupy.cuda.set_pinned_memory_allocator(isthmus.pinned.cupy_allocator)`.

    Args:
        size: In bytes.

    Returns:
        A `cupy.cuda.PinnedMemoryPointer`, whose memory returns to the pool when nothing uses it.

    Raises:
        OutOfDeviceMemory: The machine can't pin that much.
    """
    import cupy  # type: ignore[import-not-found,unused-ignore]

    block = _native.PinnedBlock(pool_of(cupy.cuda.runtime.getDevice()), max(1, size))
    return cupy.cuda.PinnedMemoryPointer(block, 0)


def _array_in_block(
    shape: int | Sequence[int], dtype: "ItemType", order: str, device: "DeviceLike"
) -> tuple["NDArray[Any]", _native.PinnedBlock]:
    """Make an array, and return the memory below it, which the array keeps."""
    np = numpy_module()
    kind = dtype_of(np, dtype)
    if kind.hasobject:
        raise UsageError("Python objects can't be in pinned memory")
    lengths = lengths_of(shape)
    if order not in {"C", "F"}:
        raise UsageError(f"the order must be 'C' or 'F', not {order!r}")
    require_addressable(lengths, kind.itemsize)
    # A pool gives no memory of 0 bytes, and NumPy wants an address.
    size_bytes = max(1, math.prod(lengths) * kind.itemsize)
    block = _native.PinnedBlock(pool_of(device), size_bytes)
    try:
        return np.ndarray(lengths, kind, buffer=block, order=order), block
    except ValueError as error:
        raise UsageError(f"NumPy has no array of this shape: {error}") from None
