"""Arrays whose bytes lie as the format wants them: in C order, without gaps."""

import dataclasses
from typing import Any

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.streams import library_of
from isthmus.move.safetensors.types import UNEXPORTED_TORCH_TYPES
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
