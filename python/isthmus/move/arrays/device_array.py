"""An array in a GPU's memory that belongs to no library."""

import math
from typing import TYPE_CHECKING, Any, NoReturn

from isthmus import _native
from isthmus.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    DType = np.dtype[Any]

# Of numpy.dtype.isbuiltin: a type that another library has registered, as ml_dtypes does.
_OF_A_USER = 2


class DeviceArray:
    """
    An array in C order in a GPU's memory, which belongs to no library.

    `isthmus.device_empty` makes it. Every library takes it without a copy, through DLPack
    (`torch.from_dlpack`, `cupy.from_dlpack`) or `__cuda_array_interface__` (CuPy, Numba). DLPack
    has no dates, strings and structures, and the other no types of ml_dtypes.

    The memory is freed with the last of this object and the arrays made from it.
    Freeing waits for all work that the device was given before, in every stream, so that a kernel
    or a copy never uses freed memory. Other Python threads run meanwhile.

    Attributes:
        shape: Items along each dimension.
        dtype: NumPy's type of an item.
        device: The GPU's number.
        nbytes: The size of all items, in bytes.
        pointer: The device address of the first item; 0 if there are no items.
    """

    __slots__ = (
        "__cuda_array_interface__",
        "__weakref__",
        "_memory",
        "_own",
        "device",
        "dtype",
        "nbytes",
        "pointer",
        "shape",
    )

    def __init__(
        self, context: _native.Context, shape: tuple[int, ...], dtype: "DType", device: int
    ) -> None:
        """
        Allocate.

        Raises:
            OutOfDeviceMemory: It doesn't fit.
            UsageError: The items are Python objects, or have no bytes.
        """
        import numpy as np

        if dtype.hasobject:
            raise UsageError(f"items of {dtype} are Python objects, which can't be on a GPU")
        if dtype.itemsize == 0:
            raise UsageError(f"items of {dtype} have no bytes: give a length, as in 'S8'")
        example = np.empty(0, dtype)
        dtype, shape = example.dtype, (*shape, *example.shape[1:])  # of a type such as "(2,3)f4"
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.nbytes = math.prod(shape) * int(dtype.itemsize)
        # The driver gives no memory of 0 bytes.
        self._memory = _native.DeviceMemory(context, max(1, self.nbytes))
        self.pointer = self._memory.pointer if self.nbytes else 0
        # For copies by this package: a small one takes less than reading the dictionary.
        self._own = _native.OwnArray(self.pointer, shape, example)
        if dtype.isbuiltin == _OF_A_USER:
            return  # it has no typestr
        # For CuPy, Numba and others. Made once, because some of them ask each time.
        # Source: Numba's documentation, CUDA Array Interface (version 3).
        self.__cuda_array_interface__: dict[str, object] = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "version": 3,
        }
        if dtype.fields:
            self.__cuda_array_interface__["descr"] = example.__array_interface__["descr"]

    def __dlpack_device__(self) -> tuple[int, int]:
        """Say where the memory is: on a CUDA device, and on which."""
        return 2, self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """
        Export the memory to PyTorch, CuPy, JAX and others; what they make of it keeps it.

        Args:
            stream: Is accepted: no work is pending.
            max_version: The newest version of DLPack that the caller knows.
            dl_device: None, or where the memory is.
            copy: True is refused.

        Raises:
            BufferError: The caller wants a copy, or the memory elsewhere; or DLPack has no such
                items.
        """
        if self._own.type_code < 0:
            raise BufferError(
                f"DLPack has no items of {self.dtype}: isthmus.copy copies them to a NumPy array"
            )
        tensor: Any = _native.device_tensor(
            self.pointer,
            self.shape,
            self._own.type_code,
            8 * self.dtype.itemsize,
            self.device,
            self._memory,
        )
        return tensor.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __array__(self, *_arguments: object, **_options: object) -> NoReturn:
        """Refuse to be a NumPy array, which NumPy else makes of any object."""
        raise TypeError(
            "a DeviceArray lies in a GPU's memory, which NumPy can't read: "
            "isthmus.copy(host_array, device_array) copies it"
        )

    def __array_function__(self, *_arguments: object) -> NoReturn:
        """Refuse the functions of NumPy, some of which take any failure for an answer."""
        self.__array__()

    def __repr__(self) -> str:
        """Name the shape, the type and the GPU."""
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device})"
