"""One invocation from request to run: plan, machine facts, measurements, all in one record."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

import isthmus
from isthmus.bench.crossover import crossovers
from isthmus.bench.plan import CopyLimits, Plan, plan_points
from isthmus.bench.request import Request
from isthmus.bench.runner import Observer, RunSettings, run_points
from isthmus.bench.session import Session
from isthmus.bench.tests import WindowTest
from isthmus.run.machine import Machine
from isthmus.run.model import Identity, Options, Run

BUDGET_REAL_S = 60.0
BUDGET_EMULATED_S = 25.0


class Ground(Protocol):
    """A session and what surrounds it: `opening.Opened`, or a test's own."""

    @property
    def session(self) -> Session:
        """Measures."""

    def limits(self) -> CopyLimits:
        """Tell how large a copy may be now."""

    def check_windows(self) -> None:
        """Refuse settings of windows that can't be, with a UsageError."""

    def read_machine(self) -> Machine:
        """Collect the machine's facts."""


def plan_request(request: Request, ground: Ground) -> Plan:
    """
    Lay out the points. Nothing runs yet.

    Raises:
        UsageError: A size doesn't fit, or windows are wanted and a setting of theirs can't be.
    """
    if any(isinstance(test, WindowTest) for test in request.tests):
        ground.check_windows()
    return plan_points(request.tests, request.sizes, ground.limits())


def carry_out(
    request: Request,
    plan: Plan,
    ground: Ground,
    observer: Observer,
    should_stop: Callable[[], bool] = lambda: False,
) -> Run:
    """
    Measure a plan.

    Args:
        request: What was asked for.
        plan: From `plan_request`.
        ground: Where.
        observer: Is told about every point.
        should_stop: Asked before each point; True keeps what is finished and ends the run.
    """
    started_at = datetime.now(UTC)
    machine = ground.read_machine()
    budget_s = request.budget_s or (BUDGET_EMULATED_S if machine.emulated else BUDGET_REAL_S)
    settings = RunSettings(
        budget_s=budget_s, keep_samples=request.keep_samples, should_stop=should_stop
    )
    outcome = run_points(ground.session, plan.points, settings, observer)
    notes = [*machine.notes, *plan.notes, *outcome.notes]
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
        machine=machine.model_copy(update={"notes": notes, "windows": ground.session.window_facts}),
        options=_options(request, budget_s),
        results=[*outcome.results, *crossovers(outcome.results)],
    )


def _options(request: Request, budget_s: float) -> Options:
    return Options(
        device=request.device,
        tests=[test.name for test in request.tests],
        sizes=None if request.sizes is None else list(request.sizes),
        budget_s=budget_s,
        samples=request.keep_samples,
    )
