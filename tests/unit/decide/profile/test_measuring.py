from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fakes.profiles import MIB, FakeCopies, identity
from isthmus.decide.profile.costs import reigns
from isthmus.decide.profile.measuring import Found, measure_profile
from isthmus.decide.profile.model import MemoryKind, Path, Profile, StagingThreads, Timing, Way
from isthmus.decide.profile.plan import FULL, QUICK, Effort, cheapest, fewest_threads
from isthmus.errors import CorruptTransfer

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
    # Where 0.2 us + n / 1 GB/s is 1.3 * (1 us + n / 5 GB/s).
    assert 1400 <= first.last_bytes <= 1550


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
        def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
            self.absent = {Path.WINDOW_THREADS: "too long"} if size_bytes > MIB else {}
            return super().times(ways, size_bytes, effort)

    profile = measured(Short())
    assert sizes_of(profile, Path.WINDOW_THREADS)[-1] == MIB
    assert profile.not_measured == []


def test_wrong_bytes_end_it() -> None:
    class Corrupt(FakeCopies):
        def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
            if size_bytes > 1024:
                raise CorruptTransfer("3 bytes differ")
            return super().times(ways, size_bytes, effort)

    with pytest.raises(CorruptTransfer):
        measured(Corrupt())


def test_little_memory_means_shorter_copies() -> None:
    profile = measured(FakeCopies(max_bytes=MIB))
    assert sizes_of(profile, Path.DRIVER)[-1] == MIB


def test_no_point_is_measured_more_than_twice() -> None:
    copies = FakeCopies()
    copies.absent = {Path.STAGED: "staged copies are tried before the rest"}
    measured(copies, replace(FULL, rounds=8))
    assert max(Counter(copies.asked).values()) == 2
    hasty = FakeCopies()
    hasty.absent = {Path.STAGED: "staged copies are tried before the rest"}
    measured(hasty, QUICK)
    assert max(Counter(hasty.asked).values()) == 1


def test_curves_ascend_in_size_and_the_effort_is_told() -> None:
    for effort in (FULL, QUICK):
        profile = measured(FakeCopies(), effort)
        assert profile.measurement.quick == effort.quick
        for cost in profile.costs:
            assert [p.bytes for p in cost.points] == sorted({p.bytes for p in cost.points})


def test_the_ways_of_one_group_are_measured_together_at_each_size() -> None:
    calls: list[tuple[Way, ...]] = []

    class Watched(FakeCopies):
        def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
            calls.append(tuple(ways))
            return super().times(ways, size_bytes, effort)

    measured(Watched())
    for ways in calls:
        assert len({(way.direction, way.host_memory) for way in ways}) == 1
    most = max(calls, key=len)
    assert {way.path for way in most} >= {Path.DRIVER, Path.WINDOW, Path.WINDOW_THREADS}


