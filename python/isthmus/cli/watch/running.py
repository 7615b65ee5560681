"""Runs a program as if it had been started directly: its output, its signals, its exit code."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

_FORWARDED = {
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2),  # a batch system's warnings
}
# Python ignores these, and a program that it starts would, too.
_OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
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
    ignored = {one for one in _FORWARDED if signal.getsignal(one) is signal.SIG_IGN}
    waited = {*_FORWARDED, signal.SIGCHLD} - ignored
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        # No code of this process runs in the child: the driver may have started threads here.
        pid = os.posix_spawnp(
            command[0], list(command), environment, setsigmask=before, setsigdef=_OF_PYTHON
        )
        while not (done := os.waitpid(pid, os.WNOHANG))[0]:
            info = signal.sigtimedwait(waited, _LOOK_S)
            if info is None:
                each_look()
            elif info.si_signo != signal.SIGCHLD and info.si_code != _SI_KERNEL:
                with suppress(ProcessLookupError):
                    os.kill(pid, info.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.waitstatus_to_exitcode(done[1])
    return code if code >= 0 else 128 - code
