"""Sweeps on workers. Each test that starts some takes seconds."""

import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="isthmus[sim] is not installed")

import isthmus
from isthmus.errors import UsageError
from isthmus.fleet.nodes import AskedWorkers
from isthmus.fleet.processes import Processes, here, processes
from isthmus.fleet.spread import Spread, Work
from isthmus.fleet.task import Introduction
from isthmus.sim.axes import points, read_axes
from isthmus.sim.library import Library
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.store import Row, SweepStore
from isthmus.sim.sweep import Outcome, PointRunner, Threads, run_sweep
from isthmus.sim.wire import Elsewhere, run_texts

pytestmark = pytest.mark.native
BASE = Base(workload="bfs", machine="paper-gtx480", policy="ranges", seed=0, settings={})
AXES = ["policy=ranges,tree,bitmap,whole-page", "link.bandwidth=1GB/s..32GB/s", "seed=0..2"]
POINTS = build_points(BASE, points(read_axes(AXES)))


class Silent:
    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        pass


class Killer:
    """Kills a worker after every few points, until it has done so as often as it should."""

    def __init__(self, asking: Processes, times: int) -> None:
        self._asking = asking
        self._times = times
        self._chance = random.Random(21)  # noqa: S311 - no secret
        self._last = 0
        self.killed: set[int] = set()

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        del total, point
        assert row["error"] is None
        if len(self.killed) == self._times or num_finished - self._last < 3:
            return
        pids = set(self._asking.processes().values()) - self.killed
        if pids:
            victim = self._chance.choice(sorted(pids))
            os.kill(victim, signal.SIGKILL)
            self.killed.add(victim)
            self._last = num_finished


def sweep(
    path: Path, swept: list[SweepPoint], runner: PointRunner, observer: Silent | Killer
) -> Outcome:
    store = SweepStore(path, "this", [point.key for point in swept])
    with store:
        return run_sweep(swept, store, runner=runner, observer=observer, should_stop=lambda: False)


def elsewhere(workers: AskedWorkers, say: Callable[[str], None]) -> Elsewhere:
    def spread(
        works: Sequence[tuple[str, str, str]],
        read: Callable[[str], Row],
        should_stop: Callable[[], bool],
    ) -> Iterator[tuple[int, Row]]:
        given = [Work(*one) for one in works]
        return Spread(workers=workers, say=say).results(given, read, should_stop)

    return Elsewhere(spread)


@pytest.mark.long
@pytest.mark.parametrize(("kills", "swept"), [(1, POINTS[:12]), (10, POINTS)])
def test_workers_are_killed_and_the_file_has_the_same_bytes(
    tmp_path: Path, kills: int, swept: list[SweepPoint]
) -> None:
    one, there = tmp_path / "one.parquet", tmp_path / "there.parquet"
    sweep(one, swept, Threads(Library().run, 2), Silent())
    said: list[str] = []
    commands = {f"local-{index}": here(1) for index in range(2)}
    with processes(commands, restarted=True) as asking:
        killer = Killer(asking, kills)
        runner = elsewhere(AskedWorkers(asking, run_texts, said.append), said.append)
        outcome = sweep(there, swept, runner, killer)
    assert (outcome.num_finished, outcome.num_failed) == (len(swept), 0)
    assert len(killer.killed) == kills
    assert [line for line in said if not line.startswith("lost: ")] == []
    # One that was killed before it was asked had no work to lose.
    assert kills // 2 <= len(said) <= kills
    assert there.read_bytes() == one.read_bytes()


class Joining(Processes):
    """A worker, which another one joins later."""

    def __init__(self, version: str) -> None:
        super().__init__(restarted=False)
        self._versions = {"a": isthmus.__version__, "b": version}
        self.here = {"a": 2}
        self.asked = 0

    def threads(self) -> dict[str, int]:
        return dict(self.here)

    def introductions(self, addresses: Sequence[str]) -> dict[str, str | BaseException]:
        self.asked += 1
        return {
            where: Introduction(
                hostname="n", isthmus_version=self._versions[where]
            ).model_dump_json()
            for where in addresses
        }


def test_a_worker_that_joins_later_is_used_and_asked_once_who_it_is() -> None:
    joining, said = Joining(isthmus.__version__), list[str]()
    workers = AskedWorkers(joining, run_texts, said.append)
    assert workers.threads() == {"a": 2}
    joining.here["b"] = 4
    for _ in range(3):
        assert workers.threads() == {"a": 2, "b": 4}
    assert (joining.asked, said) == (2, [])


def test_a_worker_of_another_version_that_joins_later_is_named_and_not_used() -> None:
    joining, said = Joining("9.9"), list[str]()
    workers = AskedWorkers(joining, run_texts, said.append)
    joining.here["b"] = 4
    for _ in range(3):
        assert workers.threads() == {"a": 2}
    assert len(said) == 1
    assert said[0].startswith("not used: n (b) has isthmus 9.9, and this is ")


def test_workers_of_another_version_that_are_there_refuse_the_sweep() -> None:
    joining = Joining("9.9")
    joining.here = {"b": 1}
    with pytest.raises(UsageError, match=r"has isthmus 9\.9, and this is"):
        AskedWorkers(joining, run_texts, print)


def test_one_that_was_refused_is_not_asked_again() -> None:
    joining = Joining("9.9")
    joining.here["b"] = 4
    workers = AskedWorkers(joining, run_texts, print, refused={"b"})
    assert workers.threads() == {"a": 2}
    assert joining.asked == 1
