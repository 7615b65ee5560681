"""
Fits the costs of a modelled driver to what a real one took.

The time of a read on demand is nearly a sum: what the link and the cores take, a cost for each
block of 2 MiB in a batch of faults, one for each page of 4 KiB, and one for the kernel's first
batch. The simulator counts blocks, pages and kernels; linear least squares of the relative errors
give the costs; the simulation is repeated with them, since costs change how faults gather in
batches, until they stay.

A cost for each batch can't be told from a block's by these accesses, whose batches have one block
each. All of it counts as the block's: NVIDIA's driver locks, unmaps, copies and maps block by block
(uvm_gpu_replayable_faults.c, service_fault_batch). Reads at random, whose batches have many blocks,
are never fitted: they test this.

A read that thrashes takes a cost for each block that is evicted besides. At random half of its time
is evictions, so it is fitted to these, after the costs above. Reads in order that thrash, where
evictions take a tenth to a third of the time, are held back if there are any at random.

The time of a prefetch is a sum, too: what the link takes, a cost for the call, and one for each
block of 2 MiB. So is that of a prefetch to the CPU, and of what the CPU's page faults take back: a
cost for each fault, and one for each page of 4 KiB. They are fitted by themselves, in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

from isthmus.errors import Error, UsageError
from isthmus.sim.driver.measured import Access, DriverPoint
from isthmus.sim.driver.predicting import Prediction, predicted
from isthmus.sim.machine import Handling, ModelledMachine
from isthmus.sim.policy import Policy

_PS_PER_S = 1e12
_MAX_ROUNDS = 25
# Costs that change less are the same: a tenth of a percent of the longest.
_SAME = 1e-3
# As in `_Sum`: what page faults take.
_DRIVER_COSTS: Final = {"block": "blocks", "first": "kernels", "page": "pages"}


class _Sum(NamedTuple):
    """
    Accesses whose time is the link's and a sum of costs, which are fitted by themselves.

    Attributes:
        access: Every second size of it is fitted.
        single: Another access with the same costs, of one size.
        costs: The cost's name in a machine -> how often a prediction has it.
        otherwise: What is fitted instead if the run has no `access`.
    """

    access: Access
    single: Access | None
    costs: Mapping[str, str]
    otherwise: Access | None = None


_SUMS: Final = (
    _Sum(Access.THRASHED_RANDOM, None, {"evict": "evictions"}, Access.THRASHED),
    _Sum(
        Access.PREFETCHED,
        None,
        {"prefetch": "prefetches", "prefetch_block": "prefetched_blocks"},
    ),
    _Sum(
        Access.CPU_READ,
        Access.CPU_FAULT,
        {"back_fault": "back_faults", "back_page": "back_pages"},
    ),
    _Sum(
        Access.PREFETCHED_BACK,
        None,
        {"back_prefetch": "prefetches", "back_prefetch_block": "back_blocks"},
    ),
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """
    A point beside its prediction.

    Attributes:
        held_back: Whether the fit didn't see it; None if there was no fit.
    """

    point: DriverPoint
    seconds: float
    held_back: bool | None

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.seconds / self.point.seconds - 1


@dataclass(frozen=True, kw_only=True)
class Fit:
    """
    A machine whose driver was fitted.

    Attributes:
        programs: The programs that what a kernel takes to fetch a unit was fitted to; maybe none.
        costs: The names of the costs that were fitted. The others are as they were.
    """

    machine: ModelledMachine
    compared: tuple[Compared, ...] = ()
    num_rounds: int = 0
    programs: tuple[str, ...] = ()
    costs: frozenset[str] = frozenset()


def compared(
    points: Sequence[DriverPoint], machine: ModelledMachine, migrates: Policy | None = None
) -> tuple[Compared, ...]:
    """Put a machine's predictions beside measured points; `predicted` says what `migrates` is."""
    return tuple(
        Compared(point=point, seconds=predicted(point, machine, migrates).seconds, held_back=None)
        for point in points
    )


def fitted(points: Sequence[DriverPoint], machine: ModelledMachine) -> Fit:
    """
    Find the costs of a machine's driver. Of the sizes that were read on demand by the GPU or the
    CPU, fresh or thrashing, and of those that were prefetched, every second one, from the second
    smallest on, only tests the fit, and so do all reads at random. Costs of prefetches and of the
    CPU's accesses stay as they are if fewer than two points are left to fit them; that of an
    eviction needs one.
    """
    used = _used(points)
    driver, num_rounds = _settled(_with_a_driver(machine), _DRIVER_COSTS, used)
    machine, also_used, costs = _with_sums(driver, points)
    all_used = [*used, *also_used]
    beside = tuple(
        replace(one, held_back=one.point not in all_used) for one in compared(points, machine)
    )
    return Fit(
        machine=machine,
        compared=beside,
        num_rounds=num_rounds,
        costs=frozenset((*_DRIVER_COSTS, *costs)),
    )


