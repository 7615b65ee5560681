import json
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fakes.sweeps import Listener, Made, Runner, RunPoint
from isthmus.errors import Deadlock, UsageError, WriteError
from isthmus.sim.axes import points, read_axes
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.result import SimulationResult
from isthmus.sim.store import MemoryStore, Row, SweepStore
from isthmus.sim.sweep import Outcome, Threads, num_cores, run_sweep, sweep_identity

BASE = Base(workload="bfs", machine="paper-gtx480", policy="ranges", seed=0, settings={})
AXES = read_axes(["seed=0..7", "link.bandwidth=16GB/s,32GB/s"])
POINTS = build_points(BASE, points(AXES))
KEYS = [point.key for point in POINTS]


def sweep(
    store: SweepStore,
    run: RunPoint,
    should_stop: Callable[[], bool] = lambda: False,
    num_threads: int = 2,
) -> Outcome:
    with store:
        return run_sweep(
            POINTS,
            store,
            runner=Threads(run, num_threads),
            observer=Listener(),
            should_stop=should_stop,
        )


def opened(path: Path, identity: str = "this") -> SweepStore:
    return SweepStore(path, identity, KEYS)


def test_every_point_is_run_once_and_is_in_the_table_in_the_order_of_the_axes(
    tmp_path: Path,
) -> None:
    runner, path = Runner(), tmp_path / "s.parquet"
    outcome = sweep(opened(path), runner)
    assert outcome == Outcome(num_finished=16, num_reused=0, num_failed=0, num_points=16)
    assert sorted(runner.seeds) == sorted([*range(8), *range(8)])
    rows = pq.read_table(path).to_pylist()
    assert [row["seed"] for row in rows] == [point.seed for point in POINTS]
    assert [row["link.bandwidth"] for row in rows[:2]] == [16_000_000_000, 32_000_000_000]
    assert all(row["modelled"] and row["error"] is None for row in rows)
    assert list(tmp_path.iterdir()) == [path]


def test_equal_sweeps_have_equal_files_on_any_number_of_threads(tmp_path: Path) -> None:
    for count in (1, 3):
        sweep(opened(tmp_path / f"{count}.parquet"), Runner(), num_threads=count)
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "3.parquet").read_bytes()


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    sweep(opened(path), Runner())
    again = Runner()
    assert sweep(opened(path), again).num_reused == 16
    assert again.seeds == []


def test_a_sweep_that_is_stopped_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    runner = Runner()
    first = sweep(opened(path), runner, lambda: len(runner.seeds) >= 3, num_threads=1)
    assert 0 < first.num_finished < 16
    assert pq.read_table(path).num_rows == first.num_finished
    second = sweep(opened(path), Runner())
    assert (second.num_finished, second.num_reused) == (16, first.num_finished)


def test_runs_under_way_hear_that_they_should_stop(tmp_path: Path) -> None:
    begun = threading.Event()

    def endless(_point: SweepPoint, go_on: Callable[[], bool]) -> SimulationResult:
        begun.set()
        while go_on():
            pass
        raise KeyboardInterrupt

    outcome = sweep(opened(tmp_path / "s.parquet"), endless, begun.is_set)
    assert outcome.num_finished == 0


def test_runs_under_way_have_ended_when_a_point_that_can_not_be_kept_ends_the_sweep() -> None:
    class Full(MemoryStore):
        def add(self, key: str, row: Row) -> None:
            raise WriteError(f"can't write {key}: {len(row)} columns")

    begun, ended = threading.Event(), threading.Event()

    def run(point: SweepPoint, go_on: Callable[[], bool]) -> SimulationResult:
        if point.key == KEYS[0]:
            assert begun.wait(60)
            return Made(point.seed)  # type: ignore[return-value]  # see Made
        begun.set()
        while go_on():
            pass
        ended.set()
        raise Deadlock

    with pytest.raises(WriteError):
        sweep(Full(), run)
    assert ended.is_set()


def test_a_sweep_that_was_killed_goes_on_from_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    journal = path.with_name("s.parquet.journal")
    lines = [{"sweep": 1, "identity": "this"}, {"key": KEYS[0], "row": {"seed": 0, "error": None}}]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"key": "cut o')
    assert sweep(opened(path), Runner()).num_reused == 1
    assert not journal.exists()
    assert pq.read_table(path).num_rows == 16


def test_a_point_that_fails_has_its_error_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    outcome = sweep(opened(path), Runner(fails_for={3}))
    assert (outcome.num_finished, outcome.num_failed) == (16, 2)
    failed = [row for row in pq.read_table(path).to_pylist() if row["error"]]
    assert {row["seed"] for row in failed} == {3}
    assert {row["total_ps"] for row in failed} == {None}


def test_what_is_no_fault_of_a_point_ends_the_sweep_with_the_finished_kept(tmp_path: Path) -> None:
    def broken(point: SweepPoint, _go_on: Callable[[], bool]) -> SimulationResult:
        if point.seed == 5:
            raise ZeroDivisionError
        return Made(point.seed)  # type: ignore[return-value]  # see Made

    path = tmp_path / "s.parquet"
    with pytest.raises(ZeroDivisionError):
        sweep(opened(path), broken, num_threads=1)
    assert 1 <= pq.read_table(path).num_rows < 16


@pytest.mark.parametrize("contents", [b"", b"PAR1 is not all", b"name,value\n"])
def test_a_file_of_something_else_is_refused_and_left_alone(
    tmp_path: Path, contents: bytes
) -> None:
    path = tmp_path / "s.parquet"
    path.write_bytes(contents)
    with pytest.raises(UsageError, match="is of another sweep, or isn't one"):
        opened(path)
    assert path.read_bytes() == contents


def test_a_file_of_another_sweep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    sweep(opened(path), Runner())
    with pytest.raises(UsageError, match="another sweep"):
        opened(path, "that")


def test_a_folder_that_is_not_there_is_a_write_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="can't write"):
        sweep(opened(tmp_path / "absent" / "s.parquet"), Runner())


def test_other_columns_or_another_base_make_another_sweep() -> None:
    same = sweep_identity(BASE, AXES)
    assert same == sweep_identity(BASE, list(reversed(AXES)))
    assert same == sweep_identity(BASE, read_axes(["seed=9", "link.bandwidth=1GB/s"]))
    assert same != sweep_identity(BASE, AXES[:1])
    changed = Base(**{**vars(BASE), "policy": "tree"})
    assert same != sweep_identity(changed, AXES)


def test_without_a_file_points_are_kept_in_memory() -> None:
    store = MemoryStore()
    assert sweep(store, Runner()).num_finished == 16
    assert store.row(KEYS[0])["total_ps"] == 1000


def test_the_observer_hears_of_each_point_in_turn() -> None:
    listener = Listener()
    with MemoryStore() as store:
        run_sweep(
            POINTS,
            store,
            runner=Threads(Runner(), 3),
            observer=listener,
            should_stop=lambda: False,
        )
    assert listener.heard == [(count, 16) for count in range(1, 17)]


def test_there_is_a_core() -> None:
    assert num_cores() >= 1
