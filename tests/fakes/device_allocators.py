"""Device memory of every kind that a driver hands out, as libraries' allocators ask for it."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from fakes.cuda_calls import Cuda

_PIECE_BYTES = 2 << 20  # the granularity of GPUs
_ATTACH_GLOBAL, _PINNED, _ON_DEVICE, _READ_WRITE = 1, 1, 1, 3


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
def mapped_in_pieces(cuda: Cuda, size: int) -> Iterator[int]:
    """Map one piece after the other into reserved addresses, as PyTorch's expandable segments."""
    num_pieces = -(-size // _PIECE_BYTES)
    whole, piece = ctypes.c_size_t(num_pieces * _PIECE_BYTES), ctypes.c_size_t(_PIECE_BYTES)
    base, none = ctypes.c_uint64(), ctypes.c_uint64(0)
    location = _Location(_ON_DEVICE, 0)
    properties = _Properties(type=_PINNED, location=location)
    cuda.call("cuMemAddressReserve", ctypes.byref(base), whole, ctypes.c_size_t(0), none, none)
    addresses = [ctypes.c_uint64(base.value + n * _PIECE_BYTES) for n in range(num_pieces)]
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
    "expandable segments": mapped_in_pieces,
    "cudaMallocManaged": managed,
}