def test_sizes_at_which_ways_cross_are_halved_beforehand() -> None:
    sizes = set(sizes_of(measured(FakeCopies()), Path.DRIVER))
    assert sizes >= {6 << 10, 12 << 10, 24 << 10, 48 << 10, 96 << 10, 192 << 10}
    assert sizes >= {3 * MIB // 2, 3 * MIB, 6 * MIB, 12 * MIB}


def test_no_way_is_measured_at_sizes_at_which_it_can_not_be_taken_or_pay() -> None:
    class Level(FakeCopies):
        """No way is ever hopeless."""

        def _seconds(self, way: Way, size_bytes: int) -> float:
            del way
            return 1e-5 + size_bytes / 40e9

    profile = measured(Level())
    assert sizes_of(profile, Path.WINDOW)[-1] == 16 * MIB
    assert sizes_of(profile, Path.WINDOW_THREADS)[0] == 1024
    assert sizes_of(profile, Path.WINDOW_THREADS)[-1] == 16 * MIB
    assert sizes_of(profile, Path.STAGED)[0] == 16 << 10
    assert sizes_of(profile, Path.REGISTERED) == [256 << 10, MIB, 4 * MIB, 16 * MIB]


def test_the_fewest_threads_that_are_within_2_percent_of_the_best_stage_uploads() -> None:
    assert fewest_threads({4: 1.03, 6: 1.019, 8: 1.0, 10: 1.1}, "h2d") == 6
    assert fewest_threads({3: 5.0}, "h2d") == 3


def test_downloads_are_staged_by_the_fewest_threads_within_5_percent_of_the_best() -> None:
    # As on an H100: threads that wait for the link take CPU time.
    seconds = {4: 1.794e-3, 6: 1.470e-3, 8: 1.426e-3, 10: 1.460e-3}
    assert fewest_threads(seconds, "d2h") == 6
    assert fewest_threads(seconds, "h2d") == 8


def test_copies_are_staged_with_the_threads_that_were_found() -> None:
    copies = FakeCopies()
    profile = measured(copies)
    assert profile.staging_threads == StagingThreads(h2d=8, d2h=8)
    assert copies.staged_with == profile.staging_threads


def test_without_time_or_choice_the_number_of_threads_is_not_measured() -> None:
    unknown = StagingThreads(h2d=None, d2h=None)
    assert measured(FakeCopies(slower=300)).staging_threads == unknown
    alone = FakeCopies()
    alone.threads = {}
    assert measured(alone).staging_threads == unknown
    unable = FakeCopies()
    unable.absent = {Path.STAGED: "there is only one core to copy with"}
    profile = measured(unable)
    assert profile.staging_threads == unknown
    assert {n.path for n in profile.not_measured} == {"staged"}


def test_a_slow_link_is_staged_over_in_shorter_copies_to_find_the_threads() -> None:
    sizes: list[int] = []

    class Watched(FakeCopies):
        def staging_times(
            self, direction: str, size_bytes: int, effort: Effort
        ) -> dict[int, float]:
            sizes.append(size_bytes)
            return super().staging_times(direction, size_bytes, effort)

    measured(Watched(slower=20))
    assert sizes
    assert all(8 * MIB <= size < 64 * MIB for size in sizes)


def test_the_driver_s_copy_is_chosen_unless_another_is_clearly_quicker() -> None:
    for path in (Path.WINDOW, Path.WINDOW_THREADS, Path.STAGED):
        assert cheapest({Path.DRIVER: 1.29, path: 1.0}) == Path.DRIVER
        assert cheapest({Path.DRIVER: 1.31, path: 1.0}) == path
    assert cheapest({Path.WINDOW: 1.29, Path.WINDOW_THREADS: 1.0}) == Path.WINDOW
    assert cheapest({Path.WINDOW: 1.31, Path.WINDOW_THREADS: 1.0}) == Path.WINDOW_THREADS
    assert cheapest({Path.REGISTERED: 1e-6}) is None, "taken by its name only"


def test_threads_read_through_windows_up_to_twice_the_drivers_cpu_time() -> None:
    costs = {Path.DRIVER: 10.0, Path.WINDOW: 20.0, Path.WINDOW_THREADS: 4.0}
    assert cheapest(costs, "d2h") == Path.WINDOW_THREADS
    costs[Path.WINDOW] = 20.1
    assert cheapest(costs, "d2h") == Path.DRIVER
    assert cheapest(costs, "h2d") == Path.WINDOW_THREADS


class SlowAtFirst(FakeCopies):
    """As if other programs had kept the machine busy for the first half of the time."""

    def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
        found = super().times(ways, size_bytes, effort)
        slowed = {way: 1.0 if (way, size_bytes) in self.visited else 3.0 for way in found.seconds}
        self.visited.update((way, size_bytes) for way in ways)
        timings = {way: Timing(seconds=slowed[way] * s) for way, s in found.seconds.items()}
        return replace(found, timings=timings)

    def __init__(self) -> None:
        super().__init__()
        self.visited: set[object] = set()


def test_points_are_measured_twice_while_time_is_left_and_the_lesser_figure_stands() -> None:
    undisturbed, disturbed = measured(FakeCopies()), measured(SlowAtFirst())
    for size in (4, 64, 16384):  # short ones first, while time is left
        costs = [p.cost(Path.DRIVER, "d2h", "pageable") for p in (undisturbed, disturbed)]
        seconds = [next(q.seconds for q in c.points if q.bytes == size) for c in costs if c]
        assert seconds[0] == pytest.approx(seconds[1])


def test_the_memory_that_copies_need_is_measured_too() -> None:
    profile = measured(FakeCopies())
    pinned, pool = (profile.memory_cost(kind) for kind in (MemoryKind.PINNED, MemoryKind.POOL))
    assert pinned is not None
    assert pool is not None
    assert [point.bytes for point in pinned.points][-1] == 64 * MIB
    assert pool.points[-1].allocate.seconds < pinned.points[-1].allocate.seconds
    assert profile.memory_cost(MemoryKind.NEW_PINNED) is None
    downloads = {one.path: one.points for one in profile.new_memory_downloads}
    assert downloads.keys() == {Path.DRIVER, Path.STAGED}
    assert downloads[Path.STAGED][-1].bytes == 64 * MIB


def test_a_slow_machine_leaves_the_largest_memory_out() -> None:
    pinned = measured(FakeCopies(slower=100)).memory_cost(MemoryKind.PINNED)
    assert pinned is not None
    assert pinned.points[-1].bytes < 64 * MIB


def test_the_spread_of_the_turns_is_kept_and_covers_both_measurements() -> None:
    class Spread(FakeCopies):
        """Whose second measurement is slower."""

        def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
            found = super().times(ways, size_bytes, effort)
            factor = 1 + self.asked.count((ways[0], size_bytes)) / 10
            timings = {
                way: Timing(seconds=factor * s, low_seconds=0.9 * factor * s, high_seconds=2 * s)
                for way, s in found.seconds.items()
            }
            return Found(timings=timings)

    cost = measured(Spread()).cost(Path.DRIVER, "h2d", "pinned")
    assert cost is not None
    first = cost.points[0]
    assert first.low_seconds == pytest.approx(0.9 * first.seconds)
    assert first.high_seconds == pytest.approx(2 * first.seconds / 1.1)


def test_staged_copies_by_fewer_threads_are_kept() -> None:
    times = [time for time in measured(FakeCopies()).staging_times if time.direction == "h2d"]
    assert [time.threads for time in times] == [2, 4, 6, 8, 10, 16]
    assert times[0].seconds > times[-1].seconds
