"""
Measures every node and collects what comes back, as it comes, into a folder of runs.

Whatever happens to one node is a result of that node: a file says so, and the others go on.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from isthmus.errors import UsageError
from isthmus.files.folder import make_folder
from isthmus.files.whole import whole_file, write_whole
from isthmus.fleet.asking import words_of
from isthmus.fleet.clocks import TIME_OF_DAY, difference
from isthmus.fleet.task import Answer, Answers, Attempt, Outcome, Task
from isthmus.ground.json_text import json_text
from isthmus.ground.spelling import one_line
from isthmus.measure.doctor.check import Check, Diagnosis, Status
from isthmus.measure.run.folder import FileKind, rare_collection
from isthmus.measure.run.reading import parse_run
from isthmus.measure.run.record import first_fault
from isthmus.measure.run.store import FINISHED, stem_of

GRACE_S = 30.0
"""A worker that hasn't answered so long after its timeout has lost its task."""
_DOCTOR_S = 150.0
_POLL_S = 1.0
_ODD = re.compile(r"[^\w-]", re.ASCII)
_MAX_NAME = 100
_GONE = "the worker is gone"
_NO_GPU = "this node has no GPU; --device emulated measures an emulated one"


class Nodes(Protocol):
    """Nodes on which functions of `isthmus.fleet.worker` run."""

    def names(self) -> Sequence[str]:
        """List the nodes that can be asked."""

    def ask(self, node: str, function: str, text: str) -> int:
        """Call a function on a node, and return at once; gives a number for the question."""

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""

    def is_lost(self, node: str) -> bool:
        """Whether a node can't be asked any more."""

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    What is wanted of every node.

    Attributes:
        task: What is measured; its devices are those that were named, or none for all GPUs.
    """

    task: Task
    repeats: int


@dataclass(kw_only=True)
class Collected:
    """What came back."""

    runs: int = 0
    attempts: int = 0


@dataclass(frozen=True, kw_only=True)
class _OpenQuestion:
    """A question that has no answer yet; `task` is None for a diagnosis."""

    node: str
    task: Task | None
    deadline: float
    asked_at: datetime


@dataclass(kw_only=True)
class Collector:
    """Collects from some nodes."""

    nodes: Nodes
    folder: Path
    request: Request
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _asked: dict[int, _OpenQuestion] = field(default_factory=dict)
    _waiting: dict[str, deque[Task]] = field(default_factory=dict)
    _collected: Collected = field(default_factory=Collected)
    _odd_clocks: set[str] = field(default_factory=set)
    _diagnoses: dict[str, Diagnosis] = field(default_factory=dict)

    def collect(self) -> Collected:
        """Ask every node for its diagnosis and then for its runs, until all have ended."""
        make_folder(self.folder)
        for node in self.nodes.names():
            self._waiting[node] = deque()
            self._ask(node, "diagnose", None, _DOCTOR_S)
        with rare_collection():
            while self._asked:
                for question, answer in self.nodes.answers(_POLL_S):
                    self._answered(question, answer)
                self._give_up_late()
        return self._collected

    def missing(self, node: str, reason: str) -> None:
        """Keep that a node couldn't be asked at all."""
        make_folder(self.folder)
        self._attempt(node, None, 1, Outcome.WORKER_LOST, reason)

    def _ask(self, node: str, function: str, task: Task | None, seconds: float) -> None:
        deadline = self.clock() + seconds + GRACE_S
        text = task.model_dump_json() if task else ""
        question = self.nodes.ask(node, function, text)
        self._asked[question] = _OpenQuestion(
            node=node, task=task, deadline=deadline, asked_at=self.now()
        )

    def _answered(self, question: int, answer: str | BaseException) -> None:
        asked = self._asked.pop(question, None)
        if asked is None:
            return
        if isinstance(answer, BaseException):
            self._lost(asked, one_line(words_of(answer)))
        elif asked.task is None:
            self._diagnosed(asked.node, answer)
        else:
            self._measured(asked, asked.task, answer)

    def _diagnosed(self, node: str, text: str) -> None:
        diagnosis = self._diagnosis(node, text)
        devices = self.request.task.devices or _gpus(diagnosis)
        if not devices:
            self._attempt(node, None, 1, Outcome.NO_DEVICE, _NO_GPU)
            return
        self._waiting[node].extend(self._tasks(devices))
        self._next(node)

    def _tasks(self, devices: list[str]) -> list[Task]:
        wanted = self.request.task
        groups = [[device] for device in devices]
        if wanted.at_once and len(devices) > 1:
            groups.append(devices)
        return [
            wanted.model_copy(
                update={
                    "devices": group,
                    "number": number,
                }
            )
            for number in range(1, self.request.repeats + 1)
            for group in groups
        ]

    def _diagnosis(self, node: str, text: str) -> Diagnosis | None:
        try:
            found = Diagnosis.model_validate_json(text)
        except ValidationError as cause:
            # A GPU that can't be diagnosed may be measured.
            self.say(f"{node}: no diagnosis: {one_line(first_fault(cause))}")
            return None
        self._diagnoses[node] = found
        self._write(node, found)
        return found

    def _write(self, node: str, found: Diagnosis) -> None:
        path = self._place(node, FileKind.DIAGNOSIS.value)
        # It can be had again: no crash of this machine is worth a write to disk for each node.
        with whole_file(path, durable=False, follow_link=False) as file:
            file.write(json_text(found.model_dump(mode="json")).encode())

    def _place(self, node: str, name: str) -> Path:
        return make_folder(self.folder / node, follow_link=False) / name

    def _next(self, node: str) -> None:
        if self._waiting[node]:
            task = self._waiting[node].popleft()
            self._ask(node, "measure", task, task.timeout_s)

    def _measured(self, asked: _OpenQuestion, task: Task, text: str) -> None:
        node = asked.node
        try:
            answers = Answers.model_validate_json(text).answers
        except ValidationError as cause:
            self._attempt(node, None, task.number, Outcome.GARBAGE, one_line(first_fault(cause)))
            answers = []
        for answer in answers:
            self._keep(asked, task, answer)
        self._next(node)

    def _keep(self, asked: _OpenQuestion, task: Task, answer: Answer) -> None:
        node = asked.node
        if answer.outcome is not None:
            found = (answer.outcome, answer.reason, answer.exit_code)
            self._attempt(node, answer.device, task.number, *found)
            return
        try:
            run = parse_run(answer.run.encode(), "what came back")
        except UsageError as error:
            reason = one_line(str(error))
            self._attempt(node, answer.device, task.number, Outcome.GARBAGE, reason)
            return
        # As `isthmus bench` has printed it, which is the layout of a run's file.
        # Its id comes from elsewhere, and mustn't lead to another folder.
        name = _ODD.sub("_", stem_of(run))[:_MAX_NAME]
        path = self._place(node, f"{name}{FINISHED}")
        write_whole(path, answer.run, follow_link=False)
        self._collected.runs += 1
        self.say(f"{node}, {_which(answer.device)}: run {task.number} of {self.request.repeats}")
        self._compare_clocks(node, difference(run, asked.asked_at, self.now()))

    def _compare_clocks(self, node: str, ahead: timedelta) -> None:
        """Say once of a node that its clock differs: its runs have its own times."""
        if ahead and node not in self._odd_clocks:
            self._odd_clocks.add(node)
            which = "ahead of" if ahead > timedelta() else "behind"
            seconds = abs(ahead).total_seconds()
            said = f"its clock is {seconds:.0f} s or more {which} this machine's"
            self.say(f"{node}: {said}")
            known = self._diagnoses.get(node, Diagnosis(emulated=False, checks=[]))
            check = Check(name=TIME_OF_DAY, status=Status.NOTE, finding=said)
            self._write(node, known.model_copy(update={"checks": [*known.checks, check]}))

    def _give_up_late(self) -> None:
        now = self.clock()
        for question, asked in list(self._asked.items()):
            if now > asked.deadline:
                self._give_up(question, asked, Outcome.TIMED_OUT, "the worker gave no answer")
            elif self.nodes.is_lost(asked.node):
                self._give_up(question, asked, Outcome.WORKER_LOST, _GONE)

    def _give_up(self, question: int, asked: _OpenQuestion, outcome: Outcome, reason: str) -> None:
        del self._asked[question]
        self.nodes.forget(question)
        self._end(asked, outcome, reason)

    def _lost(self, asked: _OpenQuestion, reason: str) -> None:
        # What is said of a worker that is gone says less.
        if self.nodes.is_lost(asked.node):
            self._end(asked, Outcome.WORKER_LOST, _GONE)
        else:
            self._end(asked, Outcome.FAILED, reason)

    def _end(self, asked: _OpenQuestion, outcome: Outcome, reason: str) -> None:
        """Keep what became of a question, and ask the node no more."""
        task = asked.task
        for device in task.devices if task else [None]:
            self._attempt(asked.node, device, task.number if task else 1, outcome, reason)
        self._waiting[asked.node].clear()

    def _attempt(
        self,
        node: str,
        device: str | None,
        number: int,
        outcome: Outcome,
        reason: str,
        exit_code: int | None = None,
    ) -> None:
        attempt = Attempt(
            node=node,
            device=device,
            number=number,
            outcome=outcome,
            reason=reason,
            exit_code=exit_code,
            ended_at=datetime.now(UTC),
        )
        self._collected.attempts += 1
        name = f"{attempt.ended_at:%Y%m%dT%H%M%SZ}-{self._collected.attempts}"
        path = self._place(node, f"{name}.{FileKind.ATTEMPT.value}")
        write_whole(path, json_text(attempt.model_dump(mode="json")), follow_link=False)
        which = f", {_which(device)}" if device else ""
        self.say(f"{node}{which}: {outcome}: {reason}")


def _which(device: str) -> str:
    return f"GPU {device}" if device.isdecimal() else device


def _gpus(diagnosis: Diagnosis | None) -> list[str]:
    """Give the numbers of the real GPUs that a diagnosis found."""
    if diagnosis is None or diagnosis.emulated:
        return []
    ordinals = [check.facts.get("ordinal") for check in diagnosis.checks]
    return [str(ordinal) for ordinal in ordinals if isinstance(ordinal, int)]
