"""What runs the points of a sweep in no time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.errors import Deadlock
from isthmus.sim.axes import points, read_axes
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.result import SimulationResult
from isthmus.sim.store import Row, SweepStore
from isthmus.sim.sweep import Outcome, Threads, run_sweep

RunPoint = Callable[[SweepPoint, Callable[[], bool]], SimulationResult]


@dataclass
class Made:
    """Stands in for a result: only its numbers are asked for."""

    seed: int

    def flat(self) -> dict[str, int | float]:
        return {"total_ps": 1000 + self.seed}


@dataclass
class Runner:
    """Counts what it runs."""

    fails_for: set[int] = field(default_factory=set)
    seeds: list[int] = field(default_factory=list)

    def __call__(self, point: SweepPoint, go_on: Callable[[], bool]) -> SimulationResult:
        assert go_on()
        self.seeds.append(point.seed)
        if point.seed in self.fails_for:
            raise Deadlock("warp 3 waits for the migration buffer")
        return Made(point.seed)  # type: ignore[return-value]  # see above


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        assert row["seed"] == point.seed
        self.heard.append((num_finished, total))


BASE = Base(workload="bfs", machine="paper-gtx480", policy="ranges", seed=0, settings={})
POINTS = build_points(BASE, points(read_axes(["seed=0..2"])))


def sweep(path: Path, on_kept: Callable[[str], None] = lambda _: None) -> Outcome:
    """Run a sweep of three points, one after the other; hear the key of each that is kept."""

    class Hearing(Listener):
        def point_finished(
            self, num_finished: int, total: int, point: SweepPoint, row: Row
        ) -> None:
            super().point_finished(num_finished, total, point, row)
            on_kept(point.key)

    store = SweepStore(path, "this", [point.key for point in POINTS])
    with store:
        return run_sweep(
            POINTS,
            store,
            runner=Threads(Runner(), 1),
            observer=Hearing(),
            should_stop=lambda: False,
        )
