"""Names the way in which the native module reads the arrays of a type."""

import array
import mmap
import sys
from collections.abc import Mapping

from isthmus import _native
from isthmus.move.arrays.device_array import DeviceArray
from isthmus.move.arrays.loaded import loaded_type
from isthmus.move.arrays.pointers import DevicePointer, HostPointer
from isthmus.move.arrays.streams import current_stream_of

_BUFFERS = {bytearray, memoryview, mmap.mmap, array.array, _native.PinnedBlock}
_EXCHANGE = "__dlpack_c_exchange_api__"
_IMMUTABLE = {"jax", "jaxlib"}
_STRUCTURES = (list, tuple, Mapping)

Way = tuple[str, object]


def way_of(kind: type) -> Way:
    """
    Name the way to read arrays of a type, and give what it needs; it is asked for once for each
    type. "buffer": the buffer protocol. "pointer": an address and a size; true on a device.
    "numpy": `__array_struct__`; an array by which the native module finds out whether it knows
    where NumPy keeps what that says. "own": what a `DeviceArray` has ready. "torch": DLPack's
    exchange API, which is a capsule. "cupy": CuPy's attributes; a function that gives the current
    stream. "dlpack": `__dlpack__`; a function from a device to its current stream or None, true for
    PyTorch's tensors, true for arrays that never change. "cuda_interface":
    `__cuda_array_interface__`. "structure": no array; its members may be. "any": the first protocol
    that an object has.
    """
    scalar = loaded_type("numpy", "generic")
    # A NumPy scalar's __array_interface__ is of an array that is gone by then.
    if kind in _BUFFERS or (scalar is not None and issubclass(kind, scalar)):
        return "buffer", None
    module = loaded_type("torch", "nn.Module")
    if issubclass(kind, _STRUCTURES) or (module is not None and issubclass(kind, module)):
        return "structure", None
    if issubclass(kind, DeviceArray):
        return "own", None
    if issubclass(kind, DevicePointer | HostPointer):
        return "pointer", issubclass(kind, DevicePointer)
    array = loaded_type("numpy", "ndarray")
    if kind in {array, loaded_type("numpy", "memmap")}:
        return "numpy", array((2, 3), "i2")[:, :2]
    return _of_torch(kind) or _of_cupy(kind) or _of_others(kind)


def _of_torch(kind: type) -> Way | None:
    tensor = loaded_type("torch", "Tensor")
    if tensor is None or not issubclass(kind, tensor):
        return None
    exchange = getattr(kind, _EXCHANGE, None)  # from PyTorch 2.10 on
    # Of a subclass nothing is known: it may forbid any call.
    if exchange is not None and kind in {tensor, loaded_type("torch", "nn.Parameter")}:
        return "torch", exchange
    return "dlpack", (current_stream_of("torch"), True, False)


def _of_cupy(kind: type) -> Way | None:
    own = loaded_type("cupy", "ndarray")
    if own is None or not issubclass(kind, own):
        return None
    if kind is own:
        return "cupy", sys.modules["cupy"].cuda.get_current_stream
    return "dlpack", (current_stream_of("cupy"), False, False)


def _of_others(kind: type) -> Way:
    if not hasattr(kind, "__dlpack__"):
        # Numba's arrays and RMM's buffers, for instance.
        own = hasattr(kind, "__cuda_array_interface__") and not hasattr(kind, "__array_interface__")
        return ("cuda_interface" if own else "any"), None
    # JAX's arrays never change, which its capsules of before DLPack 1 can't say.
    if kind.__module__.partition(".")[0] in _IMMUTABLE:
        return "dlpack", (None, False, True)
    return "any", None
