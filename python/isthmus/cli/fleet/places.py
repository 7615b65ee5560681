"""Where commands of `isthmus fleet` find workers: options, and what they lead to."""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.stderr import say
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isthmus.fleet.asking import OfText
    from isthmus.fleet.collecting import Nodes
    from isthmus.fleet.nodes import AskedWorkers
    from isthmus.fleet.processes import Processes

WorkersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=256, help="Number of workers on this machine.  [default: 1]"
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler: tls://HOST:PORT."),
]
HostsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File of hosts for SSH, one per line."),
]
PythonOption = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Python interpreter on these hosts.  [default: this one]"),
]
_PLACES = ("--workers", "--scheduler", "--hosts")


@dataclass(frozen=True, kw_only=True)
class Place:
    """
    Where workers are; nothing was started yet.

    Attributes:
        workers: How many on this machine, unless they are elsewhere.
    """

    workers: int
    scheduler: str | None
    hosts: Path | None
    python: str

    @contextmanager
    def nodes(self) -> "Iterator[tuple[Nodes, Mapping[str, str]]]":
        """Find the nodes, of which each does one thing at a time; with why hosts are missing."""
        from isthmus.fleet.nodes import AskedNodes, nodes_of

        if self.scheduler is not None:
            with nodes_of(self.scheduler) as nodes:
                yield nodes, {}
            return
        with self._processes(1, restarted=False) as (asking, missing):
            here = {name: name for name in asking.threads() if name not in missing}
            yield AskedNodes(asking, here), missing

    @contextmanager
    def all_cores(
        self, function: "OfText", say: "Callable[[str], None]"
    ) -> "Iterator[tuple[AskedWorkers, Mapping[str, str]]]":
        """Find the workers, each on all of its cores, to call a function; with hosts missing."""
        from isthmus.fleet.dask_asking import scheduler_workers
        from isthmus.fleet.nodes import AskedWorkers

        if self.scheduler is not None:
            with scheduler_workers(self.scheduler) as asking:
                yield AskedWorkers(asking, function, say), {}
            return
        # What a host's worker had is done by others: what ended it may still be so.
        with self._processes(0, restarted=self.hosts is None) as (asking, missing):
            refused = [name for name in missing if name in asking.threads()]
            yield AskedWorkers(asking, function, say, refused=refused), missing

    @contextmanager
    def _processes(
        self, num_threads: int, *, restarted: bool
    ) -> "Iterator[tuple[Processes, Mapping[str, str]]]":
        """Start workers here or on hosts, where they have so many threads; 0: all cores."""
        from isthmus.fleet.asking import introduced
        from isthmus.fleet.nodes import node_of, read_hosts
        from isthmus.fleet.processes import at_host, here, processes

        if self.hosts is None:
            names = [f"local-{index}" for index in range(self.workers)]
            commands = {name: here(1) for name in (names if self.workers > 1 else ["local"])}
        else:
            commands = {
                node_of(host): at_host(host, self.python, num_threads)
                for host in read_hosts(self.hosts)
            }
        with processes(commands, restarted=restarted) as asking:
            missing = dict(asking.missing())
            _, refused = introduced(asking, {name: name for name in asking.threads()})
            yield asking, missing | {name: str(error) for name, error in refused.items()}


def place_of(
    workers: int | None,
    scheduler: str | None,
    hosts: Path | None,
    python: str | None,
    *,
    usual_workers: int,
) -> Place:
    """Check the options, before anything starts."""
    from isthmus.fleet.dask_asking import check_address, check_dask

    given = [
        name
        for name, value in zip(_PLACES, (workers, scheduler, hosts), strict=True)
        if value is not None
    ]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other", hint="choose one of them")
    if python is not None and hosts is None:
        raise UsageError("--python is for --hosts", hint="--hosts hosts.txt --python PATH")
    if scheduler is not None:
        check_dask()
        check_address(scheduler)
        if scheduler.startswith("tcp:"):
            say(f"{scheduler} isn't encrypted: every user of this machine can run programs on it")
    return Place(
        workers=workers or usual_workers,
        scheduler=scheduler,
        hosts=hosts,
        python=python or sys.executable,
    )
