"""
Fits what a kernel of a paged array takes to fetch a unit, besides what the link takes.

There is no driver in it: lanes look at bits, claim the unit, read it over the link, store it and
mark it as valid. The simulator has one time for all of that, `faults.fetch`. It is fitted to
programs of `isthmus bench paging` whose units of 1 KiB are fetched one by one, so that predicted
over measured is 1 in the geometric mean. All other ways, and the other programs, only test it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log

from isthmus.errors import Error, UsageError
from isthmus.sim.driver.programs import (
    RESIDENT,
    UNITS,
    ProgramPoint,
    Simulation,
    setup_of,
    simulating,
)
from isthmus.sim.machine import ModelledMachine

_PS_PER_US = 1_000_000
_MOST_US = 64
# To a quarter of a microsecond: programs differ by several.
_ROUNDS = 8
# Simulations of these take seconds, and they fetch. Every second one is fitted to.
_QUICK = ("aes", "cp", "lps", "ray", "sto", "wp")
_CHOSEN = frozenset(_QUICK[::2])


@dataclass(frozen=True)
class _Fitted:
    """A program that is fitted to: its simulation, with its clock, and its time by units."""

    simulation: Simulation
    machine: ModelledMachine
    units: ProgramPoint

    def log_ratio(self, fetch_us: float) -> float:
        """Give the logarithm of predicted over measured."""
        machine = with_fetch(self.machine, fetch_us)
        setup = setup_of(self.units, machine)
        found = self.simulation.compared(self.units, setup, self.simulation.run(setup))
        return log(found.seconds / self.units.seconds)


def with_fetch(machine: ModelledMachine, fetch_us: float) -> ModelledMachine:
    """Give a machine whose kernels take so long to fetch a unit."""
    faults = machine.faults.model_copy(update={"fetch": round(fetch_us * _PS_PER_US)})
    return machine.model_copy(update={"faults": faults})


def fitting_programs(points: Sequence[ProgramPoint]) -> list[list[ProgramPoint]]:
    """Choose the programs that are fitted to, each by its times with resident data and by units."""
    pairs = []
    for program, group in groupby(points, key=lambda point: point.program):
        by_way = {point.way: point for point in group}
        if program.name in _CHOSEN and {RESIDENT, UNITS} <= by_way.keys():
            pairs.append([by_way[RESIDENT], by_way[UNITS]])
    return pairs


def fitted_fetch(
    chosen: Sequence[Sequence[ProgramPoint]],
    machine: ModelledMachine,
    tell: Callable[[int, ProgramPoint], None],
) -> ModelledMachine:
    """
    Find `faults.fetch`, on all cores; `tell` is called with the number of finished steps, of
    `num_steps`, and what is simulated next. After Ctrl-C, simulations that are under way end within
    a moment.
    """
    if not chosen:
        raise UsageError(
            f"this run has none of the programs that are fitted to: {', '.join(sorted(_CHOSEN))}",
            hint="`isthmus bench paging` measures them, on a GPU",
        )
    with simulating() as (pool, stopped):
        programs = []
        for number, (resident, units) in enumerate(chosen):
            tell(number, resident)
            simulation = Simulation.of(units.program, stopped)
            programs.append(_Fitted(simulation, simulation.fit(resident, machine)[1], units))

        def is_too_long(fetch_us: float) -> bool:
            ratios = [pool.submit(program.log_ratio, fetch_us) for program in programs]
            return sum(ratio.result() for ratio in ratios) >= 0

        low, high = 0.0, float(_MOST_US)
        if is_too_long(low):
            return with_fetch(machine, low)
        for number in range(_ROUNDS):
            tell(len(chosen) + number, chosen[0][1])
            middle = (low + high) / 2
            low, high = (low, middle) if is_too_long(middle) else (middle, high)
    if high == _MOST_US:
        raise Error(
            f"the fit doesn't settle: programs are predicted too quick with {_MOST_US} us a unit",
            hint="measure again with `isthmus bench paging` on an idle machine",
        )
    return with_fetch(machine, high)


def num_steps(chosen: Sequence[Sequence[ProgramPoint]]) -> int:
    """Count the steps of a fit."""
    return len(chosen) + _ROUNDS
