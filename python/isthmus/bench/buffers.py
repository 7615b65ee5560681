"""The pair of buffers between which a copy is measured: what each side of it is made of."""

from dataclasses import dataclass
from enum import StrEnum


class HostMemory(StrEnum):
    """How the host's side of a copy was allocated."""

    PINNED = "pinned"
    PAGEABLE = "pageable"
    REGISTERED = "registered"
    WRITE_COMBINED = "write_combined"
    HUGE_PINNED = "huge_pinned"


class DeviceMemory(StrEnum):
    """How the device's side of a copy was allocated."""

    DEVICE = "device"
    POOL = "pool"


class Contents(StrEnum):
    """What is copied."""

    RANDOM = "random"
    ZEROS = "zeros"


@dataclass(frozen=True, kw_only=True)
class BufferKinds:
    """
    What a pair of buffers is made of; neighbours in a plan that want the same share one pair.

    Attributes:
        host_memory: Of the host's side.
        device_memory: Of the device's side.
        contents: What both hold.
        host_offset_bytes: So far behind the beginning of a page the host's side begins.
        device_offset_bytes: So far behind the beginning of its allocation the device's begins.
    """

    host_memory: HostMemory
    device_memory: DeviceMemory = DeviceMemory.DEVICE
    contents: Contents = Contents.RANDOM
    host_offset_bytes: int = 0
    device_offset_bytes: int = 0
