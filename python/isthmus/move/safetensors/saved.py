"""What a new file contains: the tensors in their order, and the header that describes them."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.ground.spelling import shortened
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.streams import library_of
from isthmus.move.safetensors.header import LENGTH_BYTES, MAX_DIMENSIONS, MAX_HEADER_BYTES
from isthmus.move.safetensors.types import ITEM_BITS, TYPES_OF_ITEMS, UNEXPORTED_TORCH_TYPES
from isthmus.move.transfer.packing import buffer_like, copy_items
from isthmus.move.transfer.pairs import is_contiguous


def typed(tensor: Any) -> tuple[object, str | None]:  # noqa: ANN401 - of any library
    """
    Give an array that can be read, and None; or its bytes, and their type in the format's spelling,
    if its library may not show that type.
    """
    library = library_of(tensor)
    if library is None or library.__name__ != "torch":
        return tensor, None
    dtype = UNEXPORTED_TORCH_TYPES.get(str(tensor.dtype))
    return (tensor, None) if dtype is None else (tensor.detach().view(library.uint8), dtype)


def packed(tensor: object, reader: _native.ArrayReader) -> Array:
    """
    Read an array, and copy it to one in C order if it lies differently: by NumPy on the host, on a
    device by its own library.
    """
    array = reader.read_source(tensor)
    if is_contiguous(array):
        return array
    if not array.on_device:
        copy = buffer_like(array, dataclasses.replace(array, strides=None))
        copy_items(copy, array)
        return copy
    return reader.read_source(_contiguous(tensor, array))


def _contiguous(tensor: Any, array: Array) -> object:  # noqa: ANN401 - of any library
    library = library_of(tensor)
    if library is None:
        raise UsageError(
            f"this {array.what} of shape {array.shape} is on a GPU and not in C order (strides "
            f"{array.strides})",
            hint="make it contiguous with its library first",
        )
    if library.__name__ == "torch":
        return tensor.detach().contiguous()
    return library.ascontiguousarray(tensor)


# The data begins at a whole page of the file: then it can be read and written past the page cache.
_DATA_ALIGNMENT_BYTES = 4096
_METADATA = "__metadata__"


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedTensor:
    """
    One tensor of a new file.

    Attributes:
        array: Its bytes, in C order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    array: Array

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"tensor '{shortened(self.name)}'"


def saved_tensors(tensors: Mapping[str, object], reader: _native.ArrayReader) -> list[SavedTensor]:
    """
    Read arrays, and put them in the order in which they are saved: their own, but larger items
    first, so that each tensor is aligned to its items, as safetensors' own writer does.
    """
    if not isinstance(tensors, Mapping):
        raise UsageError(f"a mapping of names to arrays was expected, not {type(tensors).__name__}")
    found = [_saved(name, tensor, reader) for name, tensor in tensors.items()]
    return sorted(found, key=lambda tensor: -ITEM_BITS[tensor.dtype])


def header_of(tensors: Iterable[SavedTensor], metadata: Mapping[str, str] | None) -> bytes:
    """Give the beginning of a file: its header, and the length of that."""
    members: dict[str, Any] = {}
    if metadata is not None:
        members[_METADATA] = _checked_metadata(metadata)
    end = 0
    for tensor in tensors:
        first, end = end, end + tensor.array.size_bytes
        members[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [first, end],
        }
    try:
        text = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"a name or a metadata text isn't Unicode: {error.reason}") from None
    whole = -(-(LENGTH_BYTES + len(text)) // _DATA_ALIGNMENT_BYTES) * _DATA_ALIGNMENT_BYTES
    length = whole - LENGTH_BYTES
    if length > MAX_HEADER_BYTES:
        raise UsageError(
            f"the header of these tensors takes {length} bytes; the format's limit is "
            f"{MAX_HEADER_BYTES}",
            hint="save them in several files",
        )
    return length.to_bytes(LENGTH_BYTES, "little") + text.ljust(length)


def _checked_metadata(metadata: object) -> dict[str, str]:
    texts: dict[Any, Any] = dict(metadata) if isinstance(metadata, Mapping) else {"": None}
    if not all(isinstance(text, str) for item in texts.items() for text in item):
        raise UsageError("metadata must be a mapping of strings to strings")
    return texts


def _saved(name: object, tensor: object, reader: _native.ArrayReader) -> SavedTensor:
    if not isinstance(name, str):
        raise UsageError(f"a tensor's name must be a string, not {name!r}")
    if name == _METADATA:
        raise UsageError(f"no tensor can have the name {_METADATA}: the format uses it")
    where = f"tensor '{shortened(name)}'"
    try:
        readable, dtype = typed(tensor)
        array = packed(readable, reader)
    except UsageError as error:
        raise UsageError(f"{where}: {error}", hint=error.hint) from error
    dtype = dtype or _dtype_of(array)
    if dtype is None:
        raise UsageError(f"{where}: safetensors has no type for {array.item or 'these items'}")
    shape = _shape_of(dtype, array)
    if len(shape) > MAX_DIMENSIONS:
        raise UsageError(f"{where}: it has {len(shape)} dimensions; the limit is {MAX_DIMENSIONS}")
    if math.prod(shape) * ITEM_BITS[dtype] != 8 * array.size_bytes:
        raise UsageError(f"{where}: {array.size_bytes} bytes aren't {list(shape)} items of {dtype}")
    return SavedTensor(name=name, dtype=dtype, shape=shape, array=array)


def _dtype_of(array: Array) -> str | None:
    if array.item is not None:
        return TYPES_OF_ITEMS.get(array.item)
    return "U8" if array.shape is None else None


def _shape_of(dtype: str, array: Array) -> tuple[int, ...]:
    if array.shape is None:  # bytes, or an array without dimensions, which has a type
        return () if array.item is not None else (array.size_bytes,)
    # PyTorch counts pairs of 4-bit items, along the last dimension.
    if dtype == "F4" and array.item_bits == 2 * ITEM_BITS["F4"] and array.shape:
        return (*array.shape[:-1], 2 * array.shape[-1])
    return array.shape
