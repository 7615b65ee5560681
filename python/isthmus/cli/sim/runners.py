"""What runs the points of a sweep: threads of this process, or workers elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from isthmus.cli.stderr import say
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted

if TYPE_CHECKING:
    from isthmus.cli.fleet.places import Place
    from isthmus.sim.store import Row
    from isthmus.sim.sweep import PointRunner

Runners = Callable[[], AbstractContextManager["PointRunner"]]
"""Starts what runs points, and ends it."""


def here() -> "AbstractContextManager[PointRunner]":
    """Run points in threads of this process, one for each core."""
    from isthmus.sim.library import Library
    from isthmus.sim.sweep import Threads, num_cores

    return nullcontext(Threads(Library().run, num_cores()))


@contextmanager
def runner_at(place: "Place") -> "Iterator[PointRunner]":
    """Start or find the workers, and let them run points."""
    from isthmus.fleet.spread import Spread, Work
    from isthmus.sim.wire import Elsewhere, run_texts

    with place.all_cores(run_texts, say) as (workers, missing):
        for host, why in missing.items():
            say(f"not used: {host}: {why}")
        threads = workers.threads().values()
        if not threads:
            hint = "start some: dask worker ADDRESS"
            if missing:
                hint = "each host is named above, with why"
            raise UsageError("there is no worker", hint=hint)
        at_once = counted(sum(threads), "point")
        say(f"simulating on {counted(len(threads), 'worker')}, {at_once} at a time")

        def spread(
            works: Sequence[tuple[str, str, str]],
            read: "Callable[[str], Row]",
            should_stop: Callable[[], bool],
        ) -> "Iterator[tuple[int, Row]]":
            given = [Work(label, text, kin) for label, text, kin in works]
            return Spread(workers=workers, say=say).results(given, read, should_stop)

        yield Elsewhere(spread)
