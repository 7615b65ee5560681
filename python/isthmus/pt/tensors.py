"""What a pickle of `torch.save` says of storages and tensors, checked."""

import math
from dataclasses import dataclass
from typing import Any

from isthmus.errors import UsageError
from isthmus.pt.archive import Stored
from isthmus.safetensors.header import LAST_OFFSET, MAX_DIMENSIONS
from isthmus.safetensors.types import ALL_ITEM_BITS, TORCH_NAMES
from isthmus.suggest import shortened

# PyTorch's names of types, but for items that share a byte, and the spelling of
# isthmus.safetensors.types. Source: PyTorch 2.4,
# torch/storage.py (_dtype_to_storage_type_map), c10/core/ScalarType.h.
DTYPES = {name: code for code, name in TORCH_NAMES.items() if code != "F4"}
STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
ITEM_BYTES = {name: max(1, ALL_ITEM_BITS[code] // 8) for name, code in DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Dtype:
    """A type of items, by PyTorch's name: "float32"."""

    name: str


@dataclass(frozen=True, slots=True)
class StorageType:
    """A class of storages; its items' type, or None for bytes."""

    dtype: Dtype | None


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage of the file: its items' type, or None for bytes, and where its bytes are."""

    key: str
    dtype: Dtype | None
    stored: Stored


@dataclass(frozen=True, kw_only=True, slots=True)
class PickledTensor:
    """
    A view of a storage.

    Attributes:
        storage: Its memory.
        dtype: Of its items.
        offset: Of its first item, in items.
        shape: Items along each dimension.
        strides: In items.
        requires_grad: Autograd records what is done with it.
    """

    storage: Storage
    dtype: Dtype
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires_grad: bool


def storage_of(reference: Any, storages: dict[str, Stored]) -> Storage:  # noqa: ANN401
    """
    Find a storage that a pickle refers to.

    Raises:
        UsageError: It isn't a reference, or the file has no such storage, or one that is too short.
    """
    is_known = isinstance(reference, tuple) and len(reference) == 5 and reference[0] == "storage"  # noqa: PLR2004
    if not is_known or not isinstance(reference[1], StorageType):
        raise UsageError("it refers to something that is no storage")
    _, kind, key, _location, num_items = reference
    if not isinstance(key, str) or key not in storages:
        raise UsageError(f"storage '{shortened(str(key))}' is missing in the file")
    stored = storages[key]
    item_bytes = 1 if kind.dtype is None else ITEM_BYTES[kind.dtype.name]
    if not _is_count(num_items) or num_items * item_bytes > stored.size_bytes:
        raise UsageError(
            f"storage '{shortened(key)}' has {stored.size_bytes} bytes; its {num_items} items of "
            f"{item_bytes} bytes aren't in it"
        )
    return Storage(key, kind.dtype, stored)


def tensor_of(
    storage: Any,  # noqa: ANN401 - whatever the pickle says
    offset: Any,  # noqa: ANN401
    shape: Any,  # noqa: ANN401
    strides: Any,  # noqa: ANN401
    requires_grad: Any,  # noqa: ANN401
    dtype: Dtype | None,
) -> PickledTensor:
    """
    Check a view of a storage.

    Raises:
        UsageError: It isn't one, or has items outside of the storage.
    """
    if not isinstance(storage, Storage):
        raise UsageError("a tensor has no storage")
    kind = storage.dtype if dtype is None else dtype
    if kind is None:
        raise UsageError("a tensor has no type")
    lengths, steps = _counts(shape, "shape"), _counts(strides, "strides")
    if len(lengths) != len(steps):
        raise UsageError(f"a tensor of {len(lengths)} dimensions has {len(steps)} strides")
    if not _is_count(offset) or not isinstance(requires_grad, bool):
        raise UsageError("a tensor's offset is no number from 0")
    end = 0
    if 0 not in lengths:
        end = offset + 1 + sum((n - 1) * step for n, step in zip(lengths, steps, strict=True))
    item_bytes = ITEM_BYTES[kind.name]
    if end * item_bytes > storage.stored.size_bytes:
        raise UsageError(
            f"a tensor of shape {list(lengths)} ends at byte {end * item_bytes} of storage "
            f"'{shortened(storage.key)}', which has {storage.stored.size_bytes}"
        )
    # A length of 0 leaves no items, but the others must fit, too.
    if math.prod(max(1, n) for n in lengths) * item_bytes > LAST_OFFSET:
        raise UsageError(f"shape {list(lengths)} takes more than 2^63 - 1 bytes")
    return PickledTensor(
        storage=storage,
        dtype=kind,
        offset=offset if end else 0,
        shape=lengths,
        strides=steps,
        requires_grad=requires_grad,
    )


def _is_count(value: Any) -> bool:  # noqa: ANN401
    return type(value) is int and 0 <= value <= LAST_OFFSET


def _counts(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or not all(_is_count(number) for number in value):
        raise UsageError(f"a tensor's {what} must be numbers from 0 to 2^63 - 1")
    if len(value) > MAX_DIMENSIONS:
        raise UsageError(f"a tensor has {len(value)} dimensions; the limit is {MAX_DIMENSIONS}")
    return tuple(value)
