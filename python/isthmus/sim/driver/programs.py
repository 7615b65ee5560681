"""
The programs of `isthmus bench paging`: what was measured, and what the simulator predicts.

A trace knows how many instructions a program makes, but not how long a GPU takes for them: a square
root counts as much as an addition. So a program's clock is fitted to its time with all data
resident, and the other ways are predicted with it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from isthmus.measure.run.model import Run
from isthmus.measure.run.programs import PROGRAMS, SEED, UNIT, USUAL_UNIT_BYTES, WAY, Program
from isthmus.measure.run.result import Result, Status
from isthmus.sim.library import Library
from isthmus.sim.machine import Handling, ModelledMachine
from isthmus.sim.policy import Kind, Policy, default_policy
from isthmus.sim.running import run as run_simulation
from isthmus.sim.settings import Setup

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

_PS_PER_S = 1e12
_BLOCK_BYTES = 2 << 20
_PROGRAMS = {program.test: program for program in PROGRAMS}
_COPIES, _HINTED, _READ_THROUGH = "copies", "managed_hints", "read_through"
RESIDENT = "ideal"
"""The way whose data is there already."""
UNITS = "units"
"""The way of a paged array whose units are fetched one by one."""
# Each way as a policy. Units of a paged array are valid or not, one by one. Hints prefetch in the
# stream of the kernels, where the program copies, and what only the GPU writes is there before.
_POLICY_OF = {
    "ideal": Kind.IDEAL,
    _COPIES: Kind.PROGRAMMER,
    "programmer": Kind.PROGRAMMER,
    "whole_page": Kind.WHOLE_PAGE,
    "single_range": Kind.SINGLE_RANGE,
    "ranges": Kind.RANGES,
    UNITS: Kind.BITMAP,
    "tree": Kind.TREE,
    "adaptive": Kind.ADAPTIVE,
    _READ_THROUGH: Kind.ZERO_COPY,
    "managed": Kind.TREE,
    _HINTED: Kind.PROGRAMMER,
    "zero_copy": Kind.ZERO_COPY,
}
_PAGED = {"whole_page", "single_range", "ranges", "units", "tree", "adaptive", _READ_THROUGH}
# A kernel fetches what it lacks itself: no driver takes part.
_NO_DRIVER = {
    **dict.fromkeys(("latency", "first", "block", "page", "evict"), 0),
    "handling": Handling.LANES,
}
# The fit of a clock ends when it predicts the time so well, or after so many simulations.
_SAME = 0.01
_MAX_ROUNDS = 8
_LEAST_HZ, _MOST_HZ = 10_000_000, 20_000_000_000


@dataclass(frozen=True)
class _PagedKernels:
    """
    What sets paged kernels apart from plain ones.

    Attributes:
        warps: How many fit a core by their launch bounds (kernels/workload_*.cu).
        warps_of: The same of programs with other bounds, or with none: by their registers
            (benchmarks/paging/registers.json).
        loads: How much longer a stream takes where all is valid, since each load looks at a bit.
    """

    warps: int
    warps_of: Mapping[str, int]
    loads: float

    def on(self, cores: Any, program: Program) -> Any:  # noqa: ANN401 - a group of parameters
        """Give the cores as a program's kernels have them."""
        warps = self.warps_of.get(program.workload, self.warps)
        return cores.model_copy(
            update={"max_warps": warps, "clock": round(cores.clock / self.loads)}
        )


# By load alone; by span, and by load 1.22. Source: benchmarks/paging/h100/warm.json.
_UNITS_ALONE = _PagedKernels(32, {"lib": 24, "cp": 48}, 1.03)
_BY_POLICY = _PagedKernels(24, {"wp": 32, "nn": 12}, 1.21)
# Nothing is fetched, and stores in place wait for nothing.
_IN_PLACE = _PagedKernels(24, {"wp": 32, "nn": 28}, 1)


@dataclass(frozen=True, kw_only=True)
class ProgramPoint:
    """
    One measured time of a program.

    Attributes:
        unit_bytes: The unit of a paged array; None without one.
    """

    program: Program
    way: str
    unit_bytes: int | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class ComparedProgram:
    """
    A point beside its prediction.

    Attributes:
        is_fitted: Whether the program's clock was fitted to it.
    """

    point: ProgramPoint
    seconds: float
    is_fitted: bool = False

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.seconds / self.point.seconds - 1


def program_points(run: Run) -> list[ProgramPoint]:
    """
    List the programs' times in a run on a GPU, program by program, resident data first; maybe none.
    Of paged arrays only those with units of 1 KiB: a simulation takes seconds.
    """
    if run.machine.emulated:
        return []
    points = [point for result in run.results if (point := _point(result)) is not None]
    order = list(_PROGRAMS.values())
    return sorted(points, key=lambda one: (order.index(one.program), one.way != RESIDENT))


