"""Nodes that are workers of Dask: on this machine, or of a scheduler somewhere."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.fleet import worker
from isthmus.fleet.dask_clients import local_client, scheduler_client
from isthmus.fleet.introductions import introductions
from isthmus.fleet.questions import Questions

if TYPE_CHECKING:
    from distributed import Client

# Of a node's name as a folder: names come from elsewhere.
_ODD = re.compile(r"[^\w.-]", re.ASCII)


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
        self._questions = Questions(client)

    def names(self) -> Sequence[str]:
        """List the nodes."""
        return list(self._addresses)

    def ask(self, node: str, function: str, text: str) -> int:
        """Call a function of `isthmus.fleet.worker` on a node, and return at once."""
        return self._questions.ask(self._addresses[node], *self.called(node, function, text))

    def called(self, node: str, function: str, text: str) -> tuple[Callable[[str], str], str]:
        """Give what a node is to call, and with which text: a function of the worker's module."""
        del node
        return getattr(worker, function), text

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        return self._questions.answers(timeout_s)

    def is_lost(self, node: str) -> bool:
        """Whether a worker has left its scheduler, or the scheduler is gone."""
        try:
            return self._addresses[node] not in self._client.nthreads()
        except OSError:
            return True

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._questions.forget(question)


@contextmanager
def local_nodes(number: int) -> Iterator[DaskNodes]:
    """
    Start workers on this machine, and end them.

    Args:
        number: How many. They are named "local-0", "local-1", ...; one alone is "local".

    Raises:
        Unavailable: Dask isn't installed.
    """
    with local_client(number) as client:
        addresses = sorted(client.nthreads())
        names = ["local"] if number == 1 else [f"local-{index}" for index in range(number)]
        yield DaskNodes(client, dict(zip(names, addresses, strict=False)))


@contextmanager
def nodes_of(address: str) -> Iterator[DaskNodes]:
    """
    Use all workers of a scheduler.

    Args:
        address: As for `scheduler_client`.

    Raises:
        Unavailable: Dask isn't installed.
        UsageError: The scheduler can't be asked; there is no worker, or one has another version of
            Isthmus.
    """
    with scheduler_client(address) as client:
        yield DaskNodes(client, _named(client, address))


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
