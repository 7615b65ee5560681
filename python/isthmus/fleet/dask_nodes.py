"""Nodes that are workers of Dask: on this machine, or of a scheduler somewhere."""

import ipaddress
import queue
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

import isthmus
from isthmus.errors import Unavailable, UsageError
from isthmus.fleet import worker
from isthmus.fleet.task import Introduction
from isthmus.suggest import one_line

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

UNSEEN = "127.0.0.1:0"
"""Where a server of Dask listens that nobody is to see: any free port of loopback."""
_CONNECT_S = 20
# Of a node's name as a folder: names come from elsewhere.
_ODD = re.compile(r"[^\w.-]", re.ASCII)
_LOCAL = {"localhost"}


class DaskNodes:
    """
    Workers of a scheduler, each of them a node.

    Only text crosses the network: the name of a function of `isthmus.fleet.worker`, and JSON.
    """

    def __init__(self, client: "Client", addresses: dict[str, str]) -> None:
        """
        Use the workers.

        Args:
            client: A client of their scheduler.
            addresses: The address of each node's worker.
        """
        self._client = client
        self._addresses = addresses
        self._futures: dict[int, Any] = {}
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._last = 0

    def names(self) -> Sequence[str]:
        """List the nodes."""
        return list(self._addresses)

    def ask(self, node: str, function: str, text: str) -> int:
        """Call a function of `isthmus.fleet.worker` on a node, and return at once."""
        self._last += 1
        question = self._last
        future = self._client.submit(
            *self.called(node, function, text),
            workers=[self._addresses[node]],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._futures[question] = future
        future.add_done_callback(lambda _: self._done.put(question))
        return question

    def called(self, node: str, function: str, text: str) -> tuple[Callable[[str], str], str]:
        """Give what a node is to call, and with which text: a function of the worker's module."""
        del node
        return getattr(worker, function), text

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        try:
            questions = [self._done.get(timeout=timeout_s)]
            while not self._done.empty():
                questions.append(self._done.get_nowait())
        except queue.Empty:
            return []
        return [(question, self._answer(question)) for question in questions]

    def is_lost(self, node: str) -> bool:
        """Whether a worker has left its scheduler, or the scheduler is gone."""
        try:
            return self._addresses[node] not in self._workers()
        except OSError:
            return True

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        future = self._futures.pop(question, None)
        if future is not None:
            future.cancel()

    def _answer(self, question: int) -> str | BaseException:
        future = self._futures.pop(question, None)
        if future is None:
            return RuntimeError("nobody waits for this answer")
        try:
            # Of another worker it may be anything.
            return str(future.result(timeout=_CONNECT_S))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this node's result
            return error

    def _workers(self) -> set[str]:
        return set(self._client.nthreads())


@contextmanager
def local_nodes(number: int) -> Iterator[DaskNodes]:
    """
    Start workers on this machine, and end them.

    Args:
        number: How many. They are named "local-0", "local-1", ...; one alone is "local".

    Raises:
        Unavailable: Dask isn't installed.
    """
    check_dask()
    import dask
    from distributed import Client

    # A measurement that kills its worker isn't tried again on another one.
    settings = {"distributed.scheduler.allowed-failures": 0}
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        with _interrupts_ignored():
            cluster = loopback_cluster(number)
        stack.enter_context(cluster)
        client = stack.enter_context(Client(cluster))
        addresses = sorted(client.nthreads())
        names = ["local"] if number == 1 else [f"local-{index}" for index in range(number)]
        yield DaskNodes(client, dict(zip(names, addresses, strict=False)))


def loopback_cluster(number: int) -> "LocalCluster":
    """
    Start a scheduler and workers on this machine. All of them listen on loopback alone.

    Without an address, the servers of Dask's dashboards would listen on every interface.

    Args:
        number: How many workers; none if they come from elsewhere.
    """
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=number,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=UNSEEN,
        worker_dashboard_address=UNSEEN,
        silence_logs="CRITICAL",
    )


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """
    Ignore Ctrl-C, so that processes that are started meanwhile do.

    A terminal interrupts all of its processes, and each worker would print a traceback. It is the
    collector that ends them.
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
def nodes_of(address: str) -> Iterator[DaskNodes]:
    """
    Use all workers of a scheduler. TLS comes from Dask's own configuration.

    Args:
        address: "tls://HOST:PORT"; "tcp://HOST:PORT" of this machine alone.

    Raises:
        Unavailable: Dask isn't installed.
        UsageError: The address isn't one, or its traffic wouldn't be encrypted; nobody answers; or
            there is no worker, or one has another version of Isthmus.
    """
    check_dask()
    check_address(address)
    from distributed import Client

    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, RuntimeError, TypeError) as cause:
        raise UsageError(
            f"no scheduler answers at {address}: {one_line(str(cause))}",
            hint="`dask scheduler` starts one and prints its address",
        ) from None
    with client:
        yield DaskNodes(client, _named(client, address))


def check_dask() -> None:
    """
    Check early whether Dask is there.

    Raises:
        Unavailable: It isn't.
    """
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError as cause:
        raise Unavailable(
            capability="a fleet",
            reason=f"{cause.name or 'distributed'} is not installed",
            needs="pip install 'isthmus[scale]'",
        ) from cause


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


def introductions(client: "Client", addresses: Sequence[str]) -> dict[str, Introduction]:
    """
    Ask workers who they are.

    Args:
        client: A client of their scheduler.
        addresses: The workers.

    Raises:
        UsageError: One has another version of Isthmus, or none.
    """
    if not addresses:
        return {}
    answers = client.run(worker.introduce, "", workers=list(addresses), on_error="return")
    return {where: _introduction(where, answer) for where, answer in answers.items()}


def _named(client: "Client", address: str) -> dict[str, str]:
    """Name every worker by its host, and several of one host by numbers."""
    found = introductions(client, sorted(client.nthreads()))
    if not found:
        raise UsageError(
            f"the scheduler at {address} has no workers",
            hint=f"start one on each node: dask worker {address}",
        )
    hosts = {
        where: _ODD.sub("_", one.hostname).lstrip(".") or "node" for where, one in found.items()
    }
    total = Counter(hosts.values())
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    for where in sorted(hosts):
        host = hosts[where]
        names[host if total[host] == 1 else f"{host}-{seen[host]}"] = where
        seen[host] += 1
    return names


def _introduction(where: str, answer: object) -> Introduction:
    hint = "install the same version of isthmus on every node, in the workers' environment"
    if isinstance(answer, BaseException):
        said = one_line(f"{type(answer).__name__}: {answer}")
        raise UsageError(f"the worker at {where} can't run isthmus: {said}", hint=hint)
    try:
        found = Introduction.model_validate_json(str(answer))
    except ValidationError:
        raise UsageError(f"the worker at {where} has another isthmus", hint=hint) from None
    if found.isthmus_version != isthmus.__version__:
        raise UsageError(
            f"{one_line(found.hostname)} ({where}) has isthmus {one_line(found.isthmus_version)}, "
            f"and this is {isthmus.__version__}",
            hint=hint,
        )
    return found
