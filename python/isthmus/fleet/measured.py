"""What a folder of runs says about each GPU: its costs in every process, facts, and failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from pathlib import Path

from pydantic import ValidationError

from isthmus.compare.families import Family, family_of
from isthmus.compare.levels import Costs, costs_of
from isthmus.compare.machines import facts_of
from isthmus.compare.subject import Subject, subject_of
from isthmus.doctor.check import Check, Diagnosis
from isthmus.errors import Error
from isthmus.expected.judging import Judgement, judge
from isthmus.files.regular import read_regular
from isthmus.fleet.attempt import Attempt, read_attempt
from isthmus.run.folder import FileKind, NodeFile, Unreadable, read_runs
from isthmus.run.garbage import rare_collection
from isthmus.run.machine import Machine
from isthmus.run.model import Run
from isthmus.run.record import first_fault
from isthmus.run.result import Result, Status

_MAX_BYTES = 16 << 20
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
    One GPU of one node.

    Attributes:
        node: The node.
        uuid: The GPU's UUID.
        machine: The machine, by the latest run.
        facts: The same in words, by `facts_of`.
        costs: For each run, the costs of what is judged.
        errors: How many results of a test ended in an error, by test and message.
        waived: The reason for which a test was waived and gave no other result, by test.
        passed: The tests that gave results.
        short: Results that are below their expected values, as fractions of them, by test.
        times: When each run began and ended.
    """

    node: str
    uuid: str
    machine: Machine
    facts: Mapping[str, str]
    costs: list[Mapping[Subject, Costs]] = field(default_factory=list)
    errors: dict[tuple[str, str], int] = field(default_factory=dict)
    waived: dict[str, str] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    short: dict[str, float] = field(default_factory=dict)
    times: list[tuple[datetime, datetime]] = field(default_factory=list)


@dataclass(kw_only=True)
class Fleet:
    """
    What a folder holds.

    Attributes:
        gpus: Every GPU that was measured, by its key.
        families: The family of each subject that is judged.
        attempts: What has left no run, by node.
        checks: The diagnosis of each node that has one.
        unread: Why files can't be read.
        lost: Why runs can't be read, by their node.
        num_runs: How many runs were read.
    """

    gpus: dict[Key, Gpu] = field(default_factory=dict)
    families: dict[Subject, Family] = field(default_factory=dict)
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    checks: dict[str, Sequence[Check]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)
    num_runs: int = 0
    _known: dict[tuple[object, ...], tuple[Subject, Family] | None] = field(default_factory=dict)

    @property
    def nodes(self) -> set[str]:
        """Every node that was measured, or that somebody tried to measure or has diagnosed."""
        measured = {node for node, _ in self.gpus}
        return measured | self.attempts.keys() | self.lost.keys() | self.checks.keys()

    def add(self, node: str | None, run: Run) -> None:
        """
        Add a run; of the run itself nothing is kept.

        Args:
            node: Its node; None for a kept run, which is of a node named by the GPU's UUID.
            run: The run.
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
        gpu.times.append((run.run.started_at, run.run.finished_at))
        self._add_results(gpu, run)
        if not machine.emulated:
            _add_expected(gpu, run)
        self.num_runs += 1

    def _add_results(self, gpu: Gpu, run: Run) -> None:
        costs: dict[Subject, Costs] = {}
        for result in run.results:
            if result.status == Status.ERROR and result.error is not None:
                failed = (result.test, result.error.message)
                gpu.errors[failed] = gpu.errors.get(failed, 0) + 1
            elif result.status == Status.PASSED:
                # Single points of a test are waived by chance, such as for lack of memory.
                gpu.passed.add(result.test)
                gpu.waived.pop(result.test, None)
            elif _is_refused(result) and result.test not in gpu.passed:
                gpu.waived[result.test] = result.reason or ""
            found = costs_of(result)
            judged = self._judged_as(result, emulated=run.machine.emulated) if found else None
            if found and judged:
                subject, self.families[subject] = judged
                costs[subject] = found
        gpu.costs.append(costs)

    def _judged_as(self, result: Result, *, emulated: bool) -> tuple[Subject, Family] | None:
        """Give what a result measures and its family; of each kind of result it is found once."""
        axes = tuple(result.axes.items()) if result.axes else ()
        key = (emulated, result.stopped_by is None, _KIND(result), axes)
        if key not in self._known:
            family = family_of(result, emulated=emulated)
            self._known[key] = None if family is None else (subject_of(result), family)
        return self._known[key]


def read_fleet(files: Sequence[NodeFile]) -> Fleet:
    """
    Read all that a folder has about its nodes. What can't be read is named in the answer.

    Args:
        files: The files, by `files_of`.
    """
    fleet = Fleet()
    with rare_collection():
        for found in read_runs(files):
            if isinstance(found, Unreadable):
                fleet.unread.append(found.why)
                if found.file.node is not None:
                    fleet.lost.setdefault(found.file.node, []).append(found.why)
            else:
                file, run = found
                fleet.add(file.node, run)
    for file in files:
        try:
            if file.kind == FileKind.ATTEMPT:
                attempt = read_attempt(file.path)
                fleet.attempts.setdefault(file.node or attempt.node, []).append(attempt)
            elif file.kind == FileKind.DIAGNOSIS and file.node is not None:
                fleet.checks[file.node] = _diagnosis(file.path).checks
        except (Error, OSError, ValidationError) as error:
            fleet.unread.append(_why(file.path, error))
    return fleet


def _diagnosis(path: Path) -> Diagnosis:
    return Diagnosis.model_validate_json(read_regular(path, max_bytes=_MAX_BYTES))


def _why(path: Path, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"can't read {path}: {error.strerror or error}"
    if isinstance(error, ValidationError):
        return f"{path} is not a diagnosis of `isthmus doctor`: {first_fault(error)}"
    return str(error)


def _is_refused(result: Result) -> bool:
    """Whether a result is waived for what its machine is, and not for lack of time."""
    return result.status == Status.WAIVED and not result.ran_out_of_time


def _add_expected(gpu: Gpu, run: Run) -> None:
    for finding in judge(run):
        test = finding.value.test
        if finding.judgement == Judgement.SHORT:
            gpu.short[test] = min(finding.ratio, gpu.short.get(test, finding.ratio))
