"""Finds the requested device: by number, UUID, PCI address, emulated, or the default."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from isthmus.errors import DriverError, NoDevice, Unavailable, UsageError
from isthmus.ground.spelling import shortened
from isthmus.measure.machine.absence import means_no_gpu

EMULATED = "emulated"
_FORMS = "0, GPU-<uuid>, 0000:01:00.0, emulated or emulated:PROFILE"
_NO_DEVICE = "the driver has no device"
_USE_EMULATED = "--device emulated needs no GPU; `isthmus doctor` says what is missing"
_ORDINAL = re.compile(r"[0-9]{1,9}")
# nvidia-smi writes the domain with eight digits, sysfs with four, people omit it.
_PCI = re.compile(r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<rest>[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


class Facts(Protocol):
    """The properties that identify a device."""

    @property
    def ordinal(self) -> int:
        """Its number."""

    @property
    def name(self) -> str:
        """Its product name."""

    @property
    def uuid(self) -> str:
        """Its UUID, with "GPU-" before it."""

    @property
    def pci_address(self) -> str:
        """Its PCI address, lower case, with a domain of four digits."""


class Driver(Protocol):
    """A driver that can be asked for its devices."""

    def device_count(self) -> int:
        """Count its devices."""

    def device(self, ordinal: int) -> Facts:
        """Describe one."""


DriverT = TypeVar("DriverT", bound=Driver)


@dataclass(frozen=True)
class Choice(Generic[DriverT]):
    """
    A device.

    Attributes:
        emulated_because: Why the emulated device was chosen by default; otherwise None.
    """

    driver: DriverT
    ordinal: int
    emulated_because: str | None = None


def choose_device(wanted: str | None, open_driver: Callable[[str], DriverT]) -> Choice[DriverT]:
    """
    Find a device as typed after `--device`; None is the first GPU, or the emulated device if there
    is neither a driver nor a GPU.
    """
    if wanted is None:
        return _whichever(open_driver)
    if wanted == EMULATED or wanted.startswith(f"{EMULATED}:"):
        driver = _open(open_driver, wanted)
        if driver.device_count() == 0:
            raise NoDevice(f"no device '{wanted}': {_NO_DEVICE}", hint=_USE_EMULATED)
        return Choice(driver, 0)
    matches = _matcher(wanted)
    driver = _open(open_driver, "")
    devices = [driver.device(ordinal) for ordinal in range(driver.device_count())]
    found = [device for device in devices if matches(device)]
    if len(found) != 1:
        raise _not_found(wanted, devices, ambiguous=bool(found))
    return Choice(driver, found[0].ordinal)


def _whichever(open_driver: Callable[[str], DriverT]) -> Choice[DriverT]:
    """
    Choose the first GPU, or the emulated device if there is certainly no GPU: a broken driver may
    hide one.
    """
    asked_for = os.environ.get("ISTHMUS_DRIVER")
    try:
        driver = open_driver("")
        if driver.device_count() > 0:
            return Choice(driver, 0)
        reason, absent = _NO_DEVICE, True
    except (Unavailable, DriverError) as error:
        reason, absent = _reason(error), means_no_gpu(error)
        if not absent and not asked_for:
            raise _broken(error) from error
    if asked_for:
        raise NoDevice(f"no device with ISTHMUS_DRIVER={asked_for}: {reason}", hint=_USE_EMULATED)
    return Choice(open_driver(EMULATED), 0, emulated_because=f"no GPU to measure: {reason}")


def _open(open_driver: Callable[[str], DriverT], source: str) -> DriverT:
    try:
        return open_driver(source)
    except (Unavailable, DriverError) as error:
        raise _broken(error) from error


def _broken(error: Unavailable | DriverError) -> NoDevice:
    needs = error.needs if isinstance(error, Unavailable) else "a driver that starts"
    return NoDevice(f"no CUDA device: {_reason(error)}", needs=needs, hint=_USE_EMULATED)


def _reason(error: Unavailable | DriverError) -> str:
    if isinstance(error, Unavailable):
        return error.reason
    return f"{error.symbol} failed with {error.code_name} ({error.code})"


def _matcher(wanted: str) -> Callable[[Facts], bool]:
    text = wanted.strip().lower()
    if _ORDINAL.fullmatch(text):
        return lambda device: device.ordinal == int(text)
    if text.startswith(("gpu-", "mig-")):
        # As in CUDA_VISIBLE_DEVICES, the beginning of a UUID is enough if only one fits.
        return lambda device: device.uuid.lower().startswith(text)
    pci = _PCI.fullmatch(text)
    if pci is None:
        raise UsageError(f"'{shortened(wanted)}' is not a device", hint=f"write it like {_FORMS}")
    address = f"{int(pci['domain'] or '0', 16):04x}:{pci['rest']}"
    return lambda device: device.pci_address.lower() == address


def _not_found(wanted: str, devices: Sequence[Facts], *, ambiguous: bool) -> NoDevice:
    if not devices:
        return NoDevice(f"no device '{wanted}': the driver has no device", hint=_USE_EMULATED)
    what = "more than one device fits" if ambiguous else "no device"
    return NoDevice(f"{what} '{wanted}'", hint=f"there is {'; '.join(_described(devices))}")


def _described(devices: Iterable[Facts]) -> list[str]:
    return [f"{d.ordinal} = {d.name}, {d.uuid}, {d.pci_address}" for d in devices]
