"""
Reads arrays by DLPack: PyTorch, CuPy, JAX, cuda.core and others.

Source: DLPack 1.1; Python array API standard 2024.12, `__dlpack__`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from isthmus import _native
from isthmus.arrays.array import Array, Place
from isthmus.arrays.asking import asking
from isthmus.arrays.items import item_of_dlpack
from isthmus.arrays.layout import is_c_contiguous
from isthmus.errors import UsageError

PLACES = {1: Place.HOST, 2: Place.DEVICE, 3: Place.PINNED, 13: Place.MANAGED}
_VERSION = (1, 1)
_NO_SYNCHRONISATION = -1


@runtime_checkable
class DlpackExporter(Protocol):
    """An array that can describe itself by DLPack."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        """Give a capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Tell the kind of memory, and which device's."""


Exporting = Callable[[int], AbstractContextManager[int | None]]


def from_dlpack(array: DlpackExporter, exporting: Exporting | None) -> Array:
    """
    Find the memory of an array.

    Args:
        array: Keeps its memory while the result's `owner` lives.
        exporting: Makes a device current, which PyTorch demands, and gives a stream of it, which
            the array's library makes wait for its pending work; a stream of None isn't waited for.
            None if nothing is to be current.

    Raises:
        UsageError: It is neither the host's memory nor a GPU's, or can't be exported.
    """
    kind, device = dlpack_device(array)
    _place(kind, array)
    stream = None
    if PLACES[kind] in {Place.HOST, Place.PINNED}:
        capsule = _export(array, None)
    elif exporting is None:
        capsule = _export(array, _NO_SYNCHRONISATION)
    else:
        with exporting(device) as stream:
            capsule = _export(array, _NO_SYNCHRONISATION if stream is None else stream)
    return _described(array, capsule, stream)


def dlpack_device(array: DlpackExporter) -> tuple[int, int]:
    """
    Tell the kind of an array's memory, by DLPack's number, and which device's it is.

    Raises:
        UsageError: The array doesn't know, as PyTorch's meta tensors and JAX's traced arrays don't.
    """
    with asking(array):
        kind, device = array.__dlpack_device__()
    return int(kind), int(device)


def _described(array: object, capsule: object, stream: int | None) -> Array:
    found = _native.read_dlpack(capsule)
    strides = None
    if not is_c_contiguous(found.shape, found.strides, 1):
        strides = tuple(stride * found.item_bits // 8 for stride in found.strides or ())
    place = _place(found.device_type, array)
    return Array(
        what=type(array).__name__,
        pointer=found.pointer,
        shape=tuple(found.shape),
        strides=strides,
        item=item_of_dlpack(found.type_code, found.item_bits, found.item_lanes),
        item_bits=found.item_bits,
        place=place,
        device=found.device_id if place in {Place.DEVICE, Place.MANAGED} else None,
        read_only=found.read_only,
        owner=(array, capsule),
        stream=stream,
    )


def _place(kind: int, array: object) -> Place:
    if kind not in PLACES:
        raise UsageError(
            f"this {type(array).__name__} lies on a device that isn't CUDA's (DLPack type {kind})"
        )
    return PLACES[kind]


def _export(array: DlpackExporter, stream: int | None) -> object:
    """Ask for a capsule, of DLPack 1 if the library knows it."""
    with asking(array):
        try:
            return array.__dlpack__(stream=stream, max_version=_VERSION)  # type: ignore[call-arg]
        except TypeError:  # from before DLPack 1
            return array.__dlpack__(stream=stream)
