"""Where commands of `isthmus fleet` find workers: options, and what they lead to."""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isthmus.fleet.collecting import Nodes
    from isthmus.fleet.questions import OfText
    from isthmus.fleet.workers import DaskWorkers

WorkersOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=256, help="Workers on this machine.  [default: 1]"),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A scheduler of Dask: tls://HOST:PORT."),
]
HostsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Hosts to be reached by SSH, one a line."),
]
PythonOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH", help="The Python with isthmus on these hosts.  [default: this one]"
    ),
]
_PLACES = ("--workers", "--scheduler", "--hosts")


@dataclass(frozen=True, kw_only=True)
class Place:
    """
    Where workers are; nothing was started yet.

    Attributes:
        workers: How many on this machine, unless they are elsewhere.
        scheduler: The address of one that has workers.
        hosts: A file of hosts.
        python: The Python with isthmus on these hosts.
    """

    workers: int
    scheduler: str | None
    hosts: Path | None
    python: str

    @contextmanager
    def nodes(self) -> "Iterator[tuple[Nodes, Mapping[str, str]]]":
        """Find the nodes, of which each does one thing at a time; with why hosts are missing."""
        from isthmus.fleet.dask_nodes import DaskNodes, local_nodes, nodes_of

        if self.hosts is not None:
            from isthmus.fleet.hosts import read_hosts
            from isthmus.fleet.ssh_workers import ssh_workers

            with ssh_workers(read_hosts(self.hosts), self.python, num_threads=1) as found:
                yield DaskNodes(found.client, found.addresses), found.missing
            return
        with nodes_of(self.scheduler) if self.scheduler else local_nodes(self.workers) as nodes:
            yield nodes, {}

    @contextmanager
    def all_cores(
        self, function: "OfText", say: "Callable[[str], None]"
    ) -> "Iterator[tuple[DaskWorkers, Mapping[str, str]]]":
        """Find the workers, each on all of its cores, to call a function; with hosts missing."""
        from isthmus.fleet.dask_clients import local_client, scheduler_client
        from isthmus.fleet.workers import DaskWorkers

        if self.hosts is not None:
            from isthmus.fleet.hosts import read_hosts
            from isthmus.fleet.ssh_workers import ssh_workers

            with ssh_workers(read_hosts(self.hosts), self.python) as found:
                workers = DaskWorkers(
                    found.client, function, say, names=found.names, refused=found.refused
                )
                yield workers, found.missing
            return
        wanted = self.scheduler
        with scheduler_client(wanted) if wanted else local_client(self.workers) as client:
            yield DaskWorkers(client, function, say), {}


def place_of(
    workers: int | None,
    scheduler: str | None,
    hosts: Path | None,
    python: str | None,
    *,
    usual_workers: int,
) -> Place:
    """
    Check the options, before anything starts.

    Raises:
        UsageError: They contradict each other.
        Unavailable: Dask isn't installed.
    """
    from isthmus.fleet.dask_clients import check_address, check_dask

    given = [
        name
        for name, value in zip(_PLACES, (workers, scheduler, hosts), strict=True)
        if value is not None
    ]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two places", hint="choose one of them")
    if python is not None and hosts is None:
        raise UsageError("--python is for --hosts", hint="--hosts hosts.txt --python PATH")
    check_dask()
    if scheduler is not None:
        check_address(scheduler)
    return Place(
        workers=workers or usual_workers,
        scheduler=scheduler,
        hosts=hosts,
        python=python or sys.executable,
    )
