"""Nodes that are workers: processes here, hosts behind SSH, or all workers of a scheduler."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from isthmus.errors import UsageError
from isthmus.fleet import worker
from isthmus.fleet.asking import Asking
from isthmus.fleet.dask_asking import scheduler_workers
from isthmus.fleet.introductions import introductions

# Of a node's name as a folder: names come from elsewhere.
_ODD = re.compile(r"[^\w.-]", re.ASCII)
_MAX_NAME = 100


class AskedNodes:
    """Workers, each of them a node."""

    def __init__(self, asking: Asking, addresses: Mapping[str, str]) -> None:
        """Use the workers."""
        self._asking = asking
        self._addresses = addresses

    def names(self) -> Sequence[str]:
        """List the nodes."""
        return list(self._addresses)

    def ask(self, node: str, function: str, text: str) -> int:
        """Call a function of `isthmus.fleet.worker` on a node, and return at once."""
        return self._asking.ask(self._addresses[node], *self.called(node, function, text))

    def called(self, node: str, function: str, text: str) -> tuple[Callable[[str], str], str]:
        """Give what a node is to call, and with which text: a function of the worker's module."""
        del node
        return getattr(worker, function), text

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        return self._asking.answers(timeout_s)

    def is_lost(self, node: str) -> bool:
        """Whether a worker has ended or left its scheduler, or the scheduler is gone."""
        return self._addresses[node] not in self._asking.threads()

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._asking.forget(question)


@contextmanager
def nodes_of(address: str) -> Iterator[AskedNodes]:
    """Use all workers of a scheduler."""
    with scheduler_workers(address) as asking:
        yield AskedNodes(asking, _named(asking, address))


def _named(asking: Asking, address: str) -> dict[str, str]:
    """Name every worker by its host, and several of one host by numbers."""
    found = introductions(asking, sorted(asking.threads()))
    if not found:
        raise UsageError(
            f"the scheduler at {address} has no workers",
            hint=f"start one on each node: dask worker {address}",
        )
    hosts = {where: _folder_of(one.hostname) for where, one in found.items()}
    total = Counter(hosts.values())
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    for where in sorted(hosts):
        host = hosts[where]
        name = host
        while total[host] > 1 and (name == host or name in names or name in total):
            name = f"{host}-{seen[host]}"
            seen[host] += 1
        names[name] = where
    return names


def _folder_of(hostname: str) -> str:
    return _ODD.sub("_", hostname[:_MAX_NAME]).lstrip(".") or "node"
