"""Opens a session on a chosen device, with everything that a run records about it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Error, NoDevice
from isthmus.measure.bench.choice import Choice, choose_device
from isthmus.measure.bench.demand import Limits, limits_of
from isthmus.measure.bench.native.device_under_test import (
    DEVICE_UNAVAILABLE,
    DeviceUnderTest,
    busy,
    open_kernels,
)
from isthmus.measure.bench.native.session import NativeSession
from isthmus.measure.bench.tests.catalogue import BufferKinds, Direction, HostMemory
from isthmus.measure.machine.facts import Setting, read_machine
from isthmus.measure.machine.link import LOAD_CALL_SECONDS, LinkFacts, read_link
from isthmus.measure.machine.placement import bind_near_device, cpu_model
from isthmus.measure.run.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native

_LOAD_BUFFER_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Opened:
    """
    A session, and why it uses this device.

    Attributes:
        emulated_because: Why the device is emulated by default; otherwise None.
    """

    session: NativeSession
    emulated_because: str | None
    notes: tuple[str, ...]

    @property
    def device(self) -> DeviceUnderTest:
        """What is measured."""
        return self.session.device

    def announcements(self) -> list[str]:
        """List what the user should know before anything runs, the most important first."""
        driver = self.device.driver
        lines = [f"note: {note}" for note in self.notes]
        if driver.emulated:
            because = f"{self.emulated_because}; " if self.emulated_because else ""
            lines.insert(
                0,
                f"{because}measuring the EMULATED GPU (profile {driver.profile}): simulated times",
            )
        return lines

    def limits(self) -> Limits:
        """Compute the current limits."""
        from isthmus import _native

        return limits_of(
            free_device_bytes=self.session.free_device_bytes(),
            free_host_bytes=_native.memory_limits().available_bytes or None,
            emulated=self.session.emulated,
            num_cores=max(1, int(_native.effective_cores())),
            cpu_nodes=tuple(n.node for n in self.device.placement.nodes if n.cpus) or (0,),
            num_gpus=self.device.driver.device_count(),
        )

    def identity(self) -> tuple[str | None, ...]:
        """Identify this machine as `compare.machines.identity_of` identifies a run's."""
        driver = self.device.driver
        if driver.emulated:
            return ("emulated", driver.profile or None)
        return (self.device.context.device.uuid, cpu_model())

    def check_windows(self) -> None:
        """Refuse invalid settings of windows with a UsageError; no window is opened."""
        self.session.check_windows()

    def read_machine(self) -> Machine:
        """Collect the machine's facts; on a real device this loads the link for a moment."""
        device = self.device
        link = LinkFacts() if device.emulated else _read_link(self.session)
        kernels = device.kernels
        setting = Setting(
            nvrtc_version=kernels.nvrtc_version if kernels else None,
            emulated_because=self.emulated_because,
            notes=self.notes,
        )
        return read_machine(
            device.driver, device.context.device, device.placement, link, setting=setting
        )


def open_session(wanted: str | None) -> Opened:
    """
    Choose a device as `choose_device` does, and prepare it; bind this thread, and the host's memory
    with it, to the device's NUMA node.
    """
    from isthmus import _native

    choice: Choice[_native.Driver] = choose_device(wanted, _native.Driver.open)
    driver = choice.driver
    facts = driver.device(choice.ordinal)
    # Bound before anything is allocated, so that the driver's own memory is near the device too.
    placement = bind_near_device(facts.pci_address, _native, emulated=driver.emulated)
    context = _open_context(driver, choice.ordinal)
    kernels, kernel_notes = open_kernels(driver, context)
    device = DeviceUnderTest(driver, context, kernels, placement=placement)
    return Opened(
        session=NativeSession(device),
        emulated_because=choice.emulated_because,
        notes=(*placement.notes, *kernel_notes),
    )


def _open_context(driver: "_native.Driver", ordinal: int) -> "_native.Context":
    from isthmus import _native

    try:
        return _native.Context(driver, ordinal)
    except DriverError as error:
        if error.code != DEVICE_UNAVAILABLE:
            raise
        absence = busy(ordinal)
        raise NoDevice(str(absence), needs=absence.needs, hint=absence.needs) from error


def _read_link(session: NativeSession) -> LinkFacts:
    load: Callable[[], None] | None = None
    notes = []
    try:
        buffers = session.allocate(BufferKinds(host_memory=HostMemory.PINNED), _LOAD_BUFFER_BYTES)

        def load() -> None:
            session.keep_link_busy(buffers, Direction.HOST_TO_DEVICE, LOAD_CALL_SECONDS)

    except (Error, RuntimeError, MemoryError) as error:
        notes.append(f"the link was read idle: {error}")
    facts = read_link(session.device.pci_address, load)
    facts.notes.extend(notes)
    return facts
