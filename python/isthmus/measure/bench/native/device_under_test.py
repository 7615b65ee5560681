"""The device that is measured, as instruments use it."""

from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Unavailable
from isthmus.measure.bench.buffers import BufferKinds, HostMemory
from isthmus.measure.bench.native.kernels import open_kernels
from isthmus.measure.machine.placement import Placement, stray_pages_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native


class DeviceUnderTest:
    """A device of the native module, with its context, and with notes made while measuring."""

    def __init__(
        self,
        driver: "_native.Driver",
        context: "_native.Context",
        kernels: "_native.Kernels | None",
        *,
        placement: Placement,
    ) -> None:
        """
        Wrap an open context; without kernels the host verifies, and tests that need them are
        waived.
        """
        self.driver = driver
        self.context = context
        self.kernels = kernels
        self.placement = placement
        self.notes: list[str] = []

    @property
    def emulated(self) -> bool:
        """Whether the device is emulated."""
        return self.driver.emulated

    @property
    def pci_address(self) -> str:
        """Its PCI address, as in "0000:01:00.0"."""
        return self.context.device.pci_address

    def allocate(self, kinds: BufferKinds, size_bytes: int) -> "_native.CopyBuffers":
        """Allocate a pair of buffers on the device's NUMA node, and note it if they aren't."""
        from isthmus import _native

        buffers = _native.CopyBuffers(
            self.context,
            host_memory=kinds.host_memory.value,
            size_bytes=size_bytes,
            numa_node=self.placement.bound_node,
            device_memory=kinds.device_memory.value,
            contents=kinds.contents.value,
            host_offset_bytes=kinds.host_offset_bytes,
            device_offset_bytes=kinds.device_offset_bytes,
        )
        # Pageable memory has no pages before it is first written.
        if kinds.host_memory != HostMemory.PAGEABLE:
            pages, node = buffers.host_pages_by_node, self.placement.wanted_node
            self.note_once(stray_pages_note(pages, node, kinds.host_memory.value))
        return buffers

    def note_once(self, note: str | None) -> None:
        """Add a note for the user; None adds nothing."""
        if note is not None and note not in self.notes:
            self.notes.append(note)

    def with_kernels(
        self, ask: "Callable[[_native.Kernels | None], _native.Measurement]"
    ) -> "_native.Measurement":
        """Call with the kernels, and without them once they turn out not to load."""
        try:
            return ask(self.kernels)
        except (Unavailable, DriverError) as error:
            if self.kernels is None or not _kernels_to_blame(error):
                raise
            self.kernels = None
            self.notes.append(f"no kernels: {error}")
            return ask(None)

    def kernels_of(self, context: "_native.Context") -> "_native.Kernels | None":
        """Give another device's kernels; None if this one has none either."""
        return None if self.kernels is None else open_kernels(self.driver, context)[0]


def _kernels_to_blame(error: Unavailable | DriverError) -> bool:
    if isinstance(error, Unavailable):
        return "kernel" in error.capability or "NVRTC" in error.capability
    return error.symbol.startswith("nvrtc")
