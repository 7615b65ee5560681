"""Sweeps on workers of Dask on this machine. Each test that starts some takes seconds."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
pytest.importorskip("pyarrow", reason="isthmus[sim] is not installed")

import isthmus
from isthmus.errors import UsageError
from isthmus.fleet.dask_clients import local_client
from isthmus.fleet.spread import Spread, Work
from isthmus.fleet.task import Introduction
from isthmus.fleet.workers import DaskWorkers
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

    def __init__(self, client: Any, times: int) -> None:  # noqa: ANN401 - Dask's have no types
        self._client = client
        self._times = times
        self._chance = random.Random(21)  # noqa: S311 - no secret
        self._last = 0
        self.killed: set[int] = set()

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        del total, point
        assert row["error"] is None
        if len(self.killed) == self._times or num_finished - self._last < 3:
            return
        # One that is just being started again is left alone: Dask would not try it once more.
        here = self._client.nthreads()
        nannies = self._client.cluster.workers.values()
        pids = {one.pid for one in nannies if one.worker_address in here} - self.killed
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


def elsewhere(workers: DaskWorkers, say: Callable[[str], None]) -> Elsewhere:
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
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    sweep(here, swept, Threads(Library().run, 2), Silent())
    said: list[str] = []
    with local_client(2) as client:
        killer = Killer(client, kills)
        runner = elsewhere(DaskWorkers(client, run_texts, said.append), said.append)
        outcome = sweep(there, swept, runner, killer)
    assert (outcome.num_finished, outcome.num_failed) == (len(swept), 0)
    assert len(killer.killed) == kills
    assert [line for line in said if not line.startswith("lost: ")] == []
    # One that was killed before it was asked had no work to lose.
    assert kills // 2 <= len(said) <= kills
    assert there.read_bytes() == here.read_bytes()


def interrupts_are_ignored() -> bool:
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.long
def test_a_worker_that_was_started_again_ignores_ctrl_c_like_the_first() -> None:
    with local_client(1) as client:
        (nanny,) = client.cluster.workers.values()
        first = client.run(interrupts_are_ignored)
        os.kill(nanny.pid, signal.SIGKILL)
        end = time.monotonic() + 60
        while not (again := set(client.nthreads()) - set(first)):
            assert time.monotonic() < end
        second = client.run(interrupts_are_ignored, workers=list(again))
    assert [*first.values(), *second.values()] == [True, True]


class Joining:
    """A client with one worker, which another one joins later."""

    def __init__(self, version: str) -> None:
        self._introductions = {"tcp://a:1": isthmus.__version__, "tcp://b:1": version}
        self.here = {"tcp://a:1": 2}
        self.ran = 0

    def nthreads(self) -> dict[str, int]:
        return dict(self.here)

    def run(self, _function: object, _text: str, *, workers: list[str], on_error: str) -> object:
        assert on_error == "return"
        self.ran += 1
        return {
            where: Introduction(
                hostname="n", isthmus_version=self._introductions[where]
            ).model_dump_json()
            for where in workers
        }


def test_a_worker_that_joins_later_is_used_and_asked_once_who_it_is() -> None:
    client, said = Joining(isthmus.__version__), list[str]()
    workers = DaskWorkers(client, run_texts, said.append)
    assert workers.threads() == {"tcp://a:1": 2}
    client.here["tcp://b:1"] = 4
    for _ in range(3):
        assert workers.threads() == {"tcp://a:1": 2, "tcp://b:1": 4}
    assert (client.ran, said) == (2, [])


def test_a_worker_of_another_version_that_joins_later_is_named_and_not_used() -> None:
    client, said = Joining("9.9"), list[str]()
    workers = DaskWorkers(client, run_texts, said.append)
    client.here["tcp://b:1"] = 4
    for _ in range(3):
        assert workers.threads() == {"tcp://a:1": 2}
    assert len(said) == 1
    assert said[0].startswith("not used: n (tcp://b:1) has isthmus 9.9, and this is ")


def test_workers_of_another_version_that_are_there_refuse_the_sweep() -> None:
    client = Joining("9.9")
    client.here = {"tcp://b:1": 1}
    with pytest.raises(UsageError, match=r"has isthmus 9\.9, and this is"):
        DaskWorkers(client, run_texts, print)


def test_workers_are_called_by_their_names_and_one_that_was_refused_is_not_asked_again() -> None:
    client = Joining("9.9")
    client.here["tcp://b:1"] = 4
    names = {"tcp://a:1": "n1", "tcp://b:1": "n2"}
    workers = DaskWorkers(client, run_texts, print, names=names, refused={"tcp://b:1"})
    assert workers.threads() == {"n1": 2}
    assert client.ran == 1


def test_when_the_scheduler_is_gone_no_worker_is_there() -> None:
    client = Joining("")

    def gone() -> dict[str, int]:
        raise OSError("Connection refused")

    workers = DaskWorkers(client, run_texts, print)
    client.nthreads = gone  # type: ignore[method-assign]  # it was there before
    assert workers.threads() == {}
