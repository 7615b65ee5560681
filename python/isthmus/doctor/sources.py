"""Where the doctor reads its facts, so that tests can provide other sources."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from isthmus.nvrtc import find_nvrtc


class DriverFunctions(Protocol):
    """The part of the native module that asks the driver."""

    Driver: Any
    Context: Any
    CopyBuffers: Any
    Windows: Any

    def profile_identity(self, driver: Any, ordinal: int) -> Any:  # noqa: ANN401
        """Give the facts that a valid profile of a device must have."""

    def profile_in_use(self, driver: Any, ordinal: int) -> Any:  # noqa: ANN401
        """Load the figures with which copies to and from a device are planned."""

    def run_copy_load(self, buffers: Any, *, direction: str, seconds: float) -> None:  # noqa: ANN401
        """Copy in a loop for this time."""


class HostFunctions(Protocol):
    """The part of the native module that asks the host."""

    def numa_nodes(self) -> Sequence[Any]:
        """List the NUMA nodes."""

    def pci_numa_node(self, pci_address: str) -> int | None:
        """Find the node of a PCI device."""

    def num_iommu_groups(self) -> int:
        """Count the IOMMU groups."""

    def iommu_group(self, pci_address: str) -> Any:  # noqa: ANN401
        """Find the IOMMU group of a PCI device, or None."""

    def allowed_cpus(self) -> Sequence[int]:
        """List the CPUs that this thread may use."""

    def cpu_quota_cores(self) -> float | None:
        """Read the container's CPU quota."""

    def effective_cores(self) -> float:
        """Count the cores to plan for."""

    def copy_instructions(self) -> Sequence[str]:
        """Name the CPU's copy instructions."""

    def timer_overhead_ns(self) -> float:
        """Measure one reading of the clock."""

    def memory_limits(self) -> Any:  # noqa: ANN401
        """Read the limits on memory."""

    def huge_pages(self) -> Any:  # noqa: ANN401
        """Read the huge-page facts."""

    def virtualization(self) -> Any:  # noqa: ANN401
        """Identify virtual machine and container."""


class Native(DriverFunctions, HostFunctions, Protocol):
    """The native module, as far as the doctor uses it."""


class ChosenDevice(Protocol):
    """A device that was asked for."""

    @property
    def driver(self) -> Any:  # noqa: ANN401 - native
        """The driver it belongs to."""

    @property
    def ordinal(self) -> int:
        """Its number there."""


class ChooseDevice(Protocol):
    """Finds a device as for `isthmus bench --device`."""

    def __call__(self, wanted: str, open_driver: Callable[[str], Any]) -> ChosenDevice:
        """Find it, or raise NoDevice or UsageError."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """
    Everything the doctor reads from.

    Attributes:
        native: The native module.
        choose_device: Finds the requested device by number, UUID or PCI address.
        nvml: The module `pynvml`, or one that looks like it; None imports it.
        root: The root of /proc, /sys and /dev.
        environment: Environment variables.
        find_nvrtc: Gives the path of NVRTC's library for a driver's CUDA major version, or None.
        find_gdrapi: Gives the path of libgdrapi.so.2, or None.
    """

    native: Native
    choose_device: ChooseDevice
    nvml: Any = None
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    find_nvrtc: Callable[[int | None], str | None] = find_nvrtc
    find_gdrapi: Callable[[], Path | None] = lambda: None


def read_text(path: Path) -> str | None:
    """Read a small file of the kernel; None if that fails."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
