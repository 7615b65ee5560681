"""Reads arrays in the host's memory: NumPy's, and whatever has the buffer protocol."""

from collections.abc import Mapping, Sequence
from typing import Any

from isthmus import _native
from isthmus.arrays.array import Array, Place, raw_bytes
from isthmus.arrays.items import item_of_format, item_of_typestr
from isthmus.arrays.layout import is_c_contiguous
from isthmus.arrays.loaded import loaded_type
from isthmus.errors import UsageError

_OF_A_USER = 2  # of numpy.dtype.isbuiltin: a type that NumPy was told of
# Formats of bytes that mean nothing yet: bytes, bytearray, mmap, a memoryview cast to "B".
_RAW_FORMATS = {"B", "b", "c", "<B", "@B", "=B"}


def array_interface_of(thing: object) -> Mapping[str, Any] | None:
    """
    Give an array's `__array_interface__`, if its memory is the array's own.

    A NumPy scalar's is of an array that is gone by then.
    """
    scalar = loaded_type("numpy", "generic")
    if scalar is not None and isinstance(thing, scalar):
        return None
    interface = getattr(thing, "__array_interface__", None)
    if isinstance(interface, Mapping) and isinstance(interface.get("data"), tuple):
        return interface
    return None


def from_array_interface(array: object, interface: Mapping[str, Any]) -> Array:
    """
    Find the memory of an array that described itself as NumPy does.

    Raises:
        UsageError: It has a mask, or holds Python objects.
    """
    what = type(array).__name__
    if interface.get("mask") is not None or hasattr(array, "_mask"):
        raise UsageError(f"this {what} is masked: use its data")
    item, item_bytes = item_of_typestr(interface["typestr"], what)
    shape = tuple(interface["shape"])
    strides: Sequence[int] | None = interface.get("strides")
    pointer, read_only = interface["data"]
    return Array(
        what=what,
        pointer=pointer,
        shape=shape,
        strides=_with_gaps(shape, strides, item_bytes),
        item=_named(array, item),
        item_bits=8 * item_bytes,
        place=Place.HOST,
        read_only=bool(read_only),
        owner=array,
    )


def _with_gaps(
    shape: Sequence[int], strides: Sequence[int] | None, item_bytes: int
) -> tuple[int, ...] | None:
    """Give strides that aren't C order's."""
    if strides is None or is_c_contiguous(shape, strides, item_bytes):
        return None
    return tuple(strides)


def _named(array: object, item: str | None) -> str | None:
    """Name the types that NumPy's type strings don't: structures, and those of ml_dtypes."""
    dtype = getattr(array, "dtype", None)
    # ml_dtypes' float8_e5m2 calls itself "<f1", as if it were NumPy's own.
    own = getattr(dtype, "isbuiltin", None) != _OF_A_USER
    if dtype is None or (item is not None and own):
        return item
    if dtype.fields is not None:
        return str(dtype)
    name = str(dtype.name)
    return None if name.startswith("void") else name


def from_pinned_block(block: _native.PinnedBlock) -> Array:
    """Describe pinned memory of our own."""
    what = type(block).__name__
    return raw_bytes(what, block.pointer, block.nbytes, Place.PINNED, owner=block)


def from_buffer(thing: object) -> Array:
    """
    Find the memory of an object with the buffer protocol.

    Raises:
        UsageError: It refuses, or holds Python objects.
    """
    what = type(thing).__name__
    try:
        buffer = _native.HostBuffer(thing)
    except (BufferError, ValueError) as refusal:
        raise UsageError(f"can't use the memory of this '{what}': {refusal}") from refusal
    shape, item_bytes = tuple(buffer.shape), buffer.item_bytes
    raw = buffer.format in _RAW_FORMATS and len(shape) == 1
    if raw and is_c_contiguous(shape, buffer.strides, 1):
        return raw_bytes(
            what,
            buffer.pointer,
            shape[0],
            Place.HOST,
            owner=(thing, buffer),
            read_only=buffer.read_only,
        )
    if "O" in buffer.format:
        raise UsageError(f"this {what} holds Python objects, which can't be copied as bytes")
    return Array(
        what=what,
        pointer=buffer.pointer,
        shape=shape,
        strides=_with_gaps(shape, buffer.strides, item_bytes),
        item=item_of_format(buffer.format, item_bytes),
        item_bits=8 * item_bytes,
        place=Place.HOST,
        read_only=buffer.read_only,
        owner=(thing, buffer),
    )
