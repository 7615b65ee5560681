"""
The devices that are measured, as instruments use them: one with its kernels, compiled once, or
all GPUs of a machine.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Unavailable
from isthmus.ground.extras import find_nvrtc
from isthmus.ground.spelling import cuda_major
from isthmus.measure.bench.demand import BufferKinds, HostMemory
from isthmus.measure.bench.tests.bench_test import Variation
from isthmus.measure.bench.tests.multi import PEER
from isthmus.measure.bench.tests.numa import GPU
from isthmus.measure.machine.placement import Placement, stray_pages_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native


def open_kernels(
    driver: "_native.Driver", context: "_native.Context"
) -> "tuple[_native.Kernels | None, list[str]]":
    """
    Find the compiler of kernels, and compile; give the kernels, or None, and what to tell the user
    about it.
    """
    from isthmus import _native

    nvrtc = None if driver.emulated else find_nvrtc(cuda_major(driver.version))
    try:
        folder = _native.kernel_cache_folder()
        kernels = _native.Kernels(context, nvrtc=nvrtc, cache_folder=folder)
    except (Unavailable, DriverError) as error:
        note = f"no kernels, so the host verifies and 'visible' is waived: {error}"
        return None, [note]
    refusal = kernels.cache_refusal
    return kernels, [refusal] if refusal else []


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


# "Devices are often unavailable due to use of EXCLUSIVE_PROCESS or PROHIBITED" (cuda.h).
DEVICE_UNAVAILABLE = 46


@dataclass(frozen=True)
class Gpu:
    """
    A GPU that can be used.

    Attributes:
        node: The NUMA node to which it is attached, for host memory near it; None if irrelevant.
    """

    ordinal: int
    context: "_native.Context"
    kernels: "_native.Kernels | None"
    node: int | None


class Gpus:
    """The GPUs that a device's driver shows."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Open none yet."""
        self._device = device
        self._opened: dict[int, Gpu | None] = {}

    def open(self, ordinal: int) -> Gpu:
        """Open one; raises Unavailable if another process uses it exclusively."""
        if ordinal not in self._opened:
            self._opened[ordinal] = self._open(ordinal)
        found = self._opened[ordinal]
        if found is None:
            raise busy(ordinal)
        return found

    def several(self) -> list[Gpu]:
        """Open all that can be used; raises Unavailable for fewer than two."""
        usable = []
        count = self._device.driver.device_count()
        for ordinal in range(count):
            try:
                usable.append(self.open(ordinal))
            except Unavailable as absence:
                self._device.note_once(f"left out of suite multi: {absence}")
        if len(usable) > 1:
            return usable
        reason = "this machine has one" if count == 1 else f"of {count} here one can be used"
        needs = "two or more GPUs"
        raise Unavailable(
            f"needs {needs}; {reason}", capability="several GPUs", reason=reason, needs=needs
        )

    def chosen(self, wanted: str, variation: Variation) -> list[Gpu]:
        """Open the GPUs that a point names, and then, if a loop wants "all", the others."""
        axes = dict(variation.axes)
        names = [int(axes[axis]) for axis in (GPU, PEER) if axis in axes]
        several = self.several() if wanted == "all" or not names else []
        named = [self.open(ordinal) for ordinal in names]
        return [*named, *(gpu for gpu in several if gpu.ordinal not in names)]

    def _open(self, ordinal: int) -> Gpu | None:
        from isthmus import _native

        device = self._device
        facts = device.driver.device(ordinal)
        try:
            if ordinal == device.context.device.ordinal:
                context, kernels = device.context, device.kernels
            else:
                context = _native.Context(device.driver, ordinal)
                kernels = device.kernels_of(context)
        except DriverError as error:
            if error.code != DEVICE_UNAVAILABLE:
                raise
            return None
        node = None if device.emulated else _native.pci_numa_node(facts.pci_address)
        if device.driver.device_count() > 1:
            where = f"{facts.name} ({facts.pci_address}), {facts.uuid}"
            device.note_once(f"GPU {ordinal}: {where}, CPU node {_known(node)}")
        return Gpu(ordinal, context, kernels, node if len(device.placement.nodes) > 1 else None)


def _known(node: int | None) -> str:
    return "unknown" if node is None else str(node)


def busy(ordinal: int) -> Unavailable:
    """Report that a GPU isn't available."""
    return Unavailable(
        capability=f"GPU {ordinal}",
        reason="it is in exclusive or prohibited mode, and not for this process",
        needs="a GPU that no other process has: nvidia-smi shows who, nvidia-smi -c 0 shares it",
    )
