"""The programs of `isthmus bench paging`: what was measured, and what the simulator predicts."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from isthmus.run.model import Run
from isthmus.run.programs import PROGRAMS, SEED, UNIT, WAY, Program
from isthmus.run.result import Result, Status
from isthmus.sim.library import Library
from isthmus.sim.machine import Handling, ModelledMachine
from isthmus.sim.policy import Kind, default_policy
from isthmus.sim.settings import Setup

_PS_PER_S = 1e12
_PROGRAMS = {program.test: program for program in PROGRAMS}
# Each way as a policy. Units of a paged array are valid or not, one by one.
_POLICY_OF = {
    "ideal": Kind.IDEAL,
    "copies": Kind.PROGRAMMER,
    "programmer": Kind.PROGRAMMER,
    "whole_page": Kind.WHOLE_PAGE,
    "single_range": Kind.SINGLE_RANGE,
    "ranges": Kind.RANGES,
    "units": Kind.BITMAP,
    "tree": Kind.TREE,
    "adaptive": Kind.ADAPTIVE,
    "read_through": Kind.ZERO_COPY,
    "managed": Kind.TREE,
    "managed_hints": Kind.PREFETCH,
    "zero_copy": Kind.ZERO_COPY,
}
_COPIES = "copies"
_USUAL_UNIT_BYTES = 1024
_PAGED = {"whole_page", "single_range", "ranges", "units", "tree", "adaptive", "read_through"}
# A kernel fetches what it lacks itself: no driver takes part.
_NO_DRIVER = {"latency": 0, "first": 0, "block": 0, "page": 0, "handling": Handling.EACH}


@dataclass(frozen=True, kw_only=True)
class ProgramPoint:
    """
    One measured time of a program.

    Attributes:
        program: The program.
        way: How its data got to the GPU.
        unit_bytes: The unit of a paged array; None without one.
        seconds: The median.
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
        point: The point.
        seconds: Predicted.
    """

    point: ProgramPoint
    seconds: float

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.seconds / self.point.seconds - 1


def program_points(run: Run) -> list[ProgramPoint]:
    """
    List the programs' times in a run on a GPU, program by program; maybe none.

    Of paged arrays only those with units of 1 KiB: a simulation takes seconds.
    """
    if run.machine.emulated:
        return []
    points = [point for result in run.results if (point := _point(result)) is not None]
    order = list(_PROGRAMS.values())
    return sorted(points, key=lambda point: order.index(point.program))


def compared_programs(
    points: Sequence[ProgramPoint], machine: ModelledMachine
) -> tuple[ComparedProgram, ...]:
    """
    Put a machine's predictions beside programs' times, on all cores.

    A program's trace is generated once, and kept until all of its points are simulated.
    """
    found: list[ComparedProgram] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for _, group in groupby(points, key=lambda point: point.program):
            found.extend(_of_one_program(list(group), machine, pool))
    return tuple(found)


def median_error(compared: Sequence[ComparedProgram]) -> float:
    """Give the median of the errors' sizes."""
    return median(abs(one.error) for one in compared)


def _of_one_program(
    points: Sequence[ProgramPoint], machine: ModelledMachine, pool: ThreadPoolExecutor
) -> Iterator[ComparedProgram]:
    program = points[0].program
    recording = Library().recording(program.workload, SEED, dict(program.large.sizes))

    def predict(point: ProgramPoint) -> ComparedProgram:
        from isthmus.sim.running import run

        result = run(recording.replay(), setup_of(point, machine))
        # Copies are all made before the first launch.
        time_ps = result.copy_ps if point.way == _COPIES else result.total_ps
        return ComparedProgram(point=point, seconds=time_ps / _PS_PER_S)

    return pool.map(predict, points)


def setup_of(point: ProgramPoint, machine: ModelledMachine) -> Setup:
    """Give the machine and the policy that a point had."""
    policy = default_policy(_POLICY_OF[point.way].value)
    if point.way == "whole_page":
        policy = policy.model_copy(update={"merge": True})  # a page is fetched once
    elif point.unit_bytes is not None and point.way in _PAGED:
        policy = policy.model_copy(update={"unit": point.unit_bytes})
    if point.way in _PAGED:
        faults = machine.faults.model_copy(update=_NO_DRIVER)
        machine = machine.model_copy(update={"faults": faults})
    return Setup(machine=machine, policy=policy)


def _point(result: Result) -> ProgramPoint | None:
    program = _PROGRAMS.get(result.test)
    way = str(result.axes.get(WAY))
    measured = result.status == Status.PASSED and result.median is not None
    if program is None or not measured or way not in _POLICY_OF or result.median is None:
        return None
    if result.bytes != program.large.memory_bytes:  # another version's input
        return None
    unit = result.axes.get(UNIT)
    if unit is not None and int(unit) != _USUAL_UNIT_BYTES:
        return None
    return ProgramPoint(
        program=program,
        way=way,
        unit_bytes=None if unit is None else int(unit),
        seconds=result.median,
    )