def _rounded(costs: Sequence[float]) -> list[float]:
    """Round to four digits: more than a measurement repeats."""
    return [float(f"{seconds:.4g}") for seconds in costs]


def _sizes(points: Sequence[DriverPoint], access: Access | None) -> list[DriverPoint]:
    return sorted(
        (point for point in points if point.access is access), key=lambda point: point.size_bytes
    )


def _used(points: Sequence[DriverPoint]) -> list[DriverPoint]:
    reads = _sizes(points, Access.READ)
    faults = [point for point in points if point.access is Access.PAGE_FAULT]
    used = [*faults, *reads[::2]]
    if len(used) < len(_DRIVER_COSTS):
        raise UsageError(
            f"a fit needs three points besides those that it holds back, and this run has "
            f"{len(used)}: {len(faults)} page faults, {len(reads)} sizes read on demand",
            hint="`isthmus bench --managed -t '*managed*'` measures four sizes and a page fault",
        )
    return used


def _with_sums(
    machine: ModelledMachine, points: Sequence[DriverPoint]
) -> tuple[ModelledMachine, list[DriverPoint], list[str]]:
    """Fit what prefetches and the CPU's accesses take; give the points used and the costs, too."""
    all_used: list[DriverPoint] = []
    costs: list[str] = []
    for one in _SUMS:
        singles = [point for point in points if point.access is one.single]
        sizes = _sizes(points, one.access) or _sizes(points, one.otherwise)
        used = [*singles, *sizes[::2]]
        if len(used) < len(one.costs):
            continue
        machine, _ = _settled(machine, one.costs, used)
        all_used += used
        costs += one.costs
    return machine, all_used, costs


def _settled(
    machine: ModelledMachine, costs: Mapping[str, str], used: Sequence[DriverPoint]
) -> tuple[ModelledMachine, int]:
    """
    Fit costs (the name in a machine -> how often a prediction has it), again until they stay: they
    change how faults gather in batches. Give the machine and the number of rounds.
    """
    after: list[float] = []
    for num_rounds in range(1, _MAX_ROUNDS + 1):
        predictions = [predicted(point, machine) for point in used]
        before = [getattr(machine.faults, cost) / _PS_PER_S for cost in costs]
        counts = [tuple(getattr(one, count) for count in costs.values()) for one in predictions]
        after = _solved(used, predictions, counts, before)
        if max(abs(a - b) for a, b in zip(after, before, strict=True)) <= _SAME * max(after):
            return _with_costs(machine, costs, _rounded(after)), num_rounds
        machine = _with_costs(machine, costs, after)
    last = ", ".join(f"{cost} {one * 1e6:.4g} us" for cost, one in zip(costs, after, strict=True))
    raise Error(
        f"the fit doesn't settle within {_MAX_ROUNDS} rounds: last {last}",
        hint="measure again with `isthmus bench --managed` on an idle machine",
    )


def _with_a_driver(machine: ModelledMachine) -> ModelledMachine:
    """Let a driver handle batches, at costs to begin the fit with."""
    driver = {"latency": 0, "handling": Handling.BATCH}
    faults = machine.faults.model_copy(update=driver)
    begun = machine.model_copy(update={"faults": faults})
    return _with_costs(begun, _DRIVER_COSTS, (1e-5, 0.0, 5e-7))


def _with_costs(
    machine: ModelledMachine, costs: Mapping[str, str], seconds: Sequence[float]
) -> ModelledMachine:
    changed = {cost: round(one * _PS_PER_S) for cost, one in zip(costs, seconds, strict=True)}
    faults = machine.faults.model_copy(update=changed)
    return machine.model_copy(update={"faults": faults})


def _solved(
    used: Sequence[DriverPoint],
    predictions: Sequence[Prediction],
    counts: Sequence[tuple[float, ...]],
    costs: Sequence[float],
) -> list[float]:
    """
    Solve for costs in seconds that are not negative, from predictions with `costs`: the best of all
    choices of those that are zero.
    """
    import numpy as np

    rows = np.array(counts)
    measured = np.array([point.seconds for point in used])
    rest = np.array([one.seconds for one in predictions]) - rows @ np.array(costs)
    scaled, wanted = rows / measured[:, None], 1 - rest / measured
    best, least = None, np.inf
    for count in range(1, len(costs) + 1):
        for chosen in combinations(range(len(costs)), count):
            some, *_ = np.linalg.lstsq(scaled[:, chosen], wanted, rcond=None)
            error = float(np.sum((scaled[:, chosen] @ some - wanted) ** 2))
            if np.all(some >= 0) and error < least * (1 - 1e-9):
                least = error
                best = np.zeros(len(costs))
                best[list(chosen)] = some
    if best is None:
        raise Error(
            "no costs of a driver fit: what was measured is shorter than the link alone takes",
            hint="name a machine whose link is the measured one: --machine",
        )
    return [float(seconds) for seconds in best]
