"""Clients of Dask: of a scheduler and workers on this machine, or of a scheduler somewhere."""

import ipaddress
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from isthmus.errors import UsageError
from isthmus.extras import packages_for
from isthmus.suggest import one_line

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

UNSEEN = "127.0.0.1:0"
"""Where a server of Dask listens that nobody is to see: any free port of loopback."""
_CONNECT_S = 20
# Of a cluster on this machine. The last ones are clocks that nobody needs here: idle, they took 2 %
# of two cores, from the very programs that are measured (benchmarks/fleet).
_SETTINGS = {
    # A call that kills its worker isn't tried again by Dask: who has asked decides.
    "distributed.scheduler.allowed-failures": 0,
    # If a worker isn't there so long after it was lost, Dask gives it up for ever, although it may
    # just be started again, or have been lost once more.
    "distributed.deploy.lost-worker-timeout": "1d",
    "distributed.worker.preload": ["isthmus.fleet.preload"],
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
_LOCAL = {"localhost"}
_NEEDS_TLS = "; its certificates must be in Dask's configuration here: see docs/fleet.md"


@contextmanager
def local_client(number: int) -> Iterator["Client"]:
    """
    Start workers on this machine, and end them.

    Args:
        number: How many; each calls one function at a time.

    Raises:
        Unavailable: Dask isn't installed.
    """
    check_dask()
    from distributed import Client

    with ExitStack() as stack:
        cluster = stack.enter_context(loopback_cluster(number))
        yield stack.enter_context(Client(cluster))


@contextmanager
def loopback_cluster(number: int) -> Iterator["LocalCluster"]:
    """
    Start a scheduler and workers on this machine. All of them listen on loopback alone.

    Without an address, the servers of Dask's dashboards would listen on every interface.

    Args:
        number: How many workers; none if they come from elsewhere.
    """
    import dask
    from distributed import LocalCluster

    # Some are read long after the start.
    with dask.config.set(_SETTINGS):
        with _interrupts_ignored():
            cluster = LocalCluster(
                n_workers=number,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=UNSEEN,
                worker_dashboard_address=UNSEEN,
                # Dask would pause a worker that has most of its share of the memory.
                memory_limit=0,
                silence_logs="CRITICAL",
            )
        with cluster:
            yield cluster


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """
    Ignore Ctrl-C, so that processes that are started meanwhile do, until they do so themselves.

    See `isthmus.fleet.preload`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def scheduler_client(address: str) -> Iterator["Client"]:
    """
    Connect to a scheduler. TLS comes from Dask's own configuration.

    Args:
        address: "tls://HOST:PORT"; "tcp://HOST:PORT" of this machine alone.

    Raises:
        Unavailable: Dask isn't installed.
        UsageError: The address isn't one, or its traffic wouldn't be encrypted; or nobody answers.
    """
    check_dask()
    check_address(address)
    from distributed import Client

    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, RuntimeError, TypeError) as cause:
        raise UsageError(
            f"no scheduler answers at {address}: {one_line(str(cause))}",
            hint="`dask scheduler` starts one and prints its address"
            + (_NEEDS_TLS if address.startswith("tls:") else ""),
        ) from None
    with client:
        yield client


def check_dask() -> None:
    """
    Check early whether Dask is there.

    Raises:
        Unavailable: It isn't.
    """
    with packages_for("a fleet", "pip install 'isthmus[scale]'"):
        import distributed  # noqa: F401 - only whether it is there


def check_address(address: str) -> None:
    """
    Refuse an address whose traffic others could read or change.

    Raises:
        UsageError: It isn't encrypted and not of this machine, or it is no address.
    """
    hint = "write tls://HOST:PORT, and give Dask its certificates: see docs/fleet.md"
    try:
        parts = urlsplit(address)
        known = parts.scheme in {"tls", "tcp"} and parts.hostname and parts.port
    except ValueError:
        known = None
    if not known:
        raise UsageError(f"'{one_line(address)}' is no address of a scheduler", hint=hint)
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname or ""):
        raise UsageError(
            f"{address} isn't encrypted: whoever reaches it can run programs on all nodes",
            hint=hint,
        )


def _is_loopback(host: str) -> bool:
    try:
        return host in _LOCAL or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
