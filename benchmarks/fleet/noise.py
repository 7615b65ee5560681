"""
Fleets of simulated nodes: one real run, and the noise that pairs of real runs show.

The run is ../link/h100/run.json, without the results that `isthmus fleet check` doesn't judge. The
noise of single results is that of two pairs of quick runs, each of one unchanged machine:
../link/h100/compare.txt and ../link/h100_slower_host/compare.txt list every result that changed.
The noise of whole families is the drift of ../frontdoor/h200/compare.json, with heavy tails.
"""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from math import exp, log, log1p, sqrt
from pathlib import Path

from isthmus.fleet.measured import Gpu
from isthmus.ground.sizes import format_size
from isthmus.measure.compare.families import Family, Subject, family_of, subject_of
from isthmus.measure.compare.judging import STATED
from isthmus.measure.compare.levels import costs_of
from isthmus.measure.compare.machines import facts_of
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.reading import read_run

LINK = Path(__file__).parents[1] / "link"
DRIFTS = Path(__file__).parents[1] / "frontdoor" / "h200" / "compare.json"
PAIRS = ("h100", "h100_slower_host")
# What the lists call unchanged changed by less than this.
TOLERANCE = 0.05
# The sizes of a quick run.
SIZES = {1, 4, 16, 256, 1 << 10, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 16 << 20, 64 << 20, 256 << 20}
_ROW = re.compile(
    r"(?P<test>\w+)\s+(?P<metric>\w+)\s+(?P<size>\d+ \w+)\s+(?P<circumstances>\S.*?)??\s+"
    r"(?P<before>[\d.]+) (?:GB/s|us)\s+(?P<after>[\d.]+) (?:GB/s|us)\s+(?:slower|faster)\s"
)
Name = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """
    How unchanged runs differ.

    Attributes:
        base: A real run, with the judged results of a quick run's sizes.
        changes: For each pair of runs, the logarithm of the ratio of each result that changed.
        drifts: The standard deviation of a family from run to run, by its name and clock; one that
            wasn't measured has the largest of its clock.
        tails: Degrees of freedom of the family's drift: less than normal numbers have, so that a
            run in a hundred is off by four deviations.
    """

    base: Run
    changes: tuple[dict[Name, float], ...]
    drifts: dict[str, float]
    tails: int = 4

    def shifts(self, chance: random.Random, node: "Node") -> list[float]:
        """
        Draw how much slower each result of one run of a node is than the base's, as logarithms.

        Each result gets the standard deviation that one of the pairs shows for it: half of the
        squared change, because two runs make one. In half of all runs, results are disturbed each
        by itself; in the others all together, as by a neighbour on the host.
        """
        changes = chance.choice(self.changes)
        together = chance.gauss(0, 1) if chance.random() < 0.5 else None  # noqa: PLR2004
        families: dict[Family, float] = {}
        found = []
        for result, family, name in self._judged:
            if family not in families:
                families[family] = self._drift(family) * _student(chance, self.tails)
            change = changes.get(name)
            if change is None:
                change = chance.uniform(-1, 1) * log1p(TOLERANCE)
            disturbed = chance.gauss(0, 1) if together is None else together
            shift = abs(change) / sqrt(2) * disturbed
            found.append(shift + families[family] + node.offset(result))
        return found

    def run(self, chance: random.Random, node: "Node", *, number: int = 0) -> Run:
        """Draw a run of a node."""
        judged = [result for result, _, _ in self._judged]
        shifts = dict(zip(map(id, judged), self.shifts(chance, node), strict=True))
        results = [_shifted(r, shifts.get(id(r), 0.0)) for r in self.base.results]
        begun = self.base.run.started_at + timedelta(hours=number)
        identity = self.base.run.model_copy(
            update={
                "id": f"{chance.getrandbits(32):08x}",
                "started_at": begun,
                "finished_at": begun + timedelta(seconds=13),
            }
        )
        parts = {"run": identity, "machine": node.machine, "results": results}
        return self.base.model_copy(update=parts)

    def gpu(self, chance: random.Random, node: "Node", repeats: int) -> Gpu:
        """Draw what `isthmus fleet check` reads of a node's runs, without their files."""
        base = self.base.model_copy(update={"machine": node.machine})
        device = node.machine.device
        gpu = Gpu(node=node.name, uuid=device.uuid, machine=node.machine, facts=facts_of(base))
        gpu.tried = gpu.passed = {result.test for result, _, _ in self._judged}
        for number in range(repeats):
            begun = base.run.started_at + timedelta(hours=number)
            gpu.times.append((begun, begun + timedelta(seconds=13)))
            shifts = self.shifts(chance, node)
            gpu.costs.append(
                {
                    subject: (cost + shift,)
                    for (subject, cost), shift in zip(self._costs, shifts, strict=True)
                }
            )
        return gpu

    @cached_property
    def families(self) -> dict[Subject, Family]:
        """Give the family of each result."""
        return {subject_of(result): family for result, family, _ in self._judged}

    @cached_property
    def _judged(self) -> list[tuple[Result, Family, Name]]:
        rows = [(result, family_of(result), _name(result)) for result in self.base.results]
        return [(result, family, name) for result, family, name in rows if family is not None]

    @cached_property
    def _costs(self) -> list[tuple[Subject, float]]:
        costs = [(subject_of(result), costs_of(result)) for result, _, _ in self._judged]
        return [(subject, cost[0] or 0.0) for subject, cost in costs if cost is not None]

    def _drift(self, family: Family) -> float:
        return self.drifts.get(f"{family.name} ({family.clock})", self.drifts[family.clock])


