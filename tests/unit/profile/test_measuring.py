from dataclasses import replace

import pytest

from fakes.profiles import MIB, FakeCopies, identity
from isthmus.errors import CorruptTransfer
from isthmus.profile.costs import reigns
from isthmus.profile.measuring import measure_profile
from isthmus.profile.model import Path, Profile, Way
from isthmus.profile.plan import FULL, QUICK, Effort

QUARTER = 0.25


def measured(copies: FakeCopies, effort: Effort = FULL) -> Profile:
    return measure_profile(identity(), copies.open, effort, copies.clock)  # type: ignore[arg-type]


def sizes_of(profile: Profile, path: Path) -> list[int]:
    cost = profile.cost(path, "h2d", "pageable")
    return [] if cost is None else [point.bytes for point in cost.points]


@pytest.mark.parametrize("effort", [FULL, QUICK])
@pytest.mark.parametrize("slower", [1.0, 30.0, 3000.0])
def test_the_time_is_never_overrun_by_more_than_a_quarter(effort: Effort, slower: float) -> None:
    copies = FakeCopies(slower=slower)
    assert measured(copies, effort).measurement.seconds < effort.budget_s * (1 + QUARTER)


def test_all_ways_are_measured_in_both_directions_for_both_kinds_of_memory() -> None:
    ways = {(c.path, c.direction, c.host_memory) for c in measured(FakeCopies()).costs}
    both = [(way, memory) for way in ("h2d", "d2h") for memory in ("pageable", "pinned")]
    assert ways >= {(path, *one) for path in ("driver", "window", "window_threads") for one in both}
    assert ways >= {(path, way, "pageable") for path in ("staged", "registered") for way, _ in both}
    assert not [way for way in ways if way[0] in {"staged", "registered"} and way[2] == "pinned"]


def test_the_largest_copies_are_reached_where_there_is_time() -> None:
    assert sizes_of(measured(FakeCopies()), Path.STAGED)[-1] == 256 * MIB
    assert sizes_of(measured(FakeCopies(), QUICK), Path.STAGED)[-1] == 64 * MIB


def test_a_slow_machine_gives_up_the_largest_copies_of_all_ways_alike() -> None:
    profile = measured(FakeCopies(slower=30))
    assert 4 <= sizes_of(profile, Path.DRIVER)[-1] < 256 * MIB
    assert sizes_of(profile, Path.STAGED)[-1] <= sizes_of(profile, Path.DRIVER)[-1]


def test_sizes_are_denser_around_crossovers_and_these_are_found() -> None:
    copies = FakeCopies()
    profile = measured(copies)
    assert len(sizes_of(profile, Path.WINDOW)) > len(
        [s for s in FULL.sizes if s <= sizes_of(profile, Path.WINDOW)[-1]]
    )
    first = reigns(profile, "h2d", "pageable")[0]
    assert first.path == Path.WINDOW
    # Where 0.2 us + n / 1 GB/s is 1 us + n / 5 GB/s, or up to 10 % more.
    assert 1000 <= first.last_bytes <= 1250


def test_a_window_that_has_fallen_far_behind_is_followed_no_further() -> None:
    profile = measured(FakeCopies())
    assert sizes_of(profile, Path.WINDOW)[-1] <= 4 * MIB
    assert sizes_of(profile, Path.DRIVER)[-1] == 256 * MIB


def test_a_way_that_can_not_here_is_noted_with_its_reason() -> None:
    copies = FakeCopies()
    copies.absent = {Path.WINDOW: "no backend", Path.WINDOW_THREADS: "no backend"}
    profile = measured(copies)
    assert {n.path for n in profile.not_measured} == {"window", "window_threads"}
    assert {n.reason for n in profile.not_measured} == {"no backend"}
    assert profile.window_opening_seconds is None
    assert profile.cost(Path.WINDOW, "h2d", "pageable") is None


def test_a_way_that_ends_at_a_size_keeps_what_was_measured() -> None:
    class Short(FakeCopies):
        def seconds(self, way: Way, size_bytes: int, *, point_s: float) -> float:
            self.absent = {Path.WINDOW_THREADS: "too long"} if size_bytes > MIB else {}
            return super().seconds(way, size_bytes, point_s=point_s)

    profile = measured(Short())
    assert sizes_of(profile, Path.WINDOW_THREADS)[-1] == MIB
    assert profile.not_measured == []


def test_wrong_bytes_end_it() -> None:
    class Corrupt(FakeCopies):
        def seconds(self, way: Way, size_bytes: int, *, point_s: float) -> float:
            if size_bytes > 1024:
                raise CorruptTransfer("3 bytes differ")
            return super().seconds(way, size_bytes, point_s=point_s)

    with pytest.raises(CorruptTransfer):
        measured(Corrupt())


def test_little_memory_means_shorter_copies() -> None:
    profile = measured(FakeCopies(most_bytes=MIB))
    assert sizes_of(profile, Path.DRIVER)[-1] == MIB


def test_no_point_is_measured_twice() -> None:
    copies = FakeCopies()
    measured(copies, replace(FULL, rounds=8))
    assert len(copies.asked) == len(set(copies.asked))


def test_curves_ascend_in_size_and_the_effort_is_told() -> None:
    for effort in (FULL, QUICK):
        profile = measured(FakeCopies(), effort)
        assert profile.measurement.quick == effort.quick
        for cost in profile.costs:
            assert [p.bytes for p in cost.points] == sorted({p.bytes for p in cost.points})
