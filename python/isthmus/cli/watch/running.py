"""Runs a program as if it had been started directly: its output, its signals, its exit code."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence

_FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# siginfo's code of a signal that the kernel sends: a terminal's, which the program has got itself
# (asm-generic/siginfo.h).
_SI_KERNEL = 0x80
# Another thread may take the news of the program's end.
_LOOK_S = 0.2


def run_program(
    command: Sequence[str], environment: Mapping[str, str], each_look: Callable[[], None]
) -> int:
    """
    Run a program until it ends, and give its exit code: 128 and its number after a signal. Signals
    for this process are the program's. Raises OSError if it can't be executed.
    """
    waited = {*_FORWARDED, signal.SIGCHLD}
    ignored = {one for one in _FORWARDED if signal.getsignal(one) is signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited - ignored)
    try:
        child = subprocess.Popen(  # noqa: S603 - the user named it
            list(command),
            env=dict(environment),
            close_fds=False,
            # As this process was started: neither blocked nor caught.
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),  # noqa: PLW1509
        )
        while child.poll() is None:
            info = signal.sigtimedwait(waited - ignored, _LOOK_S)
            if info is None:
                each_look()
            elif info.si_signo != signal.SIGCHLD and info.si_code != _SI_KERNEL:
                _send(child.pid, info.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
