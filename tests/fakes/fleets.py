"""Fleets whose runs a test chooses: every result of the fakes, with costs drawn at random."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from fakes import runs
from fakes.repeated_runs import Noise, repeated
from isthmus.fleet.measured import Fleet
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.store import run_text

QUIET = Noise(processes=0.005)


@dataclass(frozen=True, kw_only=True)
class Made:
    """
    A node that a test has made.

    Attributes:
        name: Its name.
        slower: How many times slower all its results are.
        changed: Facts of its machine that differ, by part.
        runs: How many runs it left.
        slow_runs: How many of them are slower; all by default.
        emulated: Whether its GPU is emulated.
        apart: The time from one run to the next.
    """

    name: str
    slower: float = 1.0
    changed: tuple[tuple[str, tuple[tuple[str, object], ...]], ...] = ()
    runs: int = 2
    slow_runs: int = 99
    emulated: bool = False
    apart: timedelta = timedelta(hours=1)

    def left(self, chance: random.Random, noise: Noise = QUIET) -> list[Run]:
        """Draw its runs. No result is an error, as those of the fakes are."""
        drawn = []
        for number in range(self.runs):
            slower = self.slower if number < self.slow_runs else 1.0
            run = repeated(chance, noise, processes=1, slower=slower)
            machine = runs.machine(emulated=self.emulated)
            link = machine.link.model_copy(update={} if self.emulated else {"generation": 5})
            machine = machine.model_copy(update={"link": link})
            for part, facts in self.changed:
                own = getattr(machine, part).model_copy(update=dict(facts))
                machine = machine.model_copy(update={part: own})
            device = machine.device.model_copy(update={"uuid": f"GPU-{self.name}"})
            begun = run.run.started_at + number * self.apart
            times = {"started_at": begun, "finished_at": begun + timedelta(minutes=1)}
            parts = {
                "machine": machine.model_copy(update={"device": device}),
                "run": run.run.model_copy(update=times),
                "results": [_full_rate(r) for r in run.results if r.status != Status.ERROR],
            }
            drawn.append(run.model_copy(update=parts))
        return drawn


def _full_rate(result: Result) -> Result:
    """Give large copies far more than is expected of the link: the fakes' is a fiftieth of it."""
    if result.test != "host_to_device_memcpy_ce" or result.bytes < 64 << 20 or not result.repeats:
        return result
    repeats = [None if rate is None else 250 * rate for rate in result.repeats]
    return result.model_copy(update={"median": 250 * (result.median or 0.0), "repeats": repeats})


def equal_nodes(number: int) -> list[Made]:
    """Make so many nodes that differ in nothing."""
    return [Made(name=f"n{index:02}") for index in range(number)]


def fleet_of(nodes: Sequence[Made], noise: Noise = QUIET, seed: int = 16) -> Fleet:
    """Measure some nodes, without files."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    fleet = Fleet()
    for node in nodes:
        for run in node.left(chance, noise):
            fleet.add(node.name, run)
    return fleet


def write_fleet(folder: Path, nodes: Sequence[Made], seed: int = 16) -> Path:
    """Write the runs of some nodes into a folder."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    for node in nodes:
        (folder / node.name).mkdir(parents=True)
        for number, run in enumerate(node.left(chance)):
            (folder / node.name / f"{number}.json").write_text(run_text(run), "utf-8")
    return folder
