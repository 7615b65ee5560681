"""Measures a request from the command line: with progress, Ctrl-C, and the run kept."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from isthmus.cli import STARTED_S
from isthmus.ground.spelling import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus.cli.bench.keeping import Keeping
    from isthmus.measure.bench.invocation import Request
    from isthmus.measure.bench.opening import Opened
    from isthmus.measure.run.model import Run


def measure(
    request: "Request",
    keeping: "Keeping",
    prepare: "Callable[[Request, Opened], Request]",
    *,
    started_s: float = STARTED_S,
) -> "tuple[Run, bool]":
    """
    Measure, and say whether Ctrl-C was to stop it; the caller ends `keeping`, and `prepare`
    completes the request, or refuses it, when the device is open. `started_s` is by
    `time.monotonic`.
    """
    from isthmus.cli.bench.progress import progress
    from isthmus.cli.interrupt import stop_on_interrupt
    from isthmus.cli.stderr import say
    from isthmus.measure.bench.invocation import carry_out, plan_request, time_limits
    from isthmus.measure.bench.opening import open_session
    from isthmus.measure.bench.repeats import carry_out_repeatedly

    with stop_on_interrupt(say) as should_stop:
        surroundings = open_session(request.device)
        request = prepare(request, surroundings)
        for line in surroundings.announcements():
            say(line)
        keeping.warn_early()
        plan = plan_request(request, surroundings)
        # What follows, such as reading the link under load, has its own reserve.
        request = replace(request, spent_s=time.monotonic() - started_s)
        for note in plan.notes:
            say(f"note: {note}")
        limits = time_limits(request, emulated=surroundings.session.emulated)
        points = f"measuring {counted(len(plan.points), 'point')}"
        left_s = limits.left_s(request.spent_s)
        if request.repeat is not None:
            # The processes have the device to themselves.
            del surroundings
            say(f"{points} in {request.repeat} fresh processes, each {limits.words}")
            whole_s = None if left_s is None else request.repeat * left_s
            with progress(plan.points, whole_s, request.repeat) as observer:
                run = carry_out_repeatedly(
                    request, observer, should_stop, recorder=keeping, warn=say
                )
            return run, should_stop()
        say(f"{points}: {limits.words}")
        with progress(plan.points, left_s) as observer:
            run = carry_out(request, plan, surroundings, observer, should_stop, keeping)
        return run, should_stop()
