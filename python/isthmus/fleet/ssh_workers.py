"""
Hosts that are reached by SSH: a worker of Dask on each, and nothing open to the network.

The scheduler listens on this machine's loopback, each worker on its own node's. `ssh` forwards a
port in both directions, so that all traffic is in its encrypted connection. The user's own
~/.ssh/config decides how hosts are reached; nothing asks for a password.
"""

import shlex
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.fleet.dask_clients import UNSEEN, check_dask, loopback_cluster
from isthmus.fleet.introductions import introduced
from isthmus.suggest import one_line

if TYPE_CHECKING:
    from distributed import Client

_JOIN_S = 60.0
_POLL_S = 0.2
_END_S = 5.0
_MAX_REASON = 400
_OPTIONS = (
    *("-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"),
    # A connection that others share would outlive this command, with the ports.
    *("-o", "ControlPath=none"),
    # A host that has gone silent is lost, and what it had is done elsewhere.
    *("-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"),
)


@dataclass(frozen=True, kw_only=True)
class SshWorkers:
    """
    What became of some hosts.

    Attributes:
        client: A client of their scheduler.
        addresses: The addresses of the workers that can be asked, by host.
        missing: Why the other hosts have none.
        names: The hosts by the addresses of their workers, also of those that haven't joined yet.
        refused: The addresses of workers that have joined and can't be asked.
    """

    client: "Client"
    addresses: dict[str, str]
    missing: Mapping[str, str]
    names: Mapping[str, str]
    refused: Collection[str]


@contextmanager
def ssh_workers(
    hosts: Sequence[str], python: str, *, num_threads: int | None = None
) -> Iterator[SshWorkers]:
    """
    Start a worker on each host, and end it.

    Args:
        hosts: Names that `ssh` knows.
        python: The Python of the environment with isthmus on the hosts.
        num_threads: How many functions each calls at a time. None: one for each core.

    Raises:
        Unavailable: Dask isn't installed.
    """
    check_dask()
    from distributed import Client

    with ExitStack() as stack:
        cluster = stack.enter_context(loopback_cluster(0))
        client = stack.enter_context(Client(cluster))
        scheduler = int(cluster.scheduler_address.rpartition(":")[2])
        started: dict[str, _Ssh] = {}
        for host in hosts:
            port = _free_port()
            started[f"tcp://127.0.0.1:{port}"] = _Ssh(host, python, num_threads, scheduler, port)
        for ssh in started.values():
            stack.callback(ssh.end)
        joined = _joined(client, started)
        names = {where: ssh.node for where, ssh in started.items()}
        missing = {ssh.node: ssh.why() for where, ssh in started.items() if where not in joined}
        found, refused = introduced(client, {where: names[where] for where in joined})
        missing |= {names[where]: str(error) for where, error in refused.items()}
        yield SshWorkers(
            client=client,
            addresses={names[where]: where for where in found},
            missing=missing,
            names=names,
            refused=set(refused),
        )


def _joined(client: "Client", started: Mapping[str, "_Ssh"]) -> list[str]:
    """Wait until each worker has joined or failed, and give the addresses of those that joined."""
    end = time.monotonic() + _JOIN_S
    while True:
        here = set(client.nthreads())
        waiting = [where for where, ssh in started.items() if where not in here and ssh.runs()]
        if not waiting or time.monotonic() > end:
            return [where for where in started if where in here]
        time.sleep(_POLL_S)


def _free_port() -> int:
    """Give a port that nothing uses here; on the host it may be taken, and then `ssh` says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class _Ssh:
    """One `ssh` with a worker behind it."""

    def __init__(
        self, host: str, python: str, num_threads: int | None, scheduler: int, port: int
    ) -> None:
        self.node = host.rpartition("@")[2]
        self._said: deque[str] = deque(maxlen=20)
        worker = [
            *(python, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{scheduler}"),
            *("--host", "127.0.0.1", "--worker-port", str(port), "--name", self.node),
            *("--no-nanny", "--no-dashboard", "--death-timeout", "30", "--memory-limit", "0"),
            *(() if num_threads is None else ("--nthreads", str(num_threads))),
            *("--dashboard-address", UNSEEN),
        ]
        self._process = subprocess.Popen(  # noqa: S603 - the hosts are checked by `read_hosts`
            [
                *("ssh", *_OPTIONS),
                *("-R", f"127.0.0.1:{scheduler}:127.0.0.1:{scheduler}"),
                *("-L", f"127.0.0.1:{port}:127.0.0.1:{port}"),
                # A terminal would end the worker with the connection; so does its death timeout.
                *("--", host, shlex.join(worker)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stderr or ():
            if line.strip():
                self._said.append(line.strip())

    def runs(self) -> bool:
        return self._process.poll() is None

    def why(self) -> str:
        """Say why no worker came."""
        if self.runs():
            return f"no worker within {_JOIN_S:g} s"
        self._reader.join(_END_S)
        last = one_line(self._said[-1])[:_MAX_REASON] if self._said else "nothing was said"
        return f"ssh ended with exit code {self._process.returncode}: {last}"

    def end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_END_S)
        if self._process.stderr is not None:
            self._process.stderr.close()
