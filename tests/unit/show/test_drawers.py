"""Processes that draw figures: the same pictures as without them, whatever happens to them."""

import json
import os
import signal

import pytest

from isthmus.show.document import drawers
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
        processes = several.processes
        drawn = several.draw(specifications)
    assert drawn == Drawers().draw(specifications)
    assert len(set(drawn)) == len(specifications)
    assert [process.returncode for process in processes] == [0, 0]


@pytest.mark.usefixtures("two_cores")
def test_figures_of_a_process_that_is_killed_are_drawn_here() -> None:
    specifications = [bar(height) for height in range(10, 40, 10)]
    with Drawers.started() as several:
        for process in several.processes:
            process.kill()
        assert several.draw(specifications) == Drawers().draw(specifications)


@pytest.mark.usefixtures("two_cores")
def test_processes_that_cannot_be_started_are_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawers, "_COMMAND", ("/nowhere/python",))
    with Drawers.started() as none:
        assert none.draw([bar(1)]) == Drawers().draw([bar(1)])


@pytest.mark.usefixtures("two_cores")
def test_a_specification_that_is_refused_is_an_error_with_several_processes_too() -> None:
    with pytest.raises(ValueError, match="conversion failed"), Drawers.started() as several:
        several.draw(['{"mark": 1}', bar(1)])


def failing(started: list[Drawers]) -> None:
    with Drawers.started() as several:
        started.append(several)
        raise KeyboardInterrupt


@pytest.mark.usefixtures("two_cores")
def test_a_program_that_fails_leaves_no_process_behind() -> None:
    started: list[Drawers] = []
    with pytest.raises(KeyboardInterrupt):
        failing(started)
    (several,) = started
    assert [process.poll() for process in several.processes] == [-signal.SIGKILL] * 2


def test_one_core_draws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with Drawers.started() as alone:
        assert not alone.processes
