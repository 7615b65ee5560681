"""
Errors of the PCIe link: replays as NVML counts them, errors as the kernel does.

A count that isn't available is None; nothing here raises.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from isthmus.measure.machine.nvml import Nvml
from isthmus.measure.run.machine import LinkErrors

_DEVICES = Path("sys/bus/pci/devices")
# Host bridges are named "pci0000:00" and have no such address.
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# The kernel's files (4.19 and later), and the line of each that counts messages of any kind.
# Source: Linux, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats.
_AER_FILES = {
    "correctable": ("aer_dev_correctable", "TOTAL_ERR_COR"),
    "nonfatal": ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    "fatal": ("aer_dev_fatal", "TOTAL_ERR_FATAL"),
}


@dataclass(frozen=True, kw_only=True)
class AerCounts:
    """
    Errors that one device has seen and reported since the kernel found it.

    Attributes:
        correctable: Corrected by the hardware; nothing is lost.
        nonfatal: A transaction is lost, the link works.
        fatal: The link is unreliable, and is reset.
    """

    correctable: int | None = None
    nonfatal: int | None = None
    fatal: int | None = None


@dataclass(frozen=True, kw_only=True)
class LinkErrorCounts:
    """
    What both ends of a link have counted so far.

    Attributes:
        replays: Resent packets, since the GPU was reset; None if NVML doesn't tell.
        aer: By PCI address, of the GPU and of the port above it: the end that sees an error counts
            it. Empty if the kernel shows none.
    """

    replays: int | None = None
    aer: Mapping[str, AerCounts] = field(default_factory=dict)

    def total(self) -> LinkErrors:
        """Add up both ends."""
        return _added_up(self.replays, list(self.aer.values()))

    def since(self, before: "LinkErrorCounts") -> LinkErrors:
        """Give what has been added: None if either reading lacks a count."""
        return _added_up(
            _growth(self.replays, before.replays),
            [
                AerCounts(
                    correctable=_growth(now.correctable, before.aer[end].correctable),
                    nonfatal=_growth(now.nonfatal, before.aer[end].nonfatal),
                    fatal=_growth(now.fatal, before.aer[end].fatal),
                )
                for end, now in self.aer.items()
                if end in before.aer
            ],
        )


def read_link_errors(
    pci_address: str,
    library: Any = None,  # noqa: ANN401 - a module
    root: Path = Path("/"),
) -> LinkErrorCounts:
    """Read all counts of a GPU's link."""
    with Nvml(pci_address, library) as nvml:
        replays = nvml.ask("replays", lambda n, gpu: int(n.nvmlDeviceGetPcieReplayCounter(gpu)))
    ends = [pci_address, port_above(pci_address, root)]
    found = {end: read_aer(end, root) for end in ends if end is not None}
    return LinkErrorCounts(
        replays=replays, aer={end: counts for end, counts in found.items() if counts is not None}
    )


def port_above(pci_address: str, root: Path) -> str | None:
    """Find the other end of a device's link: a root port, or a switch's; None if it is hidden."""
    return next((port.name for port in ports_above(pci_address, root)), None)


def ports_above(pci_address: str, root: Path) -> list[Path]:
    """List the folders of all ports between a device and the CPU, the nearest first."""
    parents = (root / _DEVICES / pci_address).resolve().parents
    return list(takewhile(lambda folder: _PCI_ADDRESS.fullmatch(folder.name), parents))


def read_aer(pci_address: str, root: Path) -> AerCounts | None:
    """Read what the kernel has counted at one device; None if it shows nothing."""
    folder = root / _DEVICES / pci_address
    counts = {kind: _read_total(folder / name, total) for kind, (name, total) in _AER_FILES.items()}
    return None if set(counts.values()) == {None} else AerCounts(**counts)


def _read_total(path: Path, total: str) -> int | None:
    """From lines like "Bad TLP 0", the number of the line that begins with `total`."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, number = line.strip().rpartition(" ")
        if name == total and number.isdecimal():
            return int(number)
    return None


def _added_up(replays: int | None, ends: Sequence[AerCounts]) -> LinkErrors:
    return LinkErrors(
        replays=replays,
        correctable=_sum(end.correctable for end in ends),
        nonfatal=_sum(end.nonfatal for end in ends),
        fatal=_sum(end.fatal for end in ends),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _growth(now: int | None, before: int | None) -> int | None:
    """Give the difference; a count that is smaller now began anew, when the GPU was reset."""
    if now is None or before is None:
        return None
    return now - before if now >= before else now


class LinkErrorWatch:
    """Counts the errors of a GPU's link from now on."""

    def __init__(
        self,
        pci_address: str,
        library: Any = None,  # noqa: ANN401 - a module
        root: Path = Path("/"),
    ) -> None:
        """Take the first reading; arguments as for `read_link_errors`."""
        self._place = (pci_address, library, root)
        self._before = read_link_errors(*self._place)

    def grown(self) -> LinkErrors:
        """Give what has been added since."""
        return read_link_errors(*self._place).since(self._before)
