"""Reads what NVML and the kernel know of a GPU's health, and of who else uses it."""

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from isthmus.measure.doctor.facts import Gpu, Health, Peers
from isthmus.measure.doctor.sources import Sources
from isthmus.measure.machine.link_errors import ports_above
from isthmus.measure.machine.nvml import Nvml

# As in "NVRM: Xid (PCI:0000:1b:00): 79, pid=..."; the function's number may follow the address.
_XID = re.compile(rb"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)")
# NVML's numbers: uncorrected errors, since the driver was loaded and ever; peer reads.
_UNCORRECTED, _VOLATILE, _AGGREGATE = 1, 0, 1
_PEER_READS = 0
_PEER_OK = 0
# Extended capabilities begin at 0x100, ACS is 0x0d, its control register has offset 6, and there
# request and completion redirect are bits 2 and 3. Source: Linux, include/uapi/linux/pci_regs.h.
_EXTENDED, _ACS, _CONTROL, _REDIRECTS = 0x100, 0x0D, 6, 0b1100


def read_health(sources: Sources, nvml: Nvml, pci_address: str) -> Health:
    """Read all of it; what isn't shown is None. Call it before this process uses the GPU."""
    ecc = nvml.ask("ECC mode", lambda n, gpu: bool(n.nvmlDeviceGetEccMode(gpu)[0]))
    new, ever = nvml.ask(
        "ECC errors",
        lambda n, gpu: [
            n.nvmlDeviceGetTotalEccErrors(gpu, _UNCORRECTED, since)
            for since in (_VOLATILE, _AGGREGATE)
        ],
    ) or (None, None)
    rows = nvml.ask("remapped rows", lambda n, gpu: list(n.nvmlDeviceGetRemappedRows(gpu)))
    limit = nvml.ask("power limit", lambda n, gpu: n.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3)
    usual = nvml.ask(
        "power default", lambda n, gpu: n.nvmlDeviceGetPowerManagementDefaultLimit(gpu) / 1e3
    )
    processes = nvml.ask(
        "processes", lambda n, gpu: [p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(gpu)]
    )
    return Health(
        xids=read_xids(sources.root, pci_address),
        ecc=ecc,
        new_uncorrected=new,
        uncorrected=ever,
        remapped_rows=rows,
        power_limit_w=limit,
        power_default_w=usual,
        processes=None if processes is None else sorted({*processes} - {os.getpid()}),
        mig=nvml.ask("MIG mode", lambda n, gpu: tuple(map(bool, n.nvmlDeviceGetMigMode(gpu)))),
        acs_redirects=_acs_redirects(sources.root, pci_address),
    )


def read_peers(sources: Sources, gpus: Sequence[Gpu]) -> Peers:
    """Ask for every pair of GPUs whether one can read the other's memory."""
    allowed: dict[tuple[int, int], bool] = {}
    for first in gpus:
        with Nvml(first.pci_address, sources.nvml) as nvml:
            for second in (gpu for gpu in gpus if gpu.ordinal > first.ordinal):
                status = nvml.ask("peer access", partial(_peer_status, second.pci_address))
                if status is not None:
                    allowed[first.ordinal, second.ordinal] = status == _PEER_OK
    return Peers(
        allowed=allowed,
        acs_redirects=sorted({port for gpu in gpus for port in gpu.health.acs_redirects}),
    )


def _peer_status(other: str, nvml: Any, gpu: Any) -> int:  # noqa: ANN401 - NVML's
    handle = nvml.nvmlDeviceGetHandleByPciBusId(other.encode())
    return int(nvml.nvmlDeviceGetP2PStatus(gpu, handle, _PEER_READS))


def read_xids(root: Path, pci_address: str | None = None) -> list[int] | None:
    """List the Xid errors of one GPU, or of all, in the kernel's log; None if it can't be read."""
    try:
        log = os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    text = b""
    try:
        while record := _record(log):
            text += record
    except OSError:
        pass  # the end of what has been logged
    finally:
        os.close(log)
    found = ((at.decode().lower(), int(code)) for at, code in _XID.findall(text))
    return [code for at, code in found if (pci_address or at).lower().startswith(at)]


def _record(log: int) -> bytes:
    while True:
        try:
            return os.read(log, 1 << 16)
        except BrokenPipeError:  # records were overwritten before they were read
            continue


def _acs_redirects(root: Path, pci_address: str) -> list[str]:
    """List the ports above a GPU that send peers' requests up; those that don't tell aren't."""
    return [port.name for port in ports_above(pci_address, root) if _redirects(port / "config")]


def _redirects(path: Path) -> bool:
    try:
        config = path.read_bytes()
    except OSError:
        return False
    at = _EXTENDED
    while at and at + _CONTROL + 2 <= len(config):
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == _ACS:
            return bool(config[at + _CONTROL] & _REDIRECTS)
        # Capabilities are in ascending order here, so that a broken list ends.
        at = header >> 20 if header >> 20 > at else 0
    return False
