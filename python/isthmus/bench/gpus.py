"""All GPUs of a machine, opened as tests need them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Unavailable

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.bench.native_session import NativeSession

# "Devices are often unavailable due to use of EXCLUSIVE_PROCESS or PROHIBITED" (cuda.h).
DEVICE_UNAVAILABLE = 46


@dataclass(frozen=True)
class Gpu:
    """
    A GPU that can be used.

    Attributes:
        ordinal: Its number.
        context: Its context.
        kernels: Kernels for it; None if there are none.
        node: The NUMA node that it hangs on, for host memory near it; None if that doesn't matter.
    """

    ordinal: int
    context: "_native.Context"
    kernels: "_native.Kernels | None"
    node: int | None


class Gpus:
    """The GPUs of a session's driver."""

    def __init__(self, session: "NativeSession") -> None:
        """Open none yet."""
        self._session = session
        self._opened: dict[int, Gpu | None] = {}

    def open(self, ordinal: int) -> Gpu:
        """
        Open one.

        Raises:
            Unavailable: Another process has it for itself.
        """
        if ordinal not in self._opened:
            self._opened[ordinal] = self._open(ordinal)
        found = self._opened[ordinal]
        if found is None:
            raise busy(ordinal)
        return found

    def several(self) -> list[Gpu]:
        """
        Open all that can be used.

        Raises:
            Unavailable: There are fewer than two.
        """
        usable = []
        count = self._session.driver.device_count()
        for ordinal in range(count):
            try:
                usable.append(self.open(ordinal))
            except Unavailable as absence:
                self._session.note_once(f"left out of suite multi: {absence}")
        if len(usable) > 1:
            return usable
        reason = "there is one here" if count == 1 else f"of {count} here one can be used"
        raise Unavailable(capability="several GPUs", reason=reason, needs="two GPUs or more")

    def _open(self, ordinal: int) -> Gpu | None:
        from isthmus import _native

        session = self._session
        facts = session.driver.device(ordinal)
        try:
            if ordinal == session.context.device.ordinal:
                context, kernels = session.context, session.kernels
            else:
                context = _native.Context(session.driver, ordinal)
                kernels = session.open_kernels(context)
        except DriverError as error:
            if error.code != DEVICE_UNAVAILABLE:
                raise
            return None
        node = None if session.emulated else _native.pci_numa_node(facts.pci_address)
        if session.driver.device_count() > 1:
            where = f"{facts.name} ({facts.pci_address}), {facts.uuid}"
            session.note_once(f"GPU {ordinal}: {where}, CPU node {_known(node)}")
        return Gpu(ordinal, context, kernels, node if len(session.placement.nodes) > 1 else None)


def _known(node: int | None) -> str:
    return "unknown" if node is None else str(node)


def busy(ordinal: int) -> Unavailable:
    """Say that a GPU can't be had."""
    return Unavailable(
        capability=f"GPU {ordinal}",
        reason="it is in exclusive or prohibited mode, and not for this process",
        needs="a GPU that nobody has for himself: nvidia-smi shows who, nvidia-smi -c 0 shares it",
    )
