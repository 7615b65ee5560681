"""A fitted machine as a file, with its residuals."""

from pathlib import Path

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Run
from isthmus.sim.driver.as_text import said_costs
from isthmus.sim.driver.fitting import Fit
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.machine_text import machine_text


def named_after(machine: ModelledMachine, path: Path | None, run: Run) -> ModelledMachine:
    """Name a fitted machine after its file, or after the machine that it was made from."""
    name = f"{machine.name}-fitted" if path is None else path.stem
    about = f"{machine.description}; fitted to {run.machine.device.name}, run {run.run.id[:8]}"
    return machine.model_copy(update={"name": name, "description": about})


def fitted_machine_text(machine: ModelledMachine, run: Run, fit: Fit) -> str:
    """Write a fitted machine."""
    remarks = [
        f"Fitted by `isthmus sim calibrate` to run {run.run.id}:",
        f"{run.machine.device.name}, driver {run.machine.driver.driver_version}.",
        *(_of_the_driver(machine, fit) if fit.compared else ()),
        *(_of_paged_arrays(machine, fit) if fit.programs else ()),
    ]
    return machine_text(machine, remarks)


def _of_the_driver(machine: ModelledMachine, fit: Fit) -> list[str]:
    return [
        f"The costs of faults: {said_costs(machine, 'faults', fit.costs)}.",
        f"Making room: {said_costs(machine, 'eviction', fit.costs)}.",
        f"Prefetches: {said_costs(machine, 'prefetch', fit.costs)}.",
        f"What the CPU takes back: {said_costs(machine, 'back', fit.costs)}.",
        "Predicted over measured, less 1:",
        *(
            f"  {one.point.access.value}, {format_size(one.point.size_bytes)}: {one.error:+.1%}"
            f"{' (held back)' if one.held_back else ''}"
            for one in fit.compared
        ),
    ]


def _of_paged_arrays(machine: ModelledMachine, fit: Fit) -> list[str]:
    return [f"Paged arrays: {said_costs(machine, 'paged')}, fitted to {', '.join(fit.programs)}."]
