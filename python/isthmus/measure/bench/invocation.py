"""One invocation from request to run: plan, machine facts, measurements, all in one record."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from isthmus.ground.version import __version__
from isthmus.measure.bench.demand import Demand, Limits, largest_emulated_bytes
from isthmus.measure.bench.derived.catalogue import derived
from isthmus.measure.bench.plan import Plan, Point, plan_points
from isthmus.measure.bench.request import Request
from isthmus.measure.bench.runner import Observer, RunSettings, run_points
from isthmus.measure.bench.session import Session
from isthmus.measure.bench.tests.catalogue import BenchTest, Method, SmallCopyTest, WindowTest
from isthmus.measure.bench.time_limits import TimeLimits, time_limits
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.model import Identity, Options, Result, Run


class Recorder(Protocol):
    """Keeps a run while it is measured."""

    def begin(self, begun: Run) -> None:
        """The first point will be measured; `begun` is the run without results."""

    def add(self, results: Sequence[Result]) -> None:
        """A point is finished."""


class Surroundings(Protocol):
    """A session and its machine: `opening.Opened`, or a test's own."""

    @property
    def session(self) -> Session:
        """Measures."""

    def limits(self) -> Limits:
        """Compute the current limits."""

    def check_windows(self) -> None:
        """Refuse invalid settings of windows, with a UsageError."""

    def read_machine(self) -> Machine:
        """Collect the machine's facts."""


def plan_request(request: Request, surroundings: Surroundings) -> Plan:
    """Lay out the points. Nothing runs yet."""
    if any(map(_opens_windows, request.tests)):
        surroundings.check_windows()
    emulated = surroundings.session.emulated
    # Some tests need two buffers of the largest size. A quick run's are smaller.
    modelled = emulated and request.sizes is None
    num_buffers = 1 if request.quick else 2
    usual = num_buffers * largest_emulated_bytes(quick=False) if modelled else None
    demand = Demand(
        limits=surroundings.limits().at_most(request.max_bytes or usual),
        sizes=request.sizes,
        quick=request.quick,
        managed=request.managed,
        emulated=emulated,
    )
    return plan_points(request.tests, demand)


def carry_out(
    request: Request,
    plan: Plan,
    surroundings: Surroundings,
    observer: Observer,
    should_stop: Callable[[], bool] = lambda: False,
    recorder: Recorder | None = None,
) -> Run:
    """Measure a plan; `should_stop` is asked before each point, and finished points are kept."""
    started_at = datetime.now(UTC)
    machine = surroundings.read_machine()
    limits = time_limits(request, emulated=machine.emulated)
    begun = _begun(request, machine, limits, started_at)
    if recorder is not None and plan.points:
        recorder.begin(begun)
        observer = _Recording(observer, recorder)
    settings = RunSettings(
        budget_s=limits.budget_s,
        latest_s=limits.latest_s,
        keep_samples=request.keep_samples,
        num_samples=request.num_samples,
        verify=request.verify,
        should_stop=should_stop,
    )
    surroundings.session.link_errors()  # errors before the run don't count
    outcome = run_points(surroundings.session, plan.points, settings, observer)
    learned = {
        "notes": [*machine.notes, *plan.notes, *outcome.notes],
        "windows": surroundings.session.window_facts,
        "link_errors": surroundings.session.link_errors(),
    }
    ended = {"finished_at": datetime.now(UTC), "interrupted": outcome.interrupted}
    return begun.model_copy(
        update={
            "run": begun.run.model_copy(update=ended),
            "machine": machine.model_copy(update=learned),
            "results": [*outcome.results, *derived(outcome.results)],
        }
    )


@dataclass(frozen=True)
class _Recording:
    """Tells an observer, and records results before it does."""

    observer: Observer
    recorder: Recorder

    def point_started(self, index: int, total: int, point: Point) -> None:
        self.observer.point_started(index, total, point)

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        self.recorder.add(results)
        self.observer.point_finished(point, results)


def _begun(request: Request, machine: Machine, limits: TimeLimits, started_at: datetime) -> Run:
    """Give a run that has no results yet, as if it had been interrupted at once."""
    return Run(
        schema_version=1,
        run=Identity(
            id=secrets.token_hex(4),
            started_at=started_at,
            finished_at=datetime.now(UTC),
            isthmus_version=__version__,
            command=list(request.command),
            interrupted=True,
        ),
        machine=machine,
        options=_options(request, request.budget_s or limits.budget_s),
        results=[],
    )


def _opens_windows(test: BenchTest) -> bool:
    by_window = isinstance(test, SmallCopyTest) and test.method == Method.WINDOW
    return by_window or isinstance(test, WindowTest)


def _options(request: Request, budget_s: float) -> Options:
    return Options(
        device=request.device,
        tests=[test.name for test in request.tests],
        sizes=None if request.sizes is None else list(request.sizes),
        quick=request.quick,
        managed=request.managed,
        max_bytes=request.max_bytes,
        budget_s=budget_s,
        samples=request.keep_samples,
        num_samples=request.num_samples,
        verify=request.verify,
    )
