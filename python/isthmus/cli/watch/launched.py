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
from contextlib import suppress
from functools import cache
from pathlib import Path

VARIABLE = "ISTHMUS_WATCH"
# The number that all ranks of a job share.
_JOBS = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID", "LSB_JOBID")
# As in cpp/preload/counters_file.cpp.
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def start() -> None:
    """Start this Python again under watch; or, if it is, let it say at its end what it cost."""
    from isthmus.watching.environment import is_preloaded

    wanted = os.environ[VARIABLE]
    if wanted in {"", "0"} or not _is_starting():
        return
    if is_preloaded():
        atexit.unregister(_at_exit)  # of two installations, one speaks
        atexit.register(_at_exit)
        return
    itself = Path("/proc/self/exe").resolve()
    if not sys.orig_argv or Path(sys.executable).resolve() != itself:
        return  # Python in another program
    environment = _environment(itself, wanted)
    if environment is not None:
        # The name of the first argument leads it to its virtual environment.
        os.execve(itself, sys.orig_argv, environment)  # noqa: S606 - this very program


@cache  # of two installations, one speaks
def _environment(program: Path, wanted: str) -> dict[str, str] | None:
    """Give that of a watched program; None, after a line that says why, if it can't be watched."""
    from isthmus.cli.stderr import say_lines
    from isthmus.errors import Error
    from isthmus.files.folder import make_folder
    from isthmus.watching.environment import watched_environment
    from isthmus.watching.executable import why_not_watched

    reason = why_not_watched(program)
    try:
        if not reason:
            folder = Path(_default_folder() if wanted == "1" else wanted).absolute()
            return watched_environment(os.environ, make_folder(folder))
    except Error as error:
        reason = str(error)
    say_lines(f"isthmus watch: {program.name} isn't watched: {reason}")
    return None


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
    """Name a folder that the ranks of a launcher share, and that two runs in a shell don't."""
    is_rank = any(os.environ.get(name) for name in _RANKS)
    number = str(os.getppid() if is_rank else os.getpid())
    job = next((os.environ[name] for name in _JOBS if os.environ.get(name)), number)
    return f"isthmus-watch-{''.join(one for one in job if one.isalnum() or one in '-_.')}"


def _at_exit() -> None:
    """Say what this process cost; an unhandled Ctrl-C still ends it by its signal."""
    _say_verdict()
    if getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1"):
        # Python notes at each text that it executes whether that ended by Ctrl-C, and at its end
        # looks at the last note: that of a module which we imported, or this one.
        with suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")  # noqa: S102 - our own text


def _say_verdict() -> None:
    """
    Say in one line what this process's copies cost; nothing if there were none. Without any call of
    CUDA the folder that was made for it goes, unless its children have counted there.
    """
    from isthmus.cli.stderr import say_lines
    from isthmus.files.folder import remove_if_empty
    from isthmus.watching.environment import FOLDER, own_counters

    try:
        process, folder = own_counters(), Path(os.environ[FOLDER])
        if process is None:
            if folder.name == f"isthmus-watch-{os.getpid()}":
                remove_if_empty(folder)
            return
        # Processes that don't call CUDA needn't wait for these.
        from isthmus.show.answers.watch import verdict_line
        from isthmus.watching.costs import costs_here
        from isthmus.watching.reporting import report_on

        costs = costs_here(emulated=process.emulated)
        report = report_on([process], costs, until_ns=time.time_ns())
        hint = f"isthmus watch --read {process.path.parent}"
        if report.verdict.seconds:
            say_lines(f"{verdict_line(report)} ({hint})")
    except Exception as error:  # noqa: BLE001 - the program has ended well, whatever fails here
        say_lines(f"isthmus watch: no verdict: {error}")
