"""What the simulator predicts for a measured point."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.sim.driver.measured import FAULT_PAGES, Access, DriverPoint
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.policy import default_policy
from isthmus.sim.running import run
from isthmus.sim.settings import Setup

if TYPE_CHECKING:
    from isthmus import _native

_PS_PER_S = 1e12
_PAGE_BYTES = 4096
# NVIDIA's driver widens a fault by the density of a tree over each block of 2 MiB.
_MIGRATES, _REMOTE = "tree", "zero-copy"


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """
    A modelled time, and what the modelled driver did in it.

    All of it is for the point's own unit: of a page fault for one page.

    Attributes:
        seconds: The time.
        batches: The batches of faults.
        blocks: The blocks of 2 MiB in them.
        pages: The pages of 4 KiB that they migrated.
        kernels: The kernels that had faults.
    """

    seconds: float
    batches: float
    blocks: float
    pages: float
    kernels: float


def predicted(point: DriverPoint, machine: ModelledMachine) -> Prediction:
    """
    Simulate what a point measured.

    Raises:
        UsageError: The machine is impossible, or the size no multiple of 4 KiB.
    """
    kind = _REMOTE if point.access is Access.REMOTE else _MIGRATES
    result = run(_trace(point, machine), Setup(machine=machine, policy=default_policy(kind)))
    share = 1 / FAULT_PAGES if point.access is Access.PAGE_FAULT else 1.0
    counts = result.counts
    return Prediction(
        seconds=result.total_ps / _PS_PER_S * share,
        batches=counts["fault_batches"] * share,
        blocks=counts["fault_blocks"] * share,
        pages=counts["fault_pages"] * share,
        kernels=(counts["fault_batches"] > 0) * share,
    )


def _trace(point: DriverPoint, machine: ModelledMachine) -> "_native.TraceSource":
    from isthmus import _native

    if point.access is Access.PAGE_FAULT:
        return _native.TraceSource.of_page_chase(FAULT_PAGES)
    whole = max(point.size_bytes // _PAGE_BYTES * _PAGE_BYTES, _PAGE_BYTES)
    at_random = point.access is Access.RANDOM
    return _native.TraceSource.of_managed_read(whole, machine.cores.count, at_random)
