"""Arrays in a GPU's memory without another library: `isthmus.device_empty`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

from isthmus.move.arrays.device_array import DeviceArray
from isthmus.move.arrays.layout import dtype_of, lengths_of, require_addressable
from isthmus.move.arrays.ordinals import ordinal_of
from isthmus.move.transfer.packing import numpy_module
from isthmus.move.windows.opening import default_windows

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import DeviceLike, ItemType


def device_empty(
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: "ItemType" = float,
    device: "DeviceLike" = 0,
) -> DeviceArray:
    """
    Make an array of undefined contents in a GPU's memory, in C order.

    No library but NumPy is needed. PyTorch, CuPy, JAX and Numba take the array without a copy,
    through DLPack or `__cuda_array_interface__`. Complete on return. The memory is freed after the
    array's last use, and after all work that the device was given before.

    Args:
        shape: Items along each dimension, or the number of items.
        dtype: Any type of NumPy, ml_dtypes or PyTorch but Python objects, or its name: "bfloat16",
            "float8_e4m3fn".
        device: The GPU's ordinal, "cuda:ORDINAL", or a device of PyTorch, CuPy or JAX.

    Returns:
        A `DeviceArray`. `isthmus.copy` fills it: `isthmus.copy(array, numbers)`.

    Raises:
        Unavailable: There is no NumPy, no driver or no GPU; the message names the emulated device.
            Or NumPy has the type only with ml_dtypes, which isn't installed.
        OutOfDeviceMemory: The GPU hasn't that much free memory.
        UsageError: The shape, type or device is invalid.
    """
    kind = dtype_of(numpy_module(), dtype)
    lengths = lengths_of(shape)
    require_addressable(lengths, kind.itemsize)
    windows = default_windows()
    ordinal = ordinal_of(device, windows._driver)
    context = windows._pending_work.context(ordinal)
    return DeviceArray(context, lengths, kind, ordinal)
