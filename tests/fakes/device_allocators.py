"""Device memory of every kind that a driver hands out, as libraries' allocators ask for it."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from fakes.cuda_calls import Cuda

_GRANULE_BYTES = 2 << 20  # of GPUs
_ATTACH_GLOBAL, _PINNED, _ON_DEVICE, _READ_WRITE = 1, 1, 1, 3
_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@contextmanager
def plain(cuda: Cuda, size: int) -> Iterator[int]:
    """Allocate as cudaMalloc does."""
    pointer = ctypes.c_uint64()
    cuda.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
    try:
        yield pointer.value
    finally:
        cuda.call("cuMemFree_v2", pointer)


@contextmanager
def in_stream_order(cuda: Cuda, size: int) -> Iterator[int]:
    """Allocate as cudaMallocAsync does, from the device's pool."""
    pointer = ctypes.c_uint64()
    cuda.call("cuMemAllocAsync", ctypes.byref(pointer), ctypes.c_size_t(size), None)
    try:
        yield pointer.value
    finally:
        cuda.call("cuMemFreeAsync", pointer, None)


@contextmanager
def managed(cuda: Cuda, size: int) -> Iterator[int]:
    """Allocate as cudaMallocManaged does."""
    pointer = ctypes.c_uint64()
    cuda.call("cuMemAllocManaged", ctypes.byref(pointer), ctypes.c_size_t(size), _ATTACH_GLOBAL)
    try:
        yield pointer.value
    finally:
        cuda.call("cuMemFree_v2", pointer)


@contextmanager
def created(
    cuda: Cuda, size: int, *, handle_types: int = 0, piece_bytes: int = 0, for_rdma: bool = False
) -> Iterator[int]:
    """
    Create memory by cuMemCreate, and map it at reserved addresses.

    Args:
        cuda: The driver.
        size: In bytes; rounded up to whole granules.
        handle_types: As what it can be exported; 0: it has no handle.
        piece_bytes: Not 0: one piece after the other, as PyTorch's expandable segments.
        for_rdma: With gpuDirectRDMACapable, as GDRCopy's tests.
    """
    num_granules = -(-size // _GRANULE_BYTES)
    whole = ctypes.c_size_t(num_granules * _GRANULE_BYTES)
    piece = ctypes.c_size_t(piece_bytes or whole.value)
    base, none = ctypes.c_uint64(), ctypes.c_uint64(0)
    location = _Location(_ON_DEVICE, 0)
    flags = (ctypes.c_ubyte * 8)(0, int(for_rdma))
    properties = _Properties(
        type=_PINNED, handle_types=handle_types, location=location, flags=flags
    )
    cuda.call("cuMemAddressReserve", ctypes.byref(base), whole, ctypes.c_size_t(0), none, none)
    addresses = [ctypes.c_uint64(base.value + at) for at in range(0, whole.value, piece.value)]
    for address in addresses:
        handle = ctypes.c_uint64()
        cuda.call("cuMemCreate", ctypes.byref(handle), piece, ctypes.byref(properties), none)
        cuda.call("cuMemMap", address, piece, ctypes.c_size_t(0), handle, none)
        cuda.call("cuMemRelease", handle)  # the mapping keeps the memory
    access = _Access(location, _READ_WRITE)
    cuda.call("cuMemSetAccess", base, whole, ctypes.byref(access), ctypes.c_size_t(1))
    try:
        yield base.value
    finally:
        for address in addresses:
            cuda.call("cuMemUnmap", address, piece)
        cuda.call("cuMemAddressFree", base, whole)


Allocator = Callable[[Cuda, int], AbstractContextManager[int]]
ALLOCATORS: dict[str, Allocator] = {
    "cudaMalloc": plain,
    "cudaMallocAsync": in_stream_order,
    "exportable cuMemCreate": partial(created, handle_types=_DESCRIPTOR),
    "cuMemCreate without a handle": created,
    "cuMemCreate for RDMA": partial(created, for_rdma=True),
    "expandable segments": partial(created, piece_bytes=_GRANULE_BYTES),
    "cudaMallocManaged": managed,
}
