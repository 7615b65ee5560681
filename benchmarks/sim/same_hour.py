"""
The costs of a driver from two runs of one GPU: the page fault of one, the reads of the other.

    .venv/bin/python benchmarks/sim/same_hour.py > benchmarks/sim/h200/same_hour.txt

Reads at random were measured an hour after page faults, when reads in order took up to 1.3 times as
long as before. This takes the hour out: the reads at random are compared with costs that are fitted
to the reads in order of their own hour.
"""

import sys
from pathlib import Path

from isthmus.measure.run.reading import read_run
from isthmus.show.format import Format
from isthmus.sim.driver.as_text import comparison_text
from isthmus.sim.driver.fitting import fitted
from isthmus.sim.driver.measured import Access, points_of
from isthmus.sim.driver.storing import named_after
from isthmus.sim.machine_files import load_machine

LINK = Path(__file__).parents[1] / "link/h200"


def main() -> None:
    """Print the fit."""
    before = points_of(read_run(str(LINK / "managed.json")))
    run = read_run(str(LINK / "managed_random.json"))
    faults = [point for point in before if point.access is Access.PAGE_FAULT]
    fit = fitted([*faults, *points_of(run)], load_machine("h200-pcie5"))
    machine = named_after(fit.machine, None, run)
    sys.stdout.write(comparison_text(run, machine, fit.compared, [], Format.TEXT))


if __name__ == "__main__":
    main()
