"""Processes that begin, end and go on in every way: what they count is whole."""

import os
import signal
from pathlib import Path

import pytest

from preloading import EXEC, WATCH, Place, Watched, libraries

UP = "cuMemcpyHtoD_v2"


def copies(watched: Watched) -> list[int]:
    return [process.copies().get(UP, 0) for process in watched.processes]


@pytest.mark.parametrize(
    ("life", "counted"),
    [
        ("threads", [4001]),
        ("rush", [33]),
        ("forgetful", [1]),
        ("interrupted", [201]),
        ("at_exit", [5]),
        ("forked", [4, 1, 1]),
        ("again", [3, 1]),
        ("closed", [7]),
        ("killed", [1]),
        ("aborted", [1]),
        ("left", [1]),
    ],
)
@pytest.mark.parametrize("mode", ["watch", "exec"])
def test_no_copy_is_lost_however_a_process_ends(
    place: Place, life: str, counted: list[int], mode: str
) -> None:
    program = place.compile("lives.c")
    settings = {**EXEC, "ISTHMUS_EXEC_UP": "1"} if mode == "exec" else {}
    watched = place.watched([program, life], settings)
    assert watched.outcome == place.plain([program, life])
    assert copies(watched) == counted


def test_an_exit_code_is_the_programs_own(place: Place) -> None:
    program = place.compile("lives.c")
    assert place.watched([program, "plain", "42"]).outcome.code == 42
    assert place.watched([program, "killed"]).outcome.code == -signal.SIGKILL


def test_a_process_that_ends_by_itself_says_when(place: Place) -> None:
    program = place.compile("lives.c")
    assert place.watched([program, "plain"]).only.header["end_ns"] > 0
    assert place.watched([program, "left"]).only.header["end_ns"] == 0


def test_a_program_without_a_driver_counts_nothing(place: Place) -> None:
    watched = place.watched([place.compile("lives.c"), "nothing"])
    assert watched.outcome.code == 7
    assert watched.processes == []


def test_nothing_of_a_driver_is_there_before_it_is_loaded(place: Place) -> None:
    program = place.compile("early.c", is_linked=False)
    watched = place.watched([program])
    assert watched.outcome == place.plain([program])
    assert watched.outcome.out == "not there\nnot there\nthere\nno error\nerror\n"


def test_a_parent_and_its_children_know_each_other(place: Place) -> None:
    parent, *children = place.watched([place.compile("lives.c"), "forked"]).processes
    assert {child.header["parent_pid"] for child in children} == {parent.header["pid"]}
    assert len({child.header["pid"] for child in children}) == 2
    assert all(one.header["exec_reason"] == "" for one in (parent, *children))
    assert {one.header["emulated"] for one in (parent, *children)} == {1}


def test_a_forked_child_says_why_nothing_is_replaced_and_its_parent_does_not(place: Place) -> None:
    parent, *children = place.watched([place.compile("lives.c"), "forked"], EXEC).processes
    assert parent.header["exec_reason"] == ""
    assert {child.header["exec_reason"] for child in children} == {
        "a forked child: its copies are the driver's"
    }


def test_a_fork_among_threads_that_copy_holds_nobody_up(place: Place) -> None:
    watched = place.watched([place.compile("lives.c"), "forked_among_threads"])
    assert watched.outcome.out == "done\n"
    assert copies(watched) == [8001]


def test_the_time_is_right_though_a_process_is_interrupted_while_it_asks(place: Place) -> None:
    watched = place.watched([place.compile("clock.c", "-rdynamic")])
    header = watched.only.header
    assert header["end_ns"] - header["begin_ns"] > 0.99 * int(watched.outcome.out)


def test_more_threads_than_rows_are_counted_together(place: Place) -> None:
    counters = place.watched([place.compile("lives.c"), "thousands"]).only
    assert counters.copies() == {UP: 5001}
    assert counters.header["rows_lost"] == 0
    assert len(counters.threads) == 1023
    shared = {row["thread"] for row in counters.rows if row["calls"] > 2}
    assert shared == {1023}


def test_a_program_that_may_write_no_such_file_runs_and_counts_nowhere(place: Place) -> None:
    many_events = {"ISTHMUS_WATCH_EVENTS": "100000"}
    watched = place.watched([place.compile("lives.c"), "limited"], many_events)
    assert watched.outcome.out == "done\n"
    assert (watched.processes, watched.without_room) == ([], 1)


