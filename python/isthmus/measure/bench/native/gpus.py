"""All GPUs of a machine, opened as tests need them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Unavailable
from isthmus.measure.bench.native.device_under_test import DeviceUnderTest
from isthmus.measure.bench.tests.bench_test import Variation
from isthmus.measure.bench.tests.numa import GPU
from isthmus.measure.bench.tests.peers import PEER

if TYPE_CHECKING:
    from isthmus import _native

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