@dataclass(frozen=True, kw_only=True)
class Node:
    """
    One simulated node.

    Attributes:
        name: Its name.
        machine: Its facts.
        slowed: A pattern of names of tests that are slower than on other nodes; empty for none.
        times: How many times slower these are.
        from_bytes: The smallest size of which that is so.
    """

    name: str
    machine: Machine
    slowed: str = ""
    times: float = 1.0
    from_bytes: int = 1

    def offset(self, result: Result) -> float:
        """Give how much slower a result is here, as a logarithm."""
        if not self.slowed or result.bytes < self.from_bytes:
            return 0.0
        return log(self.times) if re.search(self.slowed, result.test) else 0.0


def read_noise(*, others: int = 0) -> Noise:
    """
    Read the run and both pairs.

    Args:
        others: Fill the run up to so many results with those that aren't judged.
    """
    run = read_run(str(LINK / "h100" / "run.json"))
    in_time = [result for result in run.results if result.bytes in SIZES]
    judged = [result for result in in_time if family_of(result) and costs_of(result)]
    rest = [result for result in in_time if not family_of(result)]
    kept = [*judged, *rest[: max(0, others - len(judged))]]
    changes = tuple(_changes(LINK / pair / "compare.txt") for pair in PAIRS)
    base = run.model_copy(update={"results": kept})
    return Noise(base=base, changes=changes, drifts=_drifts())


def healthy(noise: Noise, number: int) -> list[Node]:
    """Make so many equal nodes: their GPU on the first of two NUMA nodes, measured from there."""
    base = noise.base.machine
    (first,) = base.host.numa_nodes
    second = first.model_copy(update={"node": 1, "cpus": [cpu + 16 for cpu in first.cpus]})
    host = base.host.model_copy(update={"numa_nodes": [first, second], "measured_on_node": 0})
    machine = base.model_copy(update={"host": host})
    return [_node(machine, index) for index in range(number)]


def _drifts() -> dict[str, float]:
    """Read each family's drift: the larger of that between processes and that between runs."""
    stated = {drift.processes for drift in STATED.values()}
    found = {}
    for family in json.loads(DRIFTS.read_text("utf-8"))["families"]:
        # A stated drift stands where nothing was measured.
        drift = 0.0 if family["median_drift"] in stated else family["median_drift"]
        found[family["family"]] = max(drift, family["median_change"] / sqrt(2))
    clocks = {
        clock: max(drift for name, drift in found.items() if f"({clock})" in name)
        for clock in ("device", "host")
    }
    return found | clocks


def _student(chance: random.Random, freedom: int) -> float:
    """Draw from Student's distribution, scaled to a standard deviation of 1."""
    squares = sum(chance.gauss(0, 1) ** 2 for _ in range(freedom))
    return chance.gauss(0, 1) / sqrt(squares / freedom) / sqrt(freedom / (freedom - 2))


def _node(machine: Machine, index: int) -> Node:
    uuid = f"GPU-{index:08x}-0000-4000-8000-000000000000"
    device = machine.device.model_copy(update={"uuid": uuid})
    return Node(name=f"n{index:04}", machine=machine.model_copy(update={"device": device}))


def _changes(path: Path) -> dict[Name, float]:
    found = {}
    for line in path.read_text("utf-8").splitlines():
        row = _ROW.match(line)
        if row:
            name = (row["test"], row["metric"], row["size"], row["circumstances"] or "")
            found[name] = log(float(row["after"]) / float(row["before"]))
    return found


def _name(result: Result) -> Name:
    return (result.test, result.metric, format_size(result.bytes), result.variation)


def _shifted(result: Result, shift: float) -> Result:
    if result.median is None:
        return result
    factor = exp(-shift if result.unit == "B/s" else shift)
    return result.model_copy(update={"median": result.median * factor, "repeats": None})


def matched(noise: Noise) -> Sequence[int]:
    """Count, for each pair, the results of the run that it lists as changed."""
    names = {_name(result) for result in noise.base.results}
    return [len(names & changes.keys()) for changes in noise.changes]
