"""
ISTHMUS_WATCH in the environment: programs that another launcher starts (torchrun, srun, vllm).

isthmus_watch.pth calls `start` whenever a Python starts that has the variable. That one starts
itself again with the library preloaded; its children inherit that.
"""

import atexit
import os
import signal
import sys
import time
from pathlib import Path

VARIABLE = "ISTHMUS_WATCH"
# The number that all ranks of a job share.
_JOBS = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID")


def start() -> None:
    """Start this Python again under watch; or, if it is, let it say at its end what it cost."""
    from isthmus.watching.environment import is_preloaded, watched_environment
    from isthmus.watching.executable import why_not_watched

    wanted = os.environ[VARIABLE]
    if wanted in {"", "0"} or not _is_starting():
        return
    if is_preloaded():
        atexit.unregister(_say_verdict)  # of two installations, one speaks
        atexit.register(_say_verdict)
        return
    itself = Path("/proc/self/exe").resolve()
    if not sys.orig_argv or Path(sys.executable).resolve() != itself or why_not_watched(itself):
        return  # Python in another program, or one that can't be watched
    folder = Path(_default_folder() if wanted == "1" else wanted).absolute()
    environment = watched_environment(os.environ, _made(folder))
    # The name of the first argument leads it to its virtual environment.
    os.execve(itself, sys.orig_argv, environment)  # noqa: S606 - this very program


def _is_starting() -> bool:
    """
    Whether Python itself reads its .pth files: a program that does, or that makes a subinterpreter,
    must not begin anew.
    """
    frame = sys._getframe()  # noqa: SLF001 - nothing else says who has called
    while frame.f_back is not None:
        frame = frame.f_back
    if frame.f_globals.get("__name__") not in {"_frozen_importlib", "importlib._bootstrap"}:
        return False
    try:
        signal.set_wakeup_fd(-1)  # as it is at the start; refused in subinterpreters
    except ValueError:
        return False
    return True


def _default_folder() -> str:
    job = next((os.environ[name] for name in _JOBS if os.environ.get(name)), str(os.getppid()))
    return f"isthmus-watch-{''.join(one for one in job if one.isalnum() or one in '-_.')}"


def _made(folder: Path) -> Path:
    from isthmus.files.folder import make_folder

    return make_folder(folder)


def _say_verdict() -> None:
    """Say in one line what this process's copies cost; nothing if it made no call of CUDA."""
    from isthmus.cli.stderr import say_lines
    from isthmus.watching.environment import own_counters

    try:
        process = own_counters()
        if process is None:
            return
        # Processes that don't call CUDA needn't wait for these.
        from isthmus.show.answers.watch import verdict_line
        from isthmus.watching.costs import costs_here
        from isthmus.watching.reporting import report_on

        report = report_on(
            [process], costs_here(emulated=process.emulated), until_ns=time.time_ns()
        )
        hint = f"isthmus watch --read {process.path.parent}"
        say_lines(f"{verdict_line(report)} ({hint})")
    except Exception as error:  # noqa: BLE001 - the program has ended well, whatever fails here
        say_lines(f"isthmus watch: no verdict: {error}")
