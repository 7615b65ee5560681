"""Host arrays with any strides, as NumPy arrays: to pack, to unpack, to copy item by item."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from isthmus.errors import Unavailable
from isthmus.move.arrays.array import Array, Place
from isthmus.move.arrays.layout import c_strides, extent_bytes, lowest_offset
from isthmus.move.transfer.pairs import in_own_order, is_conversion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Items = NDArray[np.generic]

# Sizes that NumPy copies fast; the others are copied as this number of bytes.
_FAST_TYPES = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8", 16: "<c16"}


def numpy_module() -> Any:  # noqa: ANN401 - a module
    """Import NumPy."""
    try:
        import numpy as np
    except ImportError as missing:
        raise Unavailable(
            capability="NumPy", reason="it isn't installed", needs="pip install numpy"
        ) from missing
    return np


class _Shown:
    """Shows memory to NumPy, and keeps its owner."""

    def __init__(self, interface: dict[str, object], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def items_of(array: Array) -> "Items":
    """Show a host array's items to NumPy, without their type."""
    item_bytes = array.item_bits // 8
    shown: Items = numpy_module().asarray(
        _Shown(
            {
                "shape": array.shape or (),
                "strides": array.strides,
                "typestr": _FAST_TYPES.get(item_bytes, f"|V{item_bytes}"),
                "data": (array.pointer, array.read_only),
                "version": 3,
            },
            array.owner,
        )
    )
    return shown


def bytes_at(pointer: int, size_bytes: int) -> "Items":
    """Show bytes to NumPy that aren't to be read: they may be a GPU's."""
    interface = {
        "shape": (size_bytes,),
        "typestr": "|u1",
        "data": (pointer, True),
        "version": 3,
    }
    shown: Items = numpy_module().asarray(_Shown(interface, None))
    return shown


def range_of(array: Array) -> tuple[int, int]:
    """Give the address at which a host array's memory begins, and the bytes to its end."""
    if array.shape is None or array.strides is None:
        return array.pointer, array.size_bytes
    begin = array.pointer + lowest_offset(array.shape, array.strides)
    return begin, extent_bytes(array.shape, array.strides, array.item_bits // 8)


def buffer_like(array: Array, layout_of: Array, *, in_own: bool = False) -> Array:
    """
    Make a host array of an array's items, in the memory order of another of its shape; without a
    shape in C order, and `in_own` byte order of this machine.
    """
    shape = array.shape or ()
    strides = layout_of.strides
    if strides is None:
        strides = c_strides(shape, array.item_bits // 8)
    memory = numpy_module().empty(array.size_bytes, "u1")
    return Array(
        what="packed array",
        pointer=memory.ctypes.data - lowest_offset(shape, strides),
        shape=shape,
        strides=strides,
        item=in_own_order(array.item) if in_own and array.item else array.item,
        item_bits=array.item_bits,
        place=Place.HOST,
        owner=memory,
    )


def copy_items(target: Array, source: Array) -> None:
    """Copy between two host arrays of one shape, whatever their strides and types."""
    unpacking(target, source)()


def unpacking(target: Array, source: Array) -> Callable[[], None]:
    """Prepare such a copy, so that little can fail when it is made. NumPy converts the items."""
    arrays = [items_of(target), items_of(source)]
    if is_conversion(target, source):
        pair = zip(arrays, (target, source), strict=True)
        arrays = [items.view(_dtype_of(array)) for items, array in pair]
    return partial(numpy_module().copyto, *arrays, casting="unsafe")


def _dtype_of(array: Array) -> "np.dtype[np.generic]":
    """Give NumPy's type of an array's items."""
    item = str(array.item)
    own = in_own_order(item)
    of_text = f"U{array.item_bits // 32}"
    dtype: np.dtype[np.generic] = numpy_module().dtype(of_text if own.startswith("str") else own)
    return dtype if own == item else dtype.newbyteorder()
