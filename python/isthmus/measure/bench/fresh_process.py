"""
Measures a request in a process of its own, which ends afterwards.

What a process gets once (its memory's place, its threads' cores, the driver's state) stays the same
as long as it lives. Only fresh processes show how much that changes the numbers.
"""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from isthmus.errors import Error
from isthmus.measure.bench.invocation import Request
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import Observer
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result

_POLL_S = 0.1
_STOP = "stop"
_PROGRAM = (
    "import sys; from isthmus.measure.bench.fresh_process import main; main(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class _Started:
    index: int
    total: int
    point: Point


@dataclass(frozen=True)
class _Finished:
    point: Point
    results: Sequence[Result]


@dataclass(frozen=True)
class _Failed:
    message: str
    hint: str


class ProcessEnded(Error):
    """A measuring process ended without a run: it crashed, was killed, or couldn't begin."""


Measure = Callable[[Request, Observer, Callable[[], bool]], Run]


def measure_here(request: Request, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    """Open a session and measure a request in this process."""
    from isthmus.measure.bench.invocation import carry_out, plan_request
    from isthmus.measure.bench.opening import open_session

    surroundings = open_session(request.device)
    plan = plan_request(request, surroundings)
    return carry_out(request, plan, surroundings, observer, should_stop)


def measure_in_fresh_process(
    request: Request,
    observer: Observer,
    should_stop: Callable[[], bool],
    measure: Measure = measure_here,
) -> Run:
    """
    Measure a request in a new process, which imports `measure`, and ask `should_stop` several times
    a second; raises ProcessEnded if it ends without a run.
    """
    ours, theirs = Pipe()
    with theirs:
        process = _started(theirs.fileno())
    try:
        with ours:
            with contextlib.suppress(OSError):
                ours.send((replace(request, repeat=None), measure))
            return _follow(ours, observer, should_stop)
    except (EOFError, ConnectionError):
        process.wait()
        raise ProcessEnded(_end_of(process)) from None
    finally:
        process.wait()


def _started(connection: int) -> "subprocess.Popen[bytes]":
    """Start a process that gets no SIGINT before it ignores them: its imports take a while."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(  # noqa: S603 - this module, by this Python
            [sys.executable, "-P", "-c", _PROGRAM, str(connection)],
            pass_fds=[connection],
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow(ours: Connection, observer: Observer, should_stop: Callable[[], bool]) -> Run:
    told = False
    while True:
        if should_stop() and not told:
            told = True
            # If the process has ended, what it has sent says more.
            with contextlib.suppress(OSError):
                ours.send(_STOP)
        if not ours.poll(_POLL_S):
            continue
        message = ours.recv()
        match message:
            case Run():
                return message
            case _Started():
                observer.point_started(message.index, message.total, message.point)
            case _Finished():
                observer.point_finished(message.point, message.results)
            case _Failed():
                raise ProcessEnded(message.message, hint=message.hint)


def _end_of(process: "subprocess.Popen[bytes]") -> str:
    code = process.returncode
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return f"the measuring process {how} and left no results"


class _Teller:
    """An observer that tells the other process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def point_started(self, index: int, total: int, point: Point) -> None:
        self._connection.send(_Started(index, total, point))

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        self._connection.send(_Finished(point, results))


def main(descriptor: int) -> None:
    """Measure what the process at the other end of a connection asks for, and tell it."""
    # Ctrl-C reaches the whole group of processes; the first one decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    connection = Connection(descriptor)
    request, measure = connection.recv()
    try:
        # Also true once the other process has ended: then nobody waits for the rest.
        answer: Run | _Failed = measure(request, _Teller(connection), connection.poll)
    except (Error, RuntimeError, MemoryError, OSError) as error:
        answer = _Failed(str(error) or type(error).__name__, getattr(error, "hint", ""))
    try:
        connection.send(answer)
    except OSError:
        # The other process has ended.
        return
