"""An array as copies see it, whatever library it comes from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from isthmus.move.arrays.layout import array_size_bytes


class Place(StrEnum):
    """Where memory lies, as far as the object that shows it says."""

    HOST = "host"
    PINNED = "pinned"
    DEVICE = "device"
    MANAGED = "managed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Array:
    """
    Memory that an object offered.

    Attributes:
        pointer: The address of its first item.
        shape: None if it is bytes without a shape.
        strides: In bytes; None is C order.
        item: The type of its items, such as "float32"; None if they are bytes of no type.
        owner: Keeps the memory alive as long as it is kept itself; None if nothing does.
        stream: A CUstream whose work must be complete before the bytes are touched; None if there
            is nothing to wait for.
    """

    what: str
    pointer: int
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    item: str | None
    item_bits: int
    place: Place
    device: int | None = None
    read_only: bool = False
    owner: object = None
    stream: int | None = None

    @property
    def size_bytes(self) -> int:
        """Count the bytes of its items."""
        return array_size_bytes(self.shape or (), self.item_bits)

    @property
    def on_device(self) -> bool:
        """Tell whether a stream's work may be using it."""
        return self.place in {Place.DEVICE, Place.MANAGED}


def described(**said: Any) -> Array:  # noqa: ANN401 - an Array's attributes
    """Make an array of what the native module has read."""
    return Array(**said | {"place": Place(said["place"])})
