"""What the native reader of arrays asks Python: how to read a type, members, and versions."""

import array
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from isthmus import _native
from isthmus.errors import Unavailable, UsageError
from isthmus.move.arrays.array import described
from isthmus.move.arrays.device_array import DeviceArray
from isthmus.move.arrays.loaded import loaded_type
from isthmus.move.arrays.pointers import DevicePointer, HostPointer
from isthmus.move.arrays.refusals import refuse, refuse_at
from isthmus.move.arrays.streams import PendingWork, current_stream_of, stream_handle

# Values that no copy writes.
_UNWRITTEN = (bool, int, float, complex, str, type(None))
_EXTRA_STATE = "_extra_state"  # PyTorch's name of what get_extra_state() gives


def members_of(structure: Any, written: bool) -> dict[Any, Any]:  # noqa: ANN401
    """
    Give the members of a mapping, or a PyTorch module's parameters and buffers by name. Targets
    (`written`) that the structure makes when it is asked are refused: what is copied to them would
    be lost.
    """
    found = _asked(structure)
    if not written:
        return found
    again = _asked(structure)  # beside the first ones: no memory is used twice
    for name, value in found.items():
        is_state = str(name).endswith(_EXTRA_STATE) and not isinstance(structure, Mapping)
        if is_state or not _is_same(value, again.get(name)):
            raise UsageError(
                f"'{name}' of this {type(structure).__name__} is made anew each time it is asked "
                "for, so that what is copied to it would be lost",
                hint="load_state_dict() sets it, or the library's own way to assign it",
            )
    return found


def _asked(structure: Any) -> dict[Any, Any]:  # noqa: ANN401
    return dict(structure if isinstance(structure, Mapping) else structure.state_dict())


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401 - a member, asked for twice
    if one is other or isinstance(one, _UNWRITTEN):
        return True
    place = _place_of(one)
    return place is not None and place == _place_of(other)


def _place_of(array: Any) -> int | None:  # noqa: ANN401
    """Give an array's first address, if it says it."""
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    for protocol in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(array, protocol, None)
        if isinstance(interface, dict) and isinstance(interface.get("data"), tuple):
            return int(interface["data"][0])
    return None


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


NoteWrites = Callable[[Iterable[Any]], None]


def note_writes() -> NoteWrites:
    """
    Give what raises the versions of PyTorch's tensors, as its `copy_` does; those that were made
    for inference have none, and are left out.
    """
    torch = sys.modules["torch"]
    one: Callable[[Any], None] = torch.autograd.graph.increment_version

    def each(tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            one(tensor)

    # What that calls: to ask for the type of a sequence takes longer than the rest.
    many: NoteWrites = getattr(torch._C, "_increment_version", each)
    try:
        many(())
    except (RuntimeError, TypeError):  # older versions take one tensor
        return each
    return many


@contextmanager
def noting_write(array: object) -> Iterator[None]:
    """Raise the version of an array, if it is PyTorch's, unless what writes it is refused."""
    try:
        yield
    except (UsageError, Unavailable):
        raise
    except BaseException:
        _note(array)
        raise
    _note(array)


def _note(array: object) -> None:
    tensor = loaded_type("torch", "Tensor")
    if tensor is not None and isinstance(array, tensor):
        note_writes()((array,))


class Answers:
    """The answers, for the arrays on one driver's devices. Thread-safe."""

    def __init__(self, pending: PendingWork) -> None:
        """Answer for the devices whose pending work this is."""
        self.way_of = way_of
        self.members_of = members_of
        self.described = described
        self.refuse = refuse
        self.refuse_at = refuse_at
        self.note_writes = note_writes
        self.stream_handle = stream_handle
        self.export = pending.export
        self.wait = pending.wait
        self.own_stream = pending.own_stream
