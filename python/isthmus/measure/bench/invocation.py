"""One invocation from request to run: plan, machine facts, measurements, all in one record."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from isthmus.ground.version import __version__
from isthmus.measure.bench.demand import Demand, Limits, largest_emulated_bytes
from isthmus.measure.bench.derived.catalogue import derived
from isthmus.measure.bench.plan import Plan, Point, plan_points
from isthmus.measure.bench.runner import Observer, RunSettings, run_points
from isthmus.measure.bench.session import Session
from isthmus.measure.bench.tests.catalogue import BenchTest, Method, SmallCopyTest, WindowTest
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.model import Identity, Options, Result, Run


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    What to measure, and how.

    Attributes:
        tests: What to run, in order.
        sizes: Sizes of the bandwidth tests in bytes, ascending; None for the default sweep.
        max_bytes: The most memory a measurement may allocate on each side; None: what is free.
        repeat: Measure everything in so many fresh processes; None: once, in this process.
        budget_s: Seconds for the measurements, of each process; None for the default.
        num_samples: The number of samples of each metric; None for each test's rule.
        spent_s: Seconds of the promised time that the start of the program has taken.
    """

    tests: Sequence[BenchTest]
    sizes: Sequence[int] | None = None
    device: str | None = None
    quick: bool = False
    managed: bool = False
    max_bytes: int | None = None
    repeat: int | None = None
    budget_s: float | None = None
    keep_samples: bool = False
    num_samples: int | None = None
    verify: bool = True
    command: Sequence[str] = ()
    spent_s: float = 0.0


# The end of a time that the user gives is a reserve for the last point and for what follows it:
# this part, at least so many seconds (an H200 needed 1.3: benchmarks/frontdoor), and at most half
# of the time. Points share a part of what is before it.
_RESERVE, _MIN_RESERVE_S, _PLANNED = 0.15, 1.5, 0.82


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """
    The time of a run, in seconds.

    Attributes:
        budget_s: What all points share. Allocations and large copies overrun it.
        latest_s: So long after the first point began, no further one begins. None sets no limit:
            the user gave a number of samples.
        promised_s: From the start of the program, when it has ended. None if nothing is promised.
    """

    budget_s: float
    latest_s: float | None
    promised_s: float | None

    def left_s(self, spent_s: float) -> float | None:
        """Give the promised time that is left when so much is spent; None without a promise."""
        return None if self.promised_s is None else max(0.0, self.promised_s - spent_s)

    @property
    def words(self) -> str:
        """Say how long the run will take."""
        if self.promised_s is None:
            return "with the given number of samples, however long it takes"
        return f"at most {self.promised_s:g} s"


REAL = TimeLimits(budget_s=180.0, latest_s=220.0, promised_s=240.0)
EMULATED = TimeLimits(budget_s=12.0, latest_s=26.0, promised_s=30.0)
QUICK = TimeLimits(budget_s=8.0, latest_s=12.0, promised_s=15.0)
# More samples of a modelled link show nothing new.
_QUICK_EMULATED = replace(QUICK, budget_s=4.0)


def time_limits(request: Request, *, emulated: bool) -> TimeLimits:
    """Choose the time of a run: the user's, or the default of its device."""
    usual = _usual(quick=request.quick, emulated=emulated)
    if request.num_samples is not None:
        return TimeLimits(budget_s=usual.budget_s, latest_s=None, promised_s=None)
    if request.budget_s is not None:
        usual = _limits_within(request.budget_s)
    return _without(usual, request.spent_s)


def _usual(*, quick: bool, emulated: bool) -> TimeLimits:
    if quick:
        return _QUICK_EMULATED if emulated else QUICK
    return EMULATED if emulated else REAL


def _limits_within(seconds: float) -> TimeLimits:
    reserve_s = min(max(_RESERVE * seconds, _MIN_RESERVE_S), 0.5 * seconds)
    latest_s = seconds - reserve_s
    return TimeLimits(budget_s=_PLANNED * latest_s, latest_s=latest_s, promised_s=seconds)


def _without(limits: TimeLimits, spent_s: float) -> TimeLimits:
    """Take the start of the program off the time of the measurements, but at most half of it."""
    if limits.latest_s is None:
        return limits
    spent = min(spent_s, 0.5 * limits.latest_s)
    part = 1 - spent / limits.latest_s
    return replace(limits, budget_s=part * limits.budget_s, latest_s=limits.latest_s - spent)


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
