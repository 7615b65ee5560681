"""
What a run should measure, as tests see it: sizes, memory of both sides, how thoroughly, and when
there are enough samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from isthmus.ground.sizes import approximate_size


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """
    The rule for enough samples.

    Attributes:
        max_seconds: After this time, stop as soon as there are `min_samples`.
        relative_iqr: Stop when the interquartile range is this part of the median.
    """

    min_samples: int
    max_samples: int
    max_seconds: float
    relative_iqr: float
    verify: bool = True

    def asked(self, num_samples: int | None, *, verify: bool) -> "StoppingRule":
        """
        Change the rule to what a user asked for; `num_samples` are taken however long it takes, and
        None keeps the rule.
        """
        if num_samples is None:
            return replace(self, verify=verify)
        return replace(self, min_samples=num_samples, max_samples=num_samples, verify=verify)


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


# Larger amounts of managed memory have crashed whole machines, and no driver frees them quickly.
MAX_MANAGED_BYTES = 512 << 20

# Longer copies over an emulated link show nothing new, and take long: they move real bytes. With
# 64 MiB, a quick run on two cores had no time for a third of its points.
_LARGEST_EMULATED_BYTES, _LARGEST_QUICK_EMULATED_BYTES = 64 << 20, 4 << 20

# From here on, bandwidth no longer grows.
_LARGEST_QUICK_BYTES = 256 << 20

_QUICK_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Memory that a measurement has allocated at once, in bytes."""

    host_bytes: int = 0
    device_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """
    How much memory a measurement may allocate, and which parts of the machine it may use.

    Attributes:
        host_bytes: On the host; for an emulated device, without the device's memory.
    """

    device_bytes: int
    host_bytes: int
    num_cores: int = 1
    cpu_nodes: tuple[int, ...] = (0,)
    num_gpus: int = 1

    @property
    def largest_bytes(self) -> int:
        """The largest copy that fits on both sides."""
        return min(self.device_bytes, self.host_bytes)

    @property
    def tightest(self) -> str:
        """Which memory runs out first."""
        return "device" if self.device_bytes < self.host_bytes else "host"

    def hold(self, footprint: Footprint) -> bool:
        """Whether so much may be allocated at once."""
        return (
            footprint.host_bytes <= self.host_bytes and footprint.device_bytes <= self.device_bytes
        )

    def at_most(self, max_bytes: int | None) -> "Limits":
        """Lower both sides to the user's limit; None sets no limit."""
        if max_bytes is None:
            return self
        return replace(
            self,
            device_bytes=min(self.device_bytes, max_bytes),
            host_bytes=min(self.host_bytes, max_bytes),
        )

    @property
    def words(self) -> str:
        """Say how large a copy may be."""
        return f"{approximate_size(self.largest_bytes)} can be used"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """
    What a run should measure.

    Attributes:
        sizes: In bytes, ascending; None for each test's own.
        managed: Measure managed memory too; off by default, because it can slow a machine down.
    """

    limits: Limits
    sizes: Sequence[int] | None = None
    quick: bool = False
    managed: bool = False
    emulated: bool = False

    @property
    def quick_bytes(self) -> int:
        """Give the size at which a quick run measures what it measures at one size only."""
        return _LARGEST_QUICK_EMULATED_BYTES if self.emulated else _QUICK_BYTES

    def sweep(self, powers: Sequence[int]) -> list[int]:
        """
        Choose sizes: those requested, or a test's own (ascending) as far as they fit. A quick run
        takes every fourth of them, counted from the largest that fits and is fast (pinning a GiB
        alone takes half a second); of an emulated device's straight line, every second will do.
        """
        if self.sizes is not None:
            return list(self.sizes)
        most = self.limits.largest_bytes
        if self.emulated:
            most = min(most, largest_emulated_bytes(quick=self.quick))
        fitting = [size for size in powers if size <= most]
        if not self.quick:
            return fitting[::-2][::-1] if self.emulated else fitting
        quick = [size for size in fitting if size <= _LARGEST_QUICK_BYTES] or fitting[:1]
        return quick[::-4][::-1]


def largest_emulated_bytes(*, quick: bool) -> int:
    """Give the largest of a test's own sizes that are measured on an emulated device."""
    return _LARGEST_QUICK_EMULATED_BYTES if quick else _LARGEST_EMULATED_BYTES


def limits_of(
    *,
    free_device_bytes: int,
    free_host_bytes: int | None,
    emulated: bool,
    num_cores: int = 1,
    cpu_nodes: tuple[int, ...] = (0,),
    num_gpus: int = 1,
) -> Limits:
    """
    Compute how much memory may be used, and leave room for other programs; an emulated device's is
    taken from the host's.
    """
    device_bytes = free_device_bytes - free_device_bytes // 64
    host_bytes = device_bytes
    if free_host_bytes is not None:
        # An eighth stays free: if memory is full, processes get killed instead of getting errors.
        usable_bytes = free_host_bytes - free_host_bytes // 8
        host_bytes = usable_bytes // 2 if emulated else usable_bytes
    return Limits(
        device_bytes=device_bytes,
        host_bytes=host_bytes,
        num_cores=num_cores,
        cpu_nodes=cpu_nodes,
        num_gpus=num_gpus,
    )
