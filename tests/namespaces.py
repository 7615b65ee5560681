"""Processes in namespaces of their own: what they change is gone with them. Needs root."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path


def why_none(programs: Sequence[str], packages: str) -> str:
    """
    Say why something can't run in namespaces here; "" if it can.

    Args:
        programs: What it needs beside `unshare`.
        packages: Debian's packages that have these programs.
    """
    for name in (*programs, "nsenter", "unshare"):
        if shutil.which(name) is None:
            return f"no {name} here: apt-get install {packages}"
    if os.geteuid() != 0:
        return "only root can make namespaces"
    command = ["unshare", "--net", "--mount", "--uts", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"no namespaces here: {done.stderr.strip()}" if done.returncode else ""


def started_apart(stack: ExitStack, script: str) -> int:
    """
    Start a shell in namespaces of its own, and wait until it says "ready".

    In the end, everything that runs in its network is killed.
    """
    command = ["unshare", "--net", "--mount", "--uts", "sh", "-c", script]
    process = stack.enter_context(
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
    finally:
        with suppress(OSError):  # it has ended
            held = os.open(f"/proc/{process.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, held)
            stack.callback(_kill_all, network_of(process.pid))
        stack.callback(process.kill)
    return process.pid


def network_of(process: int) -> str:
    """Name the network of a process; "" if the process has ended."""
    try:
        return str(Path(f"/proc/{process}/ns/net").readlink())
    except OSError:
        return ""


def running_in(network: str) -> dict[int, str]:
    """Give the processes in a network, each with the name of its program."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and network and network_of(int(entry.name)) == network:
            with suppress(OSError):
                found[int(entry.name)] = (entry / "comm").read_text("utf-8").strip()
    return found


def kill(process: int) -> None:
    """Kill a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _kill_all(network: str) -> None:
    """Kill all that runs in a network, which is held open: else its name could be another's."""
    # Whatever went wrong: never this machine's own processes.
    if network == network_of(os.getpid()):
        return
    # One may start another meanwhile.
    while running := running_in(network):
        for process in running:
            kill(process)
