"""Processes that draw figures: the same pictures as without them, whatever happens to them."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from multiprocessing import popen_spawn_posix
from pathlib import Path

import pytest

from isthmus.show.document.drawers import Drawers

pytest.importorskip("vl_convert")


def bar(height: int) -> str:
    return json.dumps({"data": {"values": [{}]}, "mark": "bar", "height": height})


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.usefixtures("two_cores")
def test_two_processes_draw_what_this_one_draws_in_the_same_order() -> None:
    specifications = [bar(height) for height in range(10, 70, 10)]
    with Drawers.started() as several:
        processes = multiprocessing.active_children()
        drawn = several.draw(specifications)
    assert drawn == Drawers().draw(specifications)
    assert len(set(drawn)) == len(specifications)
    assert [process.exitcode for process in processes] == [0, 0]


@pytest.mark.usefixtures("two_cores")
def test_figures_of_a_process_that_is_killed_are_drawn_here() -> None:
    specifications = [bar(height) for height in range(10, 40, 10)]
    with Drawers.started() as several:
        for process in multiprocessing.active_children():
            process.kill()
        assert several.draw(specifications) == Drawers().draw(specifications)


@pytest.mark.usefixtures("two_cores")
def test_processes_that_cannot_be_started_are_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(popen_spawn_posix, "Popen", refused)
    with Drawers.started() as none:
        assert none.draw([bar(1)]) == Drawers().draw([bar(1)])


@pytest.mark.usefixtures("two_cores")
def test_a_specification_that_is_refused_is_an_error_with_several_processes_too() -> None:
    with pytest.raises(ValueError, match="conversion failed"), Drawers.started() as several:
        several.draw(['{"mark": 1}', bar(1)])


@pytest.mark.usefixtures("two_cores")
def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("multiprocessing", "json", "threading", "vl_convert", "isthmus"):
        (tmp_path / f"{name}.py").write_text(f"open('imported-{name}', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    with Drawers.started() as several:
        assert len(several.draw([bar(1), bar(2)])) == 2
    assert not [*tmp_path.glob("imported-*")]


PROGRAM = """
import multiprocessing, os, sys
os.sched_getaffinity = lambda _: {0, 1}
from isthmus.show.document.drawers import Drawers
if __name__ == "__main__":
    with Drawers.started() as several:
        several.draw(['{"mark": "bar"}'] * 2)
        print(*(one.pid for one in multiprocessing.active_children()), flush=True)
        os.read(0, 1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_ends_early_leaves_no_process_and_they_say_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, "-P", tmp_path / "program.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        pids = program.stdout.readline().split()
        if number == signal.SIGINT:  # as a terminal does: to all of them
            os.killpg(program.pid, number)
        else:
            program.kill()
        # The pipes end when the last of the processes has ended.
        said = program.communicate(timeout=60)[1]
    assert len(pids) == 2
    assert said.count("KeyboardInterrupt") == (number == signal.SIGINT)


def test_one_core_draws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with Drawers.started() as alone:
        assert alone.pool is None
