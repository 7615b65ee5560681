"""
Reads `__cuda_array_interface__`, up to version 3: Numba, CuPy, RMM (its own says 0) and others.

Source: CUDA Array Interface (version 3), Numba's documentation.
"""

import re
from collections.abc import Mapping, Sequence

from isthmus.errors import UsageError
from isthmus.windows.device_bytes import DeviceBytes, array_size_bytes, require_contiguous

_NEWEST_VERSION = 3
_TYPE = re.compile(r"[<>|=]?([a-zA-Z])(\d+)(\[\w+\])?")
_UTF32_BYTES = 4


def from_cuda_array_interface(array: object, interface: object) -> DeviceBytes:
    """
    Find the memory of an array that described itself.

    Raises:
        UsageError: It isn't contiguous, has a mask, or its description breaks the rules.
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
        raise UsageError(f"this {what} is masked: open the window on its data")
    for member in ("shape", "typestr", "data"):
        if interface.get(member) is None:
            raise UsageError(f"this {what} has a __cuda_array_interface__ without '{member}'")
    shape: Sequence[int] = interface["shape"]
    item_bytes = _item_bytes(interface["typestr"], what)
    require_contiguous(shape, interface.get("strides"), item_bytes, what)
    pointer, read_only = interface["data"]
    return DeviceBytes(
        pointer=pointer or 0,
        size_bytes=array_size_bytes(shape, item_bytes * 8),
        read_only=bool(read_only),
        owner=array,
        pending_stream=_stream(interface.get("stream"), what),
    )


def _item_bytes(type_string: str, what: str) -> int:
    """From "<f4", 4."""
    found = _TYPE.fullmatch(type_string)
    if found is None:
        raise UsageError(f"this {what} has items of unknown size: typestr '{type_string}'")
    count = int(found[2])
    return count * _UTF32_BYTES if found[1] == "U" else count


def _stream(stream: object, what: str) -> int | None:
    if stream is None:
        return None
    if not isinstance(stream, int) or stream <= 0:
        raise UsageError(
            f"this {what} names stream {stream!r} in __cuda_array_interface__: "
            "a stream is a number above 0, or None"
        )
    return stream
