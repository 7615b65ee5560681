"""The pair of buffers between which a copy is measured: the memory of each side."""

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
    """The contents of the buffers."""

    RANDOM = "random"
    ZEROS = "zeros"


@dataclass(frozen=True, kw_only=True)
class BufferKinds:
    """
    The memory of a pair of buffers; neighbours in a plan with equal memory share one pair.

    Attributes:
        host_offset_bytes: Distance of the host's side from the beginning of a page.
        device_offset_bytes: Distance of the device's side from the beginning of its allocation.
    """

    host_memory: HostMemory
    device_memory: DeviceMemory = DeviceMemory.DEVICE
    contents: Contents = Contents.RANDOM
    host_offset_bytes: int = 0
    device_offset_bytes: int = 0
