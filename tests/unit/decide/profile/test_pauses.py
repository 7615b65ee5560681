"""Copies after a pause, in a profile and in what is told of it."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fakes.profiles import FakeCopies, cost, identity
from isthmus import _native
from isthmus.decide.profile.measuring import measure_profile
from isthmus.decide.profile.model import Cost, Path, Profile, Way
from isthmus.decide.profile.plan import FULL, QUICK, Effort
from isthmus.move.transfer.plan import CopyPlan, PathCost

KIB = 1 << 10


def measured(copies: FakeCopies, effort: Effort = FULL, *, emulated: bool = False) -> Profile:
    machine = identity(emulated=emulated)
    return measure_profile(machine, copies.open, effort, copies.clock)  # type: ignore[arg-type]


def test_copies_after_a_pause_are_measured_where_others_are() -> None:
    profile = measured(FakeCopies())
    staged = profile.cost(Path.STAGED, "d2h", "pageable")
    driver = profile.cost(Path.DRIVER, "d2h", "pageable")
    assert staged is not None
    assert driver is not None
    assert [point.bytes // KIB for point in driver.after_pause] == [16, 64, 256, 1024]
    for one, more in ((driver, 15e-6), (staged, 50e-6)):
        at = {point.bytes: point.seconds for point in one.points}
        for point in one.after_pause:
            assert point.seconds == pytest.approx(at[point.bytes] + more)


def test_pinning_and_paths_that_pauses_can_not_make_the_cheapest_are_left_out() -> None:
    copies = FakeCopies()
    measured(copies)
    assert copies.asked_after_pause
    assert Path.REGISTERED not in {way.path for way, _ in copies.asked_after_pause}
    asked = {size for way, size in copies.asked_after_pause if way.path == Path.WINDOW}
    assert max(asked) < 1024 * KIB, "a window of one thread takes many times as long there"
    drivers = [size for way, size in copies.asked_after_pause if way.path == Path.DRIVER]
    assert len(drivers) == 2 * 4 * 4, "two visits, two directions, two kinds of memory, four sizes"


def test_each_size_has_turns_at_two_times_because_the_cost_of_pauses_changes() -> None:
    class Changing(FakeCopies):
        def times_after_pause(
            self, ways: Sequence[Way], size_bytes: int, effort: Effort
        ) -> dict[Way, list[float]]:
            found = super().times_after_pause(ways, size_bytes, effort)
            # As long as the first visit to all sizes lasts, nothing else runs on the machine.
            quiet = len(set(self.asked_after_pause)) == len(self.asked_after_pause)
            more = 0.0 if quiet else 20e-6
            return {way: [one + more for one in each] for way, each in found.items()}

    driver = measured(Changing()).cost(Path.DRIVER, "h2d", "pinned")
    assert driver is not None
    at = {point.bytes: point.seconds for point in driver.points}
    for point in driver.after_pause:
        assert point.seconds == pytest.approx(at[point.bytes] + 15e-6 + 10e-6), "the median"


def test_modelled_copies_have_no_pauses() -> None:
    copies = FakeCopies()
    profile = measured(copies, emulated=True)
    assert not copies.asked_after_pause
    assert not any(one.after_pause for one in profile.costs)


def test_a_quick_profile_measures_fewer() -> None:
    copies = FakeCopies()
    measured(copies, QUICK)
    assert {size for _, size in copies.asked_after_pause} == {64 * KIB, 1024 * KIB}


def test_without_time_pauses_are_left_out() -> None:
    copies = FakeCopies(slower=3000)
    profile = measured(copies)
    assert not copies.asked_after_pause
    assert not any(one.after_pause for one in profile.costs)


def test_a_profile_without_pauses_is_read_and_points_must_ascend() -> None:
    document = json.loads(cost(Path.DRIVER, {4: 6e-6}).model_dump_json())
    del document["after_pause"]
    assert Cost.model_validate(document).after_pause == []
    point = {"bytes": 4, "seconds": 1e-5}
    with pytest.raises(ValueError, match="ascending"):
        Cost.model_validate(document | {"after_pause": [point, point]})


def test_explain_names_the_path_after_a_pause_where_it_is_another_one() -> None:
    costs = tuple(
        PathCost(path=path, usable=True, seconds=1e-5, pause_seconds=more, reason="")
        for path, more in (("window_threads", 5e-5), ("driver", 1e-5))
    )
    plan = CopyPlan(
        path="window_threads",
        path_after_pause="driver",
        source="device",
        target="pageable",
        device=0,
        size_bytes=64 * KIB,
        packed=False,
        costs=costs,
        measured=True,
        profile="profile of 2026-11-20",
    )
    assert str(plan).splitlines()[0] == (
        "64 KiB from device to pageable memory: window_threads, after a pause driver "
        "(profile of 2026-11-20)"
    )
    slow = (
        PathCost(path="driver", usable=True, seconds=0.02389573, pause_seconds=None, reason=""),
    )
    assert str(replace(plan, costs=slow)).splitlines()[1].split() == ["driver", "23.9", "ms"]


def test_a_pause_that_is_no_time_is_refused(driver: _native.Driver) -> None:
    context = _native.Context(driver, 0)
    buffers = _native.CopyBuffers(context, host_memory="pageable", size_bytes=4096)
    turns = _native.Turns(min_turns=1, max_turns=1, max_seconds=0)
    with pytest.raises(Exception, match=r"a pause of 2\.\d+ s was asked for; it must be from 0"):
        _native.PathBench(context).measure(
            buffers,
            paths=["driver"],
            direction="h2d",
            size_bytes=4096,
            turns=turns,
            pause_seconds=2,
        )
