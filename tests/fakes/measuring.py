"""What a fresh process does in place of measuring; it imports these by their names."""

import os
import signal
import time
from collections.abc import Callable

from fakes import runs
from fakes.session import FakeSession, Watcher
from isthmus.errors import UsageError
from isthmus.measure.bench.fresh_process import measure_in_fresh_process
from isthmus.measure.bench.invocation import Request
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import Observer, RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import TESTS
from isthmus.measure.run.model import Run

_LONGEST_S = 30


def measure_points(request: Request, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    """Measure the requested tests at 4 KiB; the device is a fake."""
    assert request.repeat is None
    points = [Point(test, 4096) for test in request.tests]
    settings = RunSettings(budget_s=1.0, should_stop=should_stop)
    outcome = run_points(FakeSession(), points, settings, observer)
    run = runs.run(interrupted=outcome.interrupted)
    return run.model_copy(update={"results": outcome.results})


def measure_until_told(
    request: Request, observer: Observer, should_stop: Callable[[], bool]
) -> Run:
    """Wait until it is to stop."""
    end = time.monotonic() + _LONGEST_S
    while not should_stop() and time.monotonic() < end:
        time.sleep(0.01)
    return measure_points(request, observer, should_stop)


def measure_unblocked(request: Request, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    """Measure, and fail if SIGINT is blocked: what this process starts would inherit that."""
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return measure_points(request, observer, should_stop)


def measure_interrupted() -> str:
    """Measure two tests in a fresh process that gets SIGINT before it begins."""
    request = Request(tests=TESTS[:2], repeat=3, command=(InterruptedWhenRead("isthmus"),))
    run = measure_in_fresh_process(request, Watcher(), lambda: False, measure_unblocked)
    return f"{len({result.test for result in run.results})} tests"


def crash_when_told(request: Request, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    """Wait until it is to stop, and end as a process that the system kills."""
    end = time.monotonic() + _LONGEST_S
    while not should_stop() and time.monotonic() < end:
        time.sleep(0.01)
    return crash(request, observer, should_stop)


class InterruptedWhenRead(str):
    """A word of a request: the process that reads it gets SIGINT before it measures."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        return _interrupted, (str(self),)


def _interrupted(word: str) -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return word


def refuse(request: Request, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    """Fail as an invalid request does."""
    del observer, should_stop
    raise UsageError(f"no {len(request.tests)} tests", hint="fewer")


def crash(request: Request, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    """End as a process that the system kills."""
    del request, observer, should_stop
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")
