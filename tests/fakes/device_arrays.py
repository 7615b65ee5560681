"""Arrays in device memory as other libraries show them: by DLPack and by CUDA's interface."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

CUDA = 2

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("num_dimensions", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("item_bits", ctypes.c_uint8),
        ("item_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset_bytes", ctypes.c_uint64),
    )


class _Unversioned(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True)
class Told:
    """What a capsule of DLPack says."""

    pointer: int
    shape: list[int]
    strides: list[int] | None
    type_code: int
    item_bits: int
    device: tuple[int, int]
    read_only: bool


def read_capsule(capsule: object) -> Told:
    name = _capsule_name(capsule)
    versioned = name == b"dltensor_versioned"
    kind = _Versioned if versioned else _Unversioned
    managed = kind.from_address(_capsule_pointer(capsule, name))
    tensor = managed.tensor
    dimensions = tensor.num_dimensions
    return Told(
        pointer=(tensor.data or 0) + tensor.offset_bytes,
        shape=tensor.shape[:dimensions] if dimensions else [],
        strides=tensor.strides[:dimensions] if dimensions and tensor.strides else None,
        type_code=tensor.type_code,
        item_bits=tensor.item_bits,
        device=(tensor.device_type, tensor.device_id),
        read_only=versioned and bool(managed.flags & 1),
    )


class DlpackArray:
    """
    Exports device memory by DLPack 1.

    Attributes:
        streams: What it was asked to let wait, call by call.
        num_released: Capsules that gave their memory back.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that DLPack can say
        self,
        pointer: int,
        shape: Sequence[int],
        *,
        item_bits: int = 8,
        strides: Sequence[int] | None = None,
        device_type: int = CUDA,
        offset_bytes: int = 0,
        read_only: bool = False,
        version: tuple[int, int] = (1, 1),
        type_code: int = 1,
    ) -> None:
        self.streams: list[int | None] = []
        self.num_released = 0
        self._version = version
        self._read_only = read_only
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self._tensor = _Tensor(
            pointer,
            device_type,
            0,
            len(shape),
            type_code,
            item_bits,
            1,
            self._shape,
            None,
            offset_bytes,
        )
        if self._strides is not None:
            self._tensor.strides = ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64))
        self._destructor = _Destructor(self._release)
        self._kept: list[ctypes.Structure] = []
        self.on_export: Callable[[int], None] = lambda _stream: None

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, 0

    def __dlpack__(
        self, *, stream: int | None = None, max_version: tuple[int, int] | None = None
    ) -> object:
        self.streams.append(stream)
        self.on_export(stream or 0)
        if max_version is None:
            return self._capsule(_Unversioned(self._tensor, None, None), b"dltensor")
        flags = int(self._read_only)
        versioned = _Versioned(*self._version, None, None, flags, self._tensor)
        return self._capsule(versioned, b"dltensor_versioned")

    def _capsule(self, managed: ctypes.Structure, name: bytes) -> object:
        self._kept.append(managed)
        self._name = ctypes.c_char_p(name)
        capsule: object = new_capsule(
            ctypes.addressof(managed), self._name, ctypes.cast(self._destructor, ctypes.c_void_p)
        )
        return capsule

    def _release(self, _capsule: int) -> None:
        self.num_released += 1


class OldDlpackArray(DlpackArray):
    """Exports by DLPack from before 1.0, whose functions know no versions."""

    def __dlpack__(self, *, stream: int | None = None) -> object:  # type: ignore[override]
        return super().__dlpack__(stream=stream)


class CudaArray:
    """Shows device memory by `__cuda_array_interface__`."""

    def __init__(self, pointer: int, shape: Sequence[int], **others: object) -> None:
        described: dict[str, Any] = {
            "shape": tuple(shape),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
        }
        self.__cuda_array_interface__ = described | others
