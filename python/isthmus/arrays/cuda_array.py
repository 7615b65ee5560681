"""
Reads `__cuda_array_interface__`, up to version 3: Numba, CuPy, RMM (its own says 0) and others.

Source: CUDA Array Interface (version 3), Numba's documentation.
"""

from collections.abc import Mapping

from isthmus.arrays.array import Array, Place
from isthmus.arrays.items import item_of_typestr
from isthmus.errors import UsageError

_NEWEST_VERSION = 3


def from_cuda_array_interface(array: object, interface: object) -> Array:
    """
    Find the memory of an array that described itself.

    Raises:
        UsageError: It has a mask, or its description breaks the rules.
    """
    what = type(array).__name__
    if not isinstance(interface, Mapping):
        raise UsageError(f"this {what} has a __cuda_array_interface__ that is no dictionary")
    version = interface.get("version", 0)
    if version > _NEWEST_VERSION:
        raise UsageError(
            f"this {what} has a __cuda_array_interface__ of version {version}; up to "
            f"{_NEWEST_VERSION} is understood"
        )
    if interface.get("mask") is not None:
        raise UsageError(f"this {what} is masked: use its data")
    for member in ("shape", "typestr", "data"):
        if interface.get(member) is None:
            raise UsageError(f"this {what} has a __cuda_array_interface__ without '{member}'")
    item, item_bytes = item_of_typestr(interface["typestr"], what)
    strides = interface.get("strides")
    pointer, read_only = interface["data"]
    return Array(
        what=what,
        pointer=pointer or 0,
        shape=tuple(interface["shape"]),
        strides=None if strides is None else tuple(strides),
        item=item,
        item_bits=item_bytes * 8,
        place=Place.DEVICE,
        read_only=bool(read_only),
        owner=array,
        stream=_stream(interface.get("stream"), what),
    )


def _stream(stream: object, what: str) -> int | None:
    if stream is None:
        return None
    if not isinstance(stream, int) or stream <= 0:
        raise UsageError(
            f"this {what} names stream {stream!r} in __cuda_array_interface__: "
            "a stream is a number above 0, or None"
        )
    return stream