def compared_programs(
    points: Sequence[ProgramPoint],
    machine: ModelledMachine,
    tell: Callable[[int, ProgramPoint], None] | None = None,
    migrates: Policy | None = None,
) -> tuple[ComparedProgram, ...]:
    """
    Put a machine's predictions beside programs' times, on all cores, each program's trace generated
    once, as if the driver migrated on demand by `migrates`; `tell` is called with the number of
    finished points and the one that is waited for next. After Ctrl-C, simulations that are under
    way end within a moment.
    """
    found: list[ComparedProgram] = []
    with simulating() as (pool, stopped):
        for program, group in groupby(points, key=lambda point: point.program):
            listed = list(group)
            if tell is not None:
                tell(len(found), listed[0])
            simulation = Simulation.of(program, stopped)
            fitted = machine
            if listed[0].way == RESIDENT:
                resident, fitted = simulation.fit(listed.pop(0), machine)
                found.append(resident)
            # Some ways are the same for the simulator: each is simulated once.
            setups = {one.way: setup_of(one, fitted, migrates) for one in listed}
            names = {way: setup.model_dump_json() for way, setup in setups.items()}
            distinct = {names[way]: setup for way, setup in setups.items()}
            runs = {name: pool.submit(simulation.run, setup) for name, setup in distinct.items()}
            for point in listed:
                if tell is not None:
                    tell(len(found), point)
                result = runs[names[point.way]].result()
                found.append(simulation.compared(point, setups[point.way], result))
    return tuple(found)


@contextmanager
def simulating() -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    """Give a thread for each core, and the event that ends what is under way when this is left."""
    stopped = Event()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            yield pool, stopped
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def median_error(compared: Sequence[ComparedProgram]) -> float:
    """Give the median of the errors' sizes; of what was fitted only if there is nothing else."""
    predicted = [one for one in compared if not one.is_fitted]
    return median(abs(one.error) for one in predicted or compared)


@dataclass(frozen=True)
class Simulation:
    """
    Simulates one program.

    Attributes:
        stopped: Set to end simulations that are under way.
    """

    recording: "_native.TraceRecording"
    stopped: Event

    @classmethod
    def of(cls, program: Program, stopped: Event) -> Self:
        """Record a program."""
        recording = Library().recording(program.workload, SEED, dict(program.large.sizes))
        return cls(recording, stopped)

    def run(self, setup: Setup) -> "SimulationResult":
        """Simulate it once; KeyboardInterrupt if it was stopped."""

        def poll(_now: int) -> bool:
            return not self.stopped.is_set()

        return run_simulation(self.recording.replay(), setup, poll=poll)

    def compared(
        self, point: ProgramPoint, setup: Setup, result: "SimulationResult"
    ) -> ComparedProgram:
        """Put a simulation beside a point."""
        # Copies are all made before the first launch.
        time_ps = result.copy_ps if point.way == _COPIES else result.total_ps
        if point.way == _HINTED:
            time_ps += self._prefetches_ps(setup.machine)
        return ComparedProgram(point=point, seconds=time_ps / _PS_PER_S)

    def _prefetches_ps(self, machine: ModelledMachine) -> int:
        """Count what the driver takes for prefetches of what the program copies first."""
        steps = self.recording.replay().program.launches[0].before
        sizes = [step.size_bytes for step in steps if step.kind == "upload"]
        blocks = sum(-(-size // _BLOCK_BYTES) for size in sizes)
        costs = machine.faults
        return int(len(sizes) * costs.prefetch + blocks * costs.prefetch_block)

    def fit(
        self, resident: ProgramPoint, machine: ModelledMachine
    ) -> tuple[ComparedProgram, ModelledMachine]:
        """Find the machine whose clock gives the time with resident data."""
        for _ in range(_MAX_ROUNDS):
            setup = setup_of(resident, machine)
            found = self.compared(resident, setup, self.run(setup))
            if abs(found.error) < _SAME:
                break
            hertz = round(machine.cores.clock * (1 + found.error))
            clock = min(max(hertz, _LEAST_HZ), _MOST_HZ)
            cores = machine.cores.model_copy(update={"clock": clock})
            machine = machine.model_copy(update={"cores": cores})
        return replace(found, is_fitted=True), machine


def setup_of(
    point: ProgramPoint, machine: ModelledMachine, migrates: Policy | None = None
) -> Setup:
    """Give the machine and the policy that a point had; managed memory may have another one."""
    policy = default_policy(_POLICY_OF[point.way].value)
    if point.way == "managed" and migrates is not None:
        policy = migrates
    elif point.way == "whole_page":
        policy = policy.model_copy(update={"merge": True})  # a page is fetched once
    elif point.unit_bytes is not None and point.way in _PAGED:
        policy = policy.model_copy(update={"unit": point.unit_bytes})
    if point.way in _PAGED:
        machine = _paged(point, machine)
    return Setup(machine=machine, policy=policy)


def _paged(point: ProgramPoint, machine: ModelledMachine) -> ModelledMachine:
    """Give the machine as the kernels of a paged array use it."""
    faults = machine.faults.model_copy(update=_NO_DRIVER)
    kernels = _UNITS_ALONE if point.way == UNITS else _BY_POLICY
    if point.way == _READ_THROUGH:
        faults = faults.model_copy(update={"handling": Handling.EACH})
        kernels = _IN_PLACE
    cores = kernels.on(machine.cores, point.program)
    return machine.model_copy(update={"faults": faults, "cores": cores})


def _point(result: Result) -> ProgramPoint | None:
    program = _PROGRAMS.get(result.test)
    way = str(result.axes.get(WAY))
    measured = result.status == Status.PASSED and result.median is not None
    if program is None or not measured or way not in _POLICY_OF or result.median is None:
        return None
    if result.bytes != program.large.memory_bytes:  # another version's input
        return None
    unit = result.axes.get(UNIT)
    if unit is not None and int(unit) != USUAL_UNIT_BYTES:
        return None
    return ProgramPoint(
        program=program,
        way=way,
        unit_bytes=None if unit is None else int(unit),
        seconds=result.median,
    )