@pytest.mark.parametrize("folder", ["", "/nowhere/at/all", "/proc", "/dev/null"])
def test_a_folder_that_takes_no_file_harms_nobody(place: Place, folder: str) -> None:
    command = [place.compile("lives.c"), "threads"]
    watched = place.watched(command, {"ISTHMUS_WATCH_FOLDER": folder})
    assert watched.outcome == place.plain(command)
    assert watched.processes == []


def test_a_timeline_that_no_disk_or_memory_has_room_for_harms_nobody(place: Place) -> None:
    command = [place.compile("lives.c"), "threads"]
    watched = place.watched(command, {**EXEC, "ISTHMUS_WATCH_EVENTS": str(10**17)})
    assert watched.outcome == place.plain(command)
    assert (watched.processes, watched.without_room) == ([], 1)


def test_a_file_that_is_there_already_is_not_followed(place: Place, tmp_path: Path) -> None:
    """Names have a process's number and begin, and nobody else's file is opened."""
    program = place.compile("lives.c")
    folder = {"ISTHMUS_WATCH_FOLDER": str(tmp_path)}
    place.watched([program, "plain"], folder)
    (made,) = tmp_path.iterdir()
    assert made.stat().st_mode & 0o777 == 0o600
    assert made.stat().st_uid == os.getuid()


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("mode", ["watch", "exec"])
def test_another_preloaded_library_sees_what_it_saw(place: Place, order: str, mode: str) -> None:
    program = place.compile("lives.c")
    hook = place.compile("hook.c", "-shared", "-fPIC", name="libhook.so", is_linked=False)
    ours = libraries() / WATCH
    preload = f"{hook}:{ours}" if order == "before" else f"{ours} {hook}"
    alone = place.watched([program, "threads"], {"LD_PRELOAD": str(hook)})
    assert alone.outcome.out == "done\nhook: 4001 calls\n"
    settings = {**EXEC, "ISTHMUS_EXEC_UP": "1"} if mode == "exec" else {}
    watched = place.watched([program, "threads"], {"LD_PRELOAD": preload, **settings})
    assert watched.outcome == alone.outcome
    assert watched.only.copies() == {UP: 4001}


def test_what_a_program_asks_the_driver_for_passes_another_library_by(place: Place) -> None:
    """As it does without this one: a handle of the driver finds the driver's function."""
    program = place.compile("ways.c")
    hook = place.compile("hook.c", "-shared", "-fPIC", name="libhook.so", is_linked=False)
    for way, calls in {"by_resolver": 11, "linked": 3}.items():
        alone = place.watched([program, way], {"LD_PRELOAD": str(hook)})
        both = place.watched([program, way], {"LD_PRELOAD": f"{libraries() / WATCH}:{hook}"})
        assert both.outcome == alone.outcome
        assert both.only.copies()[UP] == calls


def test_who_asks_for_the_first_of_a_name_gets_another_librarys(place: Place) -> None:
    program = place.compile("ways.c")
    hook = place.compile("hook.c", "-shared", "-fPIC", name="libhook.so", is_linked=False)
    alone = place.watched([program, "by_default_handle"], {"LD_PRELOAD": str(hook)})
    assert alone.outcome.out.endswith("hook: 19 calls\n")
    for preload in (f"{hook}:{libraries() / WATCH}", f"{libraries() / WATCH}:{hook}"):
        both = place.watched([program, "by_default_handle"], {"LD_PRELOAD": preload})
        assert both.outcome == alone.outcome
        assert both.only.copies() == {UP: 19}


def test_counters_lie_in_a_folder_of_any_length(place: Place, tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["long" * 50] * 8)
    folder.mkdir(parents=True)
    program = place.compile("lives.c")
    place.watched([program, "plain"], {"ISTHMUS_WATCH_FOLDER": str(folder)})
    assert len(list(folder.iterdir())) == 1


def test_a_second_driver_is_named(place: Place, tmp_path: Path) -> None:
    second = tmp_path / "libsecond.so"
    second.write_bytes((libraries() / "libisthmus_emulator.so").read_bytes())
    program = place.compile("second.c")
    watched = place.watched([program, second])
    assert watched.outcome == place.plain([program, second])
    assert watched.only.copies() == {UP: 1}
    assert watched.only.header["unwatched"] == "cuMemcpyHtoD_v2"
