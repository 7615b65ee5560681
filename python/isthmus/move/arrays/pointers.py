"""Bare memory: an address and a size, where there is no array to ask."""

import operator
from dataclasses import dataclass

from isthmus.errors import UsageError

_END_OF_ADDRESSES = 1 << 64


def checked_number(what: str, value: object) -> int:
    """Give an integer-like value as an int."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < _END_OF_ADDRESSES:
        raise UsageError(f"{what} must be an integer that fits 64 bits, unsigned, not {value!r}")
    return number


@dataclass(frozen=True, slots=True)
class _Pointer:
    pointer: int
    nbytes: int

    def __post_init__(self) -> None:
        checked_number("a pointer", self.pointer)
        checked_number("a size in bytes", self.nbytes)


class DevicePointer(_Pointer):
    """
    Bytes in a GPU's memory, by their address. The caller keeps the memory alive.

    Attributes:
        pointer: The device address.
        nbytes: How many bytes there are.
    """

    __slots__ = ()


class HostPointer(_Pointer):
    """
    Bytes in the host's memory, by their address. The caller keeps the memory alive.

    Attributes:
        pointer: The address.
        nbytes: How many bytes there are.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Blocks:
    """
    A pool of blocks by its address, for `isthmus.copy_blocks`. The caller keeps the memory alive.

    Attributes:
        address: Of block 0, on the host or a GPU.
        count: How many blocks there are.
        block_bytes: The bytes of each.
        stride_bytes: From one block to the next; None: they follow each other.
    """

    address: int
    count: int
    block_bytes: int
    stride_bytes: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers, and fill in the stride."""
        if self.stride_bytes is None:
            object.__setattr__(self, "stride_bytes", self.block_bytes)
        for name in self.__slots__:
            checked_number(f"{name} of Blocks", getattr(self, name))
