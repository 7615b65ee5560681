"""What the simulator predicts for a measured point."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.sim.driver.measured import FAULT_PAGES, Access, DriverPoint
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.options import Options
from isthmus.sim.own import policy_of
from isthmus.sim.policy import Kind, Policy, default_policy
from isthmus.sim.running import run
from isthmus.sim.settings import Setup

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

_PS_PER_S = 1e12
_PAGE_BYTES = 4096
# NVIDIA's driver widens a fault by the density of a tree over each block of 2 MiB.
MIGRATES = "tree"
"""What migrates on demand."""
_OF_ACCESS = {
    Access.REMOTE: "zero-copy",
    Access.WRITTEN: "zero-copy",
    Access.PREFETCHED: "prefetch",
    Access.PREFETCHED_BACK: "prefetch",
}
_FAULTS = {Access.PAGE_FAULT, Access.CPU_FAULT}
_THRASHED = {Access.THRASHED, Access.THRASHED_RANDOM}
"""The second of two reads, with room for half."""
_AT_RANDOM = {Access.RANDOM, Access.THRASHED_RANDOM}
_TO_CPU = {Access.CPU_FAULT, Access.CPU_READ, Access.PREFETCHED_BACK}
"""Those that are measured while no kernel runs."""
_BLOCK_BYTES = 2 << 20


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """
    A modelled time, and what the modelled driver did in it. All of it is for the point's own unit:
    of a page fault for one page.

    Attributes:
        seconds: The time.
        batches: The batches of faults.
        blocks: The blocks of 2 MiB in them.
        pages: The pages of 4 KiB that they migrated.
        kernels: The kernels that had faults.
        evictions: The blocks of 2 MiB that were evicted to make room.
        prefetches: The allocations that were prefetched, to either side.
        prefetched_blocks: The blocks of 2 MiB of them.
        back_blocks: The blocks of 2 MiB that the CPU took back.
        back_faults: The CPU's page faults for them.
        back_pages: The pages of 4 KiB of them.
    """

    seconds: float
    batches: float
    blocks: float
    pages: float
    kernels: float
    evictions: float
    prefetches: float = 0.0
    prefetched_blocks: float = 0.0
    back_blocks: float = 0.0
    back_faults: float = 0.0
    back_pages: float = 0.0


def on_demand(chosen: str) -> Policy:
    """Give what migrates on demand, by its name or file; an own policy in the driver's pages."""
    policy = policy_of(chosen)
    is_own = policy.kind is Kind.OWN
    return policy.model_copy(update={"unit": _PAGE_BYTES}) if is_own else policy


def predicted(
    point: DriverPoint, machine: ModelledMachine, migrates: Policy | None = None
) -> Prediction:
    """
    Simulate what a point measured, as if the driver migrated on demand by `migrates`. What is
    prefetched is read meanwhile, by a kernel that ends some microseconds after its last bytes have
    come; of what the CPU takes back, the time without the kernel before it counts.
    """
    if point.access in _THRASHED:
        return _thrashed(point, machine, migrates or default_policy(MIGRATES))
    kind = _OF_ACCESS.get(point.access, MIGRATES)
    policy = migrates if migrates and kind == MIGRATES else default_policy(kind)
    result = _simulated(point, machine, policy)
    share = 1 / FAULT_PAGES if point.access in _FAULTS else 1.0
    total_ps = result.copy_ps if point.access in _TO_CPU else result.total_ps - result.copy_ps
    counts = result.counts
    return Prediction(
        seconds=total_ps / _PS_PER_S * share,
        batches=counts["fault_batches"] * share,
        blocks=counts["fault_blocks"] * share,
        pages=counts["fault_pages"] * share,
        kernels=(counts["fault_batches"] > 0) * share,
        evictions=counts["evictions"] * share,
        prefetches=float(kind == "prefetch"),
        prefetched_blocks=(
            -(-point.size_bytes // _BLOCK_BYTES) if point.access is Access.PREFETCHED else 0.0
        ),
        back_blocks=counts["returned_blocks"] * share,
        back_faults=counts["returned_faults"] * share,
        back_pages=counts["returned_pages"] * share,
    )


def _thrashed(point: DriverPoint, machine: ModelledMachine, policy: Policy) -> Prediction:
    """Predict the second of two reads, with room for half: two reads, less the first."""
    room = machine.partitions.model_copy(update={"memory": point.size_bytes // 2})
    crowded = machine.model_copy(update={"partitions": room})
    one, two = (_simulated(point, crowded, policy, num_reads) for num_reads in (1, 2))
    more = {name: float(count - one.counts[name]) for name, count in two.counts.items()}
    return Prediction(
        seconds=(two.total_ps - one.total_ps) / _PS_PER_S,
        batches=more["fault_batches"],
        blocks=more["fault_blocks"],
        pages=more["fault_pages"],
        kernels=float(more["fault_batches"] > 0),
        evictions=more["evictions"],
    )


def _simulated(
    point: DriverPoint, machine: ModelledMachine, policy: Policy, num_reads: int = 1
) -> "SimulationResult":
    setup = Setup(machine=machine, policy=policy, options=Options(count_downloads=True))
    return run(_trace(point, machine, num_reads), setup)


def _trace(point: DriverPoint, machine: ModelledMachine, num_reads: int) -> "_native.TraceSource":
    from isthmus import _native

    if point.access in _FAULTS:
        then_cpu = point.access is Access.CPU_FAULT
        return _native.TraceSource.of_page_chase(FAULT_PAGES, then_cpu)
    whole = max(point.size_bytes // _PAGE_BYTES * _PAGE_BYTES, _PAGE_BYTES)
    if point.access in _TO_CPU or point.access is Access.WRITTEN:
        return _native.TraceSource.of_managed_write(whole, machine.cores.count)
    cores, at_random = machine.cores.count, point.access in _AT_RANDOM
    return _native.TraceSource.of_managed_read(whole, cores, at_random, num_reads)
