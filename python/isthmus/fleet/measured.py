"""What a folder of runs says about each GPU: its costs in every process, facts, and failures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp
from operator import attrgetter
from pathlib import Path
from statistics import median

from pydantic import ValidationError

from isthmus.errors import CODES_THAT_END_A_CONTEXT, Error, UsageError
from isthmus.files.regular import read_regular
from isthmus.fleet.places import Place, bare, family_at, place_of
from isthmus.fleet.task import Attempt, read_attempt
from isthmus.ground.spelling import counted
from isthmus.measure.compare.families import Family, Subject, family_of, subject_of
from isthmus.measure.compare.levels import Costs, costs_of
from isthmus.measure.compare.machines import facts_of
from isthmus.measure.doctor.check import Check, Diagnosis
from isthmus.measure.expected.judging import Judgement, judge, judgement_of
from isthmus.measure.expected.shortfall import broken_here
from isthmus.measure.expected.values import GpuValues, Value
from isthmus.measure.run.folder import FileKind, NodeFile, Unreadable, rare_collection, read_runs
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.model import Run
from isthmus.measure.run.record import first_fault
from isthmus.measure.run.result import Result, Status

_MAX_BYTES = 16 << 20
# exp() of more overflows.
_MOST_LOG = 700.0
# What decides, with some more, about a result's subject and family.
_KIND = attrgetter(
    *("test", "suite", "metric", "bytes", "unit", "source", "target", "direction", "clock"),
    *("blocked", "cpu_cache", "num_threads", "cpu_node", "data"),
)
Key = tuple[str, str]
"""A node, and the UUID of one of its GPUs."""


@dataclass(kw_only=True)
class Gpu:
    """
    One GPU of one node; or one of its places, which is judged as a GPU is: see `places`.

    Attributes:
        machine: The machine, by the latest run.
        facts: The same in words, by `facts_of`.
        costs: For each run, the costs of what is judged.
        errors: In which runs results of a test ended in an error, by test and message.
        fatal: Those of them after which a GPU does nothing more.
        waived: The reason for which a test was waived and gave no other result, by test.
        tried: The tests that were measured, or should have been.
        ratios: Measured over expected values, by the place of their run.
        broken: In how many runs the link was broken, by `broken_here`.
        at_once: The runs, by their place, beside which another GPU of the node was measured.
        claims: The nodes that measured a GPU of this UUID at the same time.
        place: The GPUs of a pair or a share; () for a GPU by itself.
        made_by: For each run of a place, the GPU whose run it is, and the number of that run.
    """

    node: str
    uuid: str
    machine: Machine
    facts: Mapping[str, str]
    costs: list[Mapping[Subject, Costs]] = field(default_factory=list)
    errors: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    fatal: set[tuple[str, str]] = field(default_factory=set)
    waived: dict[str, str] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    tried: set[str] = field(default_factory=set)
    ratios: dict[Value, dict[int, float]] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)
    times: list[tuple[datetime, datetime]] = field(default_factory=list)
    at_once: set[int] = field(default_factory=set)
    claims: set[str] = field(default_factory=set)
    place: Place = ()
    num_gpus: int = 1
    made_by: list[tuple["Gpu", int]] = field(default_factory=list)

    @property
    def measured_at(self) -> datetime:
        """When the latest run ended."""
        return max(ended for _, ended in self.times)

    @property
    def rates(self) -> dict[str, float]:
        """The best rate of each test in the latest run, in B/s."""
        _, latest = max(zip(self.times, self.costs, strict=True), key=lambda one: one[0])
        found: dict[str, float] = {}
        for subject, costs in latest.items():
            known = [exp(-cost) for cost in costs if cost is not None and -cost < _MOST_LOG]
            if subject.unit == "B/s" and known:
                found[subject.test] = max(found.get(subject.test, 0.0), median(known))
        return found

    @property
    def faults(self) -> set[str]:
        """What is broken about the link by most of its runs: parts of `seen_here`."""
        # A packet is sent again now and then: in two runs that is no chance.
        least = {"replays": 1.0}
        half = len(self.times) / 2
        found = {part for part, runs in self.broken.items() if runs > max(half, least.get(part, 0))}
        return {"link errors" if part == "replays" else part for part in found}

    @property
    def short(self) -> dict[Value, float]:
        """What is below its expected value, with the fraction: the median of its own runs alone."""
        found = {}
        for value, by_run in self.ratios.items():
            alone = [ratio for number, ratio in by_run.items() if number not in self.at_once]
            if alone and judgement_of(median(alone), value) == Judgement.SHORT:
                found[value] = median(alone)
        return found


@dataclass(kw_only=True)
class Fleet:
    """
    What a folder holds.

    Attributes:
        own: Values that are expected of its GPUs instead of the shipped ones.
        now: The time: no run can have ended later.
        places: Its pairs and shares, by node and place.
        attempts: What has left no run, by node.
        lost: Why runs can't be read, by their node.
        num_unjudged: How many numbers are in no family that is judged, by suite.
    """

    own: GpuValues | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    gpus: dict[Key, Gpu] = field(default_factory=dict)
    places: dict[tuple[str, Place], Gpu] = field(default_factory=dict)
    families: dict[Subject, Family] = field(default_factory=dict)
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    checks: dict[str, Sequence[Check]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)
    num_runs: int = 0
    num_unjudged: Counter[str] = field(default_factory=Counter)
    _beside: dict[str, dict[Key, Gpu]] = field(default_factory=dict)
    _known: dict[tuple[object, ...], tuple[Subject, Family] | None] = field(default_factory=dict)

    @property
    def nodes(self) -> set[str]:
        """Every node that was measured, or that somebody tried to measure or has diagnosed."""
        measured = {node for node, _ in self.gpus}
        return measured | self.attempts.keys() | self.lost.keys() | self.checks.keys()

    @property
    def not_judged(self) -> list[str]:
        """Say how many results are in no family, in a line; none if all are in one."""
        suites = sorted(self.num_unjudged)
        number = counted(self.num_unjudged.total(), "result")
        line = f"not judged: {number} of {counted(len(suites), 'suite')} ({', '.join(suites)})"
        return [f"{line}: isthmus compare judges them"] if suites else []

    def add(self, node: str | None, run: Run) -> None:
        """
        Add a run, of which itself nothing is kept; a kept run without a node is of one named by the
        GPU's UUID.
        """
        machine = run.machine
        name = node or machine.device.uuid
        key = (name, machine.device.uuid)
        gpu = self.gpus.get(key)
        if gpu is None:
            gpu = Gpu(node=name, uuid=machine.device.uuid, machine=machine, facts=facts_of(run))
            self.gpus[key] = gpu
        elif run.run.started_at >= max(begun for begun, _ in gpu.times):
            gpu.machine, gpu.facts = machine, facts_of(run)
        self._add_time(gpu, (run.run.started_at, run.run.finished_at))
        by_place: dict[Place, list[Result]] = {(): []}
        for result in run.results:
            by_place.setdefault(place_of(result), []).append(result)
        for place, results in by_place.items():
            part = run.model_copy(update={"results": results})
            self._add_results(self._at(gpu, place) if place else gpu, part)
        gpu.broken.update(() if machine.emulated else broken_here(machine))
        self.num_runs += 1

    def _at(self, gpu: Gpu, place: Place) -> Gpu:
        """Give a place of the GPU's node, to which the GPU's latest run is added."""
        new = Gpu(node=gpu.node, uuid="", machine=gpu.machine, facts=gpu.facts, place=place)
        found = self.places.setdefault((gpu.node, place), new)
        found.made_by.append((gpu, len(gpu.times) - 1))
        found.times.append(gpu.times[-1])
        return found

    def expects(self, gpu: Gpu) -> bool:
        """Whether the values of one's own are those of this GPU."""
        return self.own is not None and self.own.fits(gpu.machine.device.name)

    def _add_time(self, gpu: Gpu, time: tuple[datetime, datetime]) -> None:
        """Keep when a run was made, and beside which runs of its node, or of its UUID elsewhere."""
        # All emulated devices have one UUID.
        names = (gpu.node,) if gpu.machine.emulated else (gpu.node, gpu.uuid)
        beside = [self._beside.setdefault(name, {}) for name in names]
        for other in (beside[0] | beside[-1]).values():
            for number, (begun, ended) in enumerate(other.times):
                if other is gpu or ended <= time[0] or time[1] <= begun:
                    continue
                if other.node == gpu.node:
                    gpu.at_once.add(len(gpu.times))
                    other.at_once.add(number)
                else:
                    gpu.claims.add(other.node)
                    other.claims.add(gpu.node)
        for known in beside:
            known[gpu.node, gpu.uuid] = gpu
        gpu.times.append(time)

    def _add_results(self, gpu: Gpu, run: Run) -> None:
        costs: dict[Subject, Costs] = {}
        for result in run.results:
            gpu.tried.add(result.test)
            if result.status == Status.ERROR and result.error is not None:
                failed = (result.test, result.error.message)
                gpu.errors.setdefault(failed, set()).add(len(gpu.costs))
                if result.error.code in CODES_THAT_END_A_CONTEXT and result.error.symbol:
                    gpu.fatal.add(failed)
            elif result.status == Status.PASSED:
                # Single points of a test are waived by chance, such as for lack of memory.
                gpu.passed.add(result.test)
                gpu.waived.pop(result.test, None)
            elif not result.ran_out_of_time and result.test not in gpu.passed:
                gpu.waived[result.test] = result.reason or ""
            found = costs_of(result)
            judged = self._judged_as(result, emulated=run.machine.emulated) if found else None
            if found and judged is None:
                self.num_unjudged[result.suite] += 1
            if found and judged:
                subject, self.families[subject] = judged
                costs[subject] = found
        gpu.costs.append(costs)
        if self.expects(gpu) or not run.machine.emulated:
            for one in judge(run, self.own if self.expects(gpu) else None):
                gpu.ratios.setdefault(one.value, {})[len(gpu.times) - 1] = one.ratio

    def _judged_as(self, result: Result, *, emulated: bool) -> tuple[Subject, Family] | None:
        """Give what a result measures and its family; of each kind of result it is found once."""
        axes = tuple(result.axes.items()) if result.axes else ()
        key = (emulated, result.stopped_by is None, _KIND(result), axes)
        if key not in self._known:
            place = place_of(result)
            family = (family_at if place else family_of)(result, emulated=emulated)
            subject = subject_of(bare(result) if place else result)
            self._known[key] = None if family is None else (subject, family)
        return self._known[key]


