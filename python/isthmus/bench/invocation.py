"""One invocation from request to run: plan, machine facts, measurements, all in one record."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

import isthmus
from isthmus.bench.demand import Demand, Limits
from isthmus.bench.derived.catalogue import derived
from isthmus.bench.plan import Plan, plan_points
from isthmus.bench.request import Request
from isthmus.bench.runner import Observer, RunSettings, run_points
from isthmus.bench.session import Session
from isthmus.bench.tests.catalogue import BenchTest, Method, SmallCopyTest, WindowTest
from isthmus.run.machine import Machine
from isthmus.run.model import Identity, Options, Run

# With allocations and reading the machine's facts, a whole run stays below four minutes on one GPU,
# a quick one below 15 seconds.
BUDGET_REAL_S = 180.0
BUDGET_EMULATED_S = 25.0
BUDGET_QUICK_S = 8.0
# Large copies and allocations overrun the budget; no measurement begins after these times.
LATEST_S = 220.0
LATEST_QUICK_S = 12.0


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
    """
    Lay out the points. Nothing runs yet.

    Raises:
        UsageError: A size doesn't fit, or windows are requested and one of their settings is
            invalid.
    """
    if any(map(_opens_windows, request.tests)):
        surroundings.check_windows()
    demand = Demand(
        limits=surroundings.limits().at_most(request.max_bytes),
        sizes=request.sizes,
        quick=request.quick,
        managed=request.managed,
        emulated=surroundings.session.emulated,
        runs=request.runs,
    )
    return plan_points(request.tests, demand)


def budget_of(request: Request, *, emulated: bool) -> float:
    """Give the seconds that all measurements may take together."""
    if request.budget_s is not None:
        return request.budget_s
    if request.quick:
        return BUDGET_QUICK_S
    return BUDGET_EMULATED_S if emulated else BUDGET_REAL_S


def carry_out(
    request: Request,
    plan: Plan,
    surroundings: Surroundings,
    observer: Observer,
    should_stop: Callable[[], bool] = lambda: False,
) -> Run:
    """
    Measure a plan.

    Args:
        request: What to measure.
        plan: From `plan_request`.
        surroundings: Where to measure.
        observer: Is told about every point.
        should_stop: Asked before each point; True keeps finished points and ends the run.
    """
    started_at = datetime.now(UTC)
    machine = surroundings.read_machine()
    budget_s = budget_of(request, emulated=machine.emulated)
    settings = RunSettings(
        budget_s=budget_s,
        latest_s=_latest_of(request, emulated=machine.emulated),
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
    return Run(
        schema_version=1,
        run=Identity(
            id=secrets.token_hex(4),
            started_at=started_at,
            finished_at=datetime.now(UTC),
            isthmus_version=isthmus.__version__,
            command=list(request.command),
            interrupted=outcome.interrupted,
        ),
        machine=machine.model_copy(update=learned),
        options=_options(request, budget_s),
        results=[*outcome.results, *derived(outcome.results)],
    )


def _latest_of(request: Request, *, emulated: bool) -> float | None:
    """
    Give the seconds after which no further point begins.

    Only a run with default time ends there: a user who gives a time or a number of samples gets
    every point, and modelled machines are as slow as the host.
    """
    if emulated or request.budget_s is not None or request.num_samples is not None:
        return None
    return LATEST_QUICK_S if request.quick else LATEST_S


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
        runs=request.runs,
        num_samples=request.num_samples,
        verify=request.verify,
        bind=request.bind,
    )
