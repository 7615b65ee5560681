import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import measuring
from fakes.session import Watcher
from isthmus.measure.bench.fresh_process import ProcessEnded, measure_in_fresh_process
from isthmus.measure.bench.invocation import Request
from isthmus.measure.bench.tests.catalogue import TESTS

REQUEST = Request(tests=TESTS[:2], repeat=3)
FAKES = str(Path(measuring.__file__).parents[1])


@pytest.fixture(autouse=True)
def _found_by_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", FAKES)


def never() -> bool:
    return False


def test_a_fresh_process_gives_its_run_and_tells_of_every_point() -> None:
    watcher = Watcher()
    run = measure_in_fresh_process(REQUEST, watcher, never, measuring.measure_points)
    assert watcher.started == [f"{index}/2 {TESTS[index].name} 4096" for index in range(2)]
    assert [result for found in watcher.finished for result in found] == run.results
    assert not run.run.interrupted


def test_a_process_that_is_told_to_stop_gives_what_it_has() -> None:
    stop = measure_in_fresh_process(REQUEST, Watcher(), lambda: True, measuring.measure_until_told)
    assert stop.run.interrupted
    assert stop.results == []


def test_an_error_of_a_process_is_told_with_its_hint() -> None:
    with pytest.raises(ProcessEnded, match="no 2 tests") as caught:
        measure_in_fresh_process(REQUEST, Watcher(), never, measuring.refuse)
    assert caught.value.hint == "fewer"


def test_a_process_that_is_killed_is_an_error_that_names_the_signal() -> None:
    with pytest.raises(ProcessEnded, match="was ended by SIGKILL and left no results"):
        measure_in_fresh_process(REQUEST, Watcher(), never, measuring.crash)


def test_a_process_that_is_interrupted_before_it_measures_measures() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert measuring.measure_interrupted() == "2 tests"
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_process_that_is_killed_when_it_is_told_to_stop_is_an_error() -> None:
    with pytest.raises(ProcessEnded, match="was ended by SIGKILL and left no results"):
        measure_in_fresh_process(REQUEST, Watcher(), lambda: True, measuring.crash_when_told)


def children() -> list[int]:
    """Give the processes that this one has started and not waited for."""
    threads = Path("/proc/self/task").iterdir()
    return [int(pid) for one in threads for pid in (one / "children").read_text("ascii").split()]


@pytest.fixture
def when_it_has_ended() -> Callable[[], bool]:
    """Wait for the measuring process, not for those that other tests have left."""
    before = children()

    def wait() -> bool:
        for process in set(children()) - set(before):
            os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        return True

    return wait


def test_what_a_process_has_sent_before_it_ended_counts_though_it_can_no_longer_be_stopped(
    when_it_has_ended: Callable[[], bool],
) -> None:
    run = measure_in_fresh_process(REQUEST, Watcher(), when_it_has_ended, measuring.measure_points)
    assert len({result.test for result in run.results}) == 2


def test_a_process_that_has_ended_before_it_is_told_to_stop_is_an_error(
    when_it_has_ended: Callable[[], bool],
) -> None:
    with pytest.raises(ProcessEnded, match="was ended by SIGKILL and left no results"):
        measure_in_fresh_process(REQUEST, Watcher(), when_it_has_ended, measuring.crash)


def test_no_process_is_left() -> None:
    before = children()
    measure_in_fresh_process(REQUEST, Watcher(), never, measuring.measure_points)
    assert children() == before


def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pickle", "multiprocessing", "signal", "isthmus"):
        (tmp_path / f"{name}.py").write_text(f"open({name!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    measure_in_fresh_process(REQUEST, Watcher(), never, measuring.measure_points)
    assert {path.suffix for path in tmp_path.iterdir()} == {".py"}
