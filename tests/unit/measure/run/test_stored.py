"""The list of stored runs, and which of them can go."""

import os
import resource
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.files.journal import is_open
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import find_stored
from isthmus.measure.run.store import RunJournal, runs_folder, save_run
from isthmus.measure.run.stored import (
    State,
    StoredRun,
    expendable,
    remove_run,
    stored_run,
    stored_runs,
)

FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


def a_run(number: int, *, interrupted: bool = False) -> Run:
    """Give the run of a day of January, counted from 0."""
    whole = runs.run(emulated=True, interrupted=interrupted)
    started_at = FIRST_DAY + timedelta(days=number)
    identity = whole.run.model_copy(update={"id": f"{number:08x}", "started_at": started_at})
    return whole.model_copy(update={"run": identity})


def listed() -> list[tuple[str, State]]:
    return [(run.id, run.state) for run in stored_runs()]


def test_every_state_is_listed_the_latest_last() -> None:
    save_run(a_run(0))
    save_run(a_run(1, interrupted=True))
    killed = RunJournal(runs_folder(), a_run(2))
    killed.close()
    running = RunJournal(runs_folder(), a_run(3))
    (runs_folder() / "20250109T000000Z-0000dead.json").write_text('{"run": ')
    (runs_folder() / "20250110T000000Z-0001dead.journal").write_text("")
    assert listed() == [
        ("00000000", State.COMPLETE),
        ("00000001", State.INTERRUPTED),
        ("00000002", State.UNFINISHED),
        ("00000003", State.RUNNING),
        ("0000dead", State.DAMAGED),
        ("0001dead", State.DAMAGED),
    ]
    running.close()
    assert listed()[3] == ("00000003", State.UNFINISHED)


def test_a_file_without_a_time_in_its_name_is_found_by_the_name_that_is_listed() -> None:
    save_run(a_run(0))
    odd = runs_folder() / "foo.json"
    odd.write_text("{")
    assert ("foo.json", State.DAMAGED) in listed()
    assert find_stored("foo.json") == odd


def test_the_latest_runs_that_stay_are_the_latest_of_all_whether_finished_or_not() -> None:
    RunJournal(runs_folder(), a_run(0)).close()
    save_run(a_run(1))
    save_run(a_run(2))
    going = expendable(stored_runs(), keep=2)
    assert [int(run.id, 16) for run in going] == [0]


def test_a_run_is_described_without_its_results_being_read() -> None:
    path = save_run(a_run(0))
    contents = path.read_bytes()
    # Whatever its results are.
    path.write_bytes(contents[: contents.index(b'"results"') + 20])
    (found,) = stored_runs()
    assert (found.device, found.emulated, found.command) == ("Test GPU", True, ["isthmus", "bench"])
    assert (found.started_at, found.path) == (FIRST_DAY, path)


def test_a_run_that_was_killed_when_it_was_complete_is_listed_once_and_removed_whole() -> None:
    killed = RunJournal(runs_folder(), a_run(0))
    killed.close()
    save_run(a_run(0))
    ((found),) = stored_runs()
    assert found.state == State.COMPLETE
    remove_run(found)
    assert list(runs_folder().iterdir()) == []


def test_no_folder_is_no_run() -> None:
    assert stored_runs() == []


@pytest.fixture
def several() -> list[StoredRun]:
    for number in range(4):
        save_run(a_run(number))
    RunJournal(runs_folder(), a_run(4)).close()
    return stored_runs()


@pytest.mark.parametrize(
    ("rules", "going"),
    [
        ({"keep": 2}, [0, 1, 2]),
        ({"keep": 0}, [0, 1, 2, 3, 4]),
        ({"keep": 9}, []),
        ({"older_than": timedelta(days=2)}, [0, 1]),
        ({"older_than": timedelta(days=2), "keep": 4}, [0]),
    ],
)
def test_what_every_rule_lets_go_can_go(
    several: list[StoredRun], rules: dict[str, object], going: list[int]
) -> None:
    now = FIRST_DAY + timedelta(days=4, hours=-1)
    found = expendable(several, now=now, **rules)  # type: ignore[arg-type]
    assert [int(run.id, 16) for run in found] == going


def test_a_run_that_is_being_measured_is_neither_expendable_nor_removed() -> None:
    running = RunJournal(runs_folder(), a_run(0))
    (found,) = stored_runs()
    assert expendable([found], keep=0) == []
    with pytest.raises(UsageError, match="run 00000000 is being measured"):
        remove_run(found)
    (path,) = runs_folder().iterdir()
    assert path == found.path
    running.remove()
    assert not Path(path).exists()


def test_a_file_that_isthmus_has_not_named_is_never_expendable() -> None:
    (save_run(a_run(0)).parent / "notes.json").write_text("{}")
    (runs_folder() / "20260101-mine.json").write_text("{}")
    assert len(stored_runs()) == 3
    assert [int(run.id, 16) for run in expendable(stored_runs(), keep=0)] == [0]


def test_a_run_that_too_few_descriptors_hide_is_not_damaged_and_never_expendable() -> None:
    RunJournal(runs_folder(), a_run(0)).close()
    (path,) = runs_folder().iterdir()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        for reading in (stored_runs, lambda: stored_run(path), lambda: is_open(path)):
            with pytest.raises(UsageError, match="can't open more files: Too many open files"):
                reading()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [run.state for run in stored_runs()] == [State.UNFINISHED]