def read_fleet(files: Sequence[NodeFile], own: GpuValues | None = None) -> Fleet:
    """Read all that a folder has about its nodes. What can't be read is named in the answer."""
    fleet = Fleet(own=own)
    with rare_collection():
        for found in read_runs(files):
            if isinstance(found, Unreadable):
                fleet.unread.append(found.why)
                if found.file.node is not None:
                    fleet.lost.setdefault(found.file.node, []).append(found.why)
            else:
                file, run = found
                fleet.add(file.node, run)
    if own and fleet.gpus and not any(map(fleet.expects, fleet.gpus.values())):
        other = ", ".join(sorted({gpu.machine.device.name for gpu in fleet.gpus.values()}))
        raise UsageError(
            f"the values are for {own.gpu}, and no GPU is one: there is {other}",
            hint="name the values of these GPUs, or leave out --expect",
        )
    for file in files:
        try:
            if file.kind == FileKind.ATTEMPT:
                attempt = read_attempt(file.path)
                fleet.attempts.setdefault(file.node or attempt.node, []).append(attempt)
            elif file.kind == FileKind.DIAGNOSIS and file.node is not None:
                text = read_regular(file.path, max_bytes=_MAX_BYTES)
                fleet.checks[file.node] = Diagnosis.model_validate_json(text).checks
        except (Error, OSError, ValidationError) as error:
            fleet.unread.append(_why(file.path, error))
    return fleet


def _why(path: Path, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"can't read {path}: {error.strerror or error}"
    if isinstance(error, ValidationError):
        return f"{path} is not a diagnosis of `isthmus doctor`: {first_fault(error)}"
    return str(error)
