"""
What runs on a node, in a worker: it starts `isthmus` as a process and gives back its words.

The worker never opens the GPU: a measurement that crashes ends its own process, and no context of
the worker takes memory. Each function takes and gives text.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from isthmus.fleet.task import Answer, Answers, Introduction, Outcome, Task
from isthmus.ground.spelling import MOST_SAID, shortened
from isthmus.ground.version import __version__

_DOCTOR_TIMEOUT_S = 120.0
_NO_DEVICE = 4
# The program, in a process that Ctrl-C ends although the worker above it ignores that. The kernel
# kills it when the worker's thread that waits for it ends, which it does only with the worker (1:
# PR_SET_PDEATHSIG of prctl.h). A worker that has ended before is no parent any more.
_PROGRAM = """
import ctypes, os, runpy, signal, sys
if ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0) != 0:
    sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
if os.getppid() != int(sys.argv.pop(1)):
    sys.exit("the worker has ended")
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("isthmus", run_name="__main__")
"""
# Workers of Dask set these for their own sake. They would change what allocations and threads cost.
_OF_DASK = ("MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def introduce(text: str) -> str:
    """Say which host this is, and which version measures: an `Introduction`, as JSON."""
    del text
    found = Introduction(hostname=socket.gethostname(), isthmus_version=__version__)
    return found.model_dump_json()


def diagnose(text: str) -> str:
    """Run `isthmus doctor` on this node, and give its JSON; "" if it failed."""
    del text
    done = _run(["doctor", "--format", "json"], _DOCTOR_TIMEOUT_S)
    return done.stdout if isinstance(done, subprocess.CompletedProcess) else ""


def measure(text: str) -> str:
    """
    Run `isthmus bench` on this node, once for each device of a `Task` as JSON, and give its
    `Answers` as JSON; raises ValidationError, and nothing was run, if it is no task.
    """
    task = Task.model_validate_json(text)
    answers: dict[str, Answer] = {}

    def one(device: str) -> None:
        answers[device] = _measured(device, task)

    if task.at_once:
        threads = [threading.Thread(target=one, args=(device,)) for device in task.devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        for device in task.devices:
            one(device)
    return Answers(answers=[answers[device] for device in task.devices]).model_dump_json()


def arguments_of(task: Task, device: str) -> list[str]:
    """Give the arguments of `isthmus` that carry out a task."""
    tests = [argument for test in task.tests for argument in ("-t", test)]
    return [
        "bench",
        *task.suites,
        *tests,
        *(["--quick"] if task.quick else []),
        *(["--sizes", task.sizes] if task.sizes else []),
        *(["--budget", f"{task.budget_s:g}"] if task.budget_s else []),
        *("--device", device, "--no-save", "--format", "json"),
    ]


def _measured(device: str, task: Task) -> Answer:
    done = _run(arguments_of(task, device), task.timeout_s)
    if isinstance(done, str):
        return Answer(device=device, outcome=Outcome.TIMED_OUT, reason=done)
    if done.stdout.strip():
        # Also after an error of some tests: the run has the others.
        return Answer(device=device, outcome=None, run=done.stdout, exit_code=done.returncode)
    outcome = Outcome.NO_DEVICE if done.returncode == _NO_DEVICE else Outcome.FAILED
    reason = _reason(done.stderr) or f"isthmus bench ended with exit code {done.returncode}"
    return Answer(device=device, outcome=outcome, reason=reason, exit_code=done.returncode)


def _run(arguments: Sequence[str], timeout_s: float) -> "subprocess.CompletedProcess[str] | str":
    """Run the program; a text instead of its result says that it took too long."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_DASK}
    try:
        return subprocess.run(  # noqa: S603 - this program, with arguments that `Task` allows
            [sys.executable, "-P", "-c", _PROGRAM, str(os.getpid()), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            env=environment,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        said = cause.stderr.decode(errors="replace") if isinstance(cause.stderr, bytes) else ""
        last = _last_line(said)
        return f"no end within {timeout_s:g} s" + (f"; last said: {last}" if last else "")


def _reason(stderr: str) -> str:
    """Give the error's own line, or the last one."""
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    line = errors[-1].removeprefix("error: ") if errors else _last_line(stderr)
    return shortened(line, most=MOST_SAID)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shortened(lines[-1], most=MOST_SAID) if lines else ""
