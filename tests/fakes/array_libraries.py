"""Modules that look like PyTorch and CuPy, as far as copies look at them."""

# ruff: noqa: ANN401 - arrays and types of every kind

import ctypes
import types
from collections.abc import Sequence
from copy import copy
from typing import Any
from weakref import ref

import numpy as np

from fakes import device_arrays
from fakes.device_arrays import CudaArray, DlpackArray

_FLOAT = 2


class _Exchange(ctypes.Structure):
    """DLPack's C exchange API, 1.3."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    )


class Torch:
    """
    A PyTorch whose tensors are described by DLPack.

    Attributes:
        stream: The current stream of every device.
        num_borrowed: How often a tensor was read by the exchange API.
        written: The tensors whose version was raised.
        records: Whether autograd records what is done.
    """

    def __init__(self, *, exchange: bool) -> None:
        self.stream = 0
        self.num_borrowed = 0
        self.written: list[Any] = []
        self.records = True
        self.Tensor = self._tensor_type()
        if exchange:
            self.Tensor.__dlpack_c_exchange_api__ = self._exchange()  # type: ignore[attr-defined]
        self.module = types.ModuleType("torch")
        cuda = types.SimpleNamespace(
            current_stream=lambda _device: types.SimpleNamespace(cuda_stream=self.stream)
        )
        nn = types.SimpleNamespace(Parameter=type("Parameter", (self.Tensor,), {}))
        graph = types.SimpleNamespace(increment_version=self.written.append)
        autograd = types.SimpleNamespace(graph=graph)
        many = types.SimpleNamespace(_increment_version=self.written.extend)
        vars(self.module).update(Tensor=self.Tensor, cuda=cuda, nn=nn, autograd=autograd, _C=many)
        self.module.is_grad_enabled = lambda: self.records  # type: ignore[attr-defined]

    def tensor(self, pointer: int, shape: Sequence[int], **others: Any) -> Any:
        return self.Tensor(pointer, shape, **{"item_bits": 32, "type_code": _FLOAT} | others)

    @staticmethod
    def _tensor_type() -> type[DlpackArray]:
        class Tensor(DlpackArray):
            requires_grad = False
            conjugated = False
            negated = False

            def is_conj(self) -> bool:
                return self.conjugated

            def is_neg(self) -> bool:
                return self.negated

            def untyped_storage(self) -> "Tensor":
                """Give what keeps the memory: here another object."""
                self.num_asked = getattr(self, "num_asked", 0) + 1
                storage = copy(self)
                self.storage = ref(storage)
                return storage

            def detach(self) -> "Tensor":
                return copy(self)

        return Tensor

    def _exchange(self) -> object:
        def borrow(tensor: Any, out: int) -> int:
            self.num_borrowed += 1
            ctypes.memmove(out, ctypes.byref(tensor._tensor), ctypes.sizeof(tensor._tensor))
            return 0

        def current_stream(_kind: int, _device: int, out: Any) -> int:
            out[0] = self.stream
            return 0

        borrow_type = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
        stream_type = ctypes.PYFUNCTYPE(
            ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
        )
        self._functions = borrow_type(borrow), stream_type(current_stream)
        addresses = [ctypes.cast(function, ctypes.c_void_p) for function in self._functions]
        self._table = _Exchange(1, 3, None, None, None, None, *addresses)
        self._name = ctypes.c_char_p(b"dlpack_exchange_api")
        return device_arrays.new_capsule(ctypes.addressof(self._table), self._name, None)


class Cupy:
    """
    A CuPy whose arrays are described by attributes and by DLPack.

    Attributes:
        stream: The current stream of every device.
        num_asked: How often it was asked for.
    """

    def __init__(self) -> None:
        self.stream = 0
        self.num_asked = 0
        self.module = types.ModuleType("cupy")
        self.ndarray = self._array_type()
        cuda = types.SimpleNamespace(
            get_current_stream=self._current_stream,
            runtime=types.SimpleNamespace(getDevice=lambda: 0),
            PinnedMemoryPointer=lambda memory, offset: types.SimpleNamespace(
                mem=memory, ptr=memory.ptr + offset
            ),
        )
        vars(self.module).update(ndarray=self.ndarray, cuda=cuda)

    def array(self, pointer: int, shape: Sequence[int], dtype: str = "f4") -> Any:
        return self.ndarray(pointer, tuple(shape), np.dtype(dtype))

    def _current_stream(self, _device: int = -1) -> object:
        self.num_asked += 1
        return types.SimpleNamespace(ptr=self.stream)

    @staticmethod
    def _array_type() -> type:
        class Array(DlpackArray):
            def __init__(
                self, pointer: int, shape: tuple[int, ...], dtype: "np.dtype[Any]"
            ) -> None:
                code = {"f": 2, "i": 0, "u": 1, "c": 5, "b": 6}[dtype.kind]
                super().__init__(pointer, shape, item_bits=8 * dtype.itemsize, type_code=code)
                self.shape = shape
                self.dtype = dtype
                self.data = types.SimpleNamespace(ptr=pointer, device_id=0)
                self._c_contiguous = True

        Array.__name__ = "ndarray"
        return Array


class DeviceArray(CudaArray):
    """Shows CUDA's interface on its type, as Numba's arrays do."""

    def __init__(self, pointer: int, shape: Sequence[int], **others: object) -> None:
        self._described: dict[str, Any] = {}
        super().__init__(pointer, shape, **others)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._described

    @__cuda_array_interface__.setter
    def __cuda_array_interface__(self, described: dict[str, Any]) -> None:
        self._described = described
