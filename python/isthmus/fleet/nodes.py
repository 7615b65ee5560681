"""
Nodes that are workers, which come and go: processes here, hosts behind SSH, named in a file, or
all workers of a scheduler.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.regular import read_regular
from isthmus.fleet import worker
from isthmus.fleet.asking import Asking, OfText, introduced, introductions
from isthmus.fleet.dask_asking import scheduler_workers
from isthmus.ground.spelling import shortened

_MAX_BYTES = 4 << 20
# Names and addresses, with a user before them if SSH needs one. Without it, a name is a folder of
# runs: none begins with a dot, as folders do that hold something else. A "-" begins options of ssh.
_NAME = re.compile(r"(?:\w[\w.-]*@)?[\w:\[][\w.:\[\]-]*", re.ASCII)
_MAX_NAME = 255


def read_hosts(path: Path) -> list[str]:
    """Read the nodes in a file, one a line; "#" begins a comment."""
    try:
        text = read_regular(path, max_bytes=_MAX_BYTES).decode(errors="replace")
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}") from cause
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        name = line.partition("#")[0].strip(" \t\r")
        if not name:
            continue
        place = f"line {number} of {path}"
        node = node_of(name)
        if not _NAME.fullmatch(name) or len(node) > _MAX_NAME:
            raise UsageError(f"{place} is no host: '{shortened(name)}'", hint="one name a line")
        if node in found:
            raise UsageError(f"{place} names {node} again", hint="name each node once")
        found[node] = name
    if not found:
        raise UsageError(f"{path} names no host", hint="write one name a line")
    return list(found.values())


def node_of(host: str) -> str:
    """Give a host's name without the user, as which its runs are kept."""
    return host.rpartition("@")[2]


class AskedWorkers:
    """The workers that are there, and those that come later."""

    def __init__(
        self,
        asking: Asking,
        function: OfText,
        say: Callable[[str], None],
        *,
        refused: Collection[str] = (),
    ) -> None:
        """
        Use the workers, but those whose addresses are refused; `say` gets a line about each that
        comes later and can't be used.
        """
        self._asking = asking
        self._function = function
        self._say = say
        # Of those that can't be used, too: an address never comes back.
        self._usable = dict.fromkeys(refused, False)
        new = sorted(set(asking.threads()) - set(refused))
        self._usable |= dict.fromkeys(introductions(asking, new), True)

    def threads(self) -> Mapping[str, int]:
        """Give the workers that can be asked now, and how many questions each answers at once."""
        here = self._asking.threads()
        for where in sorted(set(here) - set(self._usable)):
            self._usable[where] = self._is_usable(where)
        return {where: number for where, number in here.items() if self._usable[where]}

    def ask(self, worker: str, text: str) -> int:
        """Ask a worker, and return at once; gives a number for the question."""
        return self._asking.ask(worker, self._function, text)

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        return self._asking.answers(timeout_s)

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._asking.forget(question)

    def _is_usable(self, where: str) -> bool:
        _, refused = introduced(self._asking, {where: where})
        # One that was lost meanwhile has nothing wrong.
        if refused and where in self._asking.threads():
            self._say(f"not used: {refused[where]}")
        return not refused


# Of a node's name as a folder: names come from elsewhere.
_ODD = re.compile(r"[^\w.-]", re.ASCII)
_LONGEST_NAME = 100


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
    return _ODD.sub("_", hostname[:_LONGEST_NAME]).lstrip(".") or "node"
