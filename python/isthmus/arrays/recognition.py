"""Recognises arrays: which memory an object means, by the first protocol that it has."""

from dataclasses import replace
from typing import Any

from isthmus import _native
from isthmus.arrays.array import Array, Place, raw_bytes
from isthmus.arrays.cuda_array import from_cuda_array_interface
from isthmus.arrays.dlpack import Exporting, from_dlpack
from isthmus.arrays.host_array import (
    array_interface_of,
    from_array_interface,
    from_buffer,
    from_pinned_block,
)
from isthmus.arrays.pointers import DevicePointer, HostPointer
from isthmus.arrays.streams import library_of
from isthmus.arrays.torch_tensor import plain_tensor
from isthmus.errors import UsageError

WHAT_IS_AN_ARRAY = (
    "pass an array (NumPy, PyTorch, CuPy, JAX, Numba, RMM; DLPack, __cuda_array_interface__, "
    "__array_interface__ or the buffer protocol), isthmus.DevicePointer or isthmus.HostPointer"
)


def array_of(thing: object, *, as_target: bool, exporting: Exporting | None) -> Array:
    """
    Find the memory that an object means.

    Args:
        thing: An array of any library, bytes, or a pointer with a size.
        as_target: It is to be written.
        exporting: As `from_dlpack` takes it.

    Raises:
        UsageError: It is no array, or can't show its memory.
    """
    if isinstance(thing, DevicePointer | HostPointer):
        place = Place.DEVICE if isinstance(thing, DevicePointer) else Place.HOST
        return raw_bytes(type(thing).__name__, thing.pointer, thing.nbytes, place, owner=thing)
    if isinstance(thing, _native.PinnedBlock):
        return from_pinned_block(thing)
    interface = array_interface_of(thing)
    if interface is not None:
        return from_array_interface(thing, interface)
    if hasattr(thing, "__dlpack__"):
        return _of_library(thing, as_target=as_target, exporting=exporting)
    interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is not None:
        return from_cuda_array_interface(thing, interface)
    try:
        return from_buffer(thing)
    except TypeError:
        raise UsageError(
            f"a '{type(thing).__name__}' has no memory to copy", hint=WHAT_IS_AN_ARRAY
        ) from None


def _of_library(array: Any, *, as_target: bool, exporting: Exporting | None) -> Array:  # noqa: ANN401 - DLPack's
    library = library_of(array)
    if library is not None and library.__name__ == "torch":
        array = plain_tensor(array, as_target=as_target)
    found = from_dlpack(array, exporting)
    # JAX's arrays never change, which its capsules of before DLPack 1 can't say.
    immutable = type(array).__module__.partition(".")[0] in {"jax", "jaxlib"}
    return replace(found, read_only=True) if immutable else found
