import dataclasses
from collections.abc import Sequence

import pytest

from fakes.advice import COPIES, KIB, MEMORY, MIB, costs, line, machine_profile, memory
from isthmus.decide.advice.answer import Advice, advice_on, classic_answers
from isthmus.decide.advice.break_evens import Range
from isthmus.decide.advice.interval import Curve
from isthmus.decide.advice.question import Buffer, Direction, Question
from isthmus.decide.advice.ways import Name, Way
from isthmus.decide.profile.model import MemoryCost, MemoryKind, MemoryPoint, Path, Profile, Timing
from isthmus.errors import UsageError


def asked(profile: Profile | None = None, **question: object) -> Advice:
    return advice_on(Question(**question), profile or machine_profile())  # type: ignore[arg-type]


def way_of(advice: Advice, name: Name) -> Way:
    return next(way for way in advice.ways if way.name == name)


def allocation(kind: MemoryKind, size: int) -> float:
    """Allocating and freeing, by the lines of the made-up machine."""
    return 1.25 * line(*MEMORY[kind], size)


def copy(path: Path, host: str, size: int) -> float:
    return line(*COPIES[path, host], size)


def sizes_that_pay(advice: Advice, name: Name) -> Sequence[Range]:
    return next(one for one in advice.pays if one.name == name).sizes


def test_a_way_costs_its_allocation_its_copies_and_its_freeing() -> None:
    way = way_of(asked(size_bytes=MIB, uses=3), Name.PINNED)
    assert way.prepare.seconds == pytest.approx(line(*MEMORY[MemoryKind.PINNED], MIB))
    assert way.copies.seconds == pytest.approx(3 * copy(Path.DRIVER, "pinned", MIB))
    assert way.release.seconds == pytest.approx(way.prepare.seconds / 4)
    parts = (way.prepare, way.copies, way.release)
    assert way.cost.seconds == pytest.approx(sum(part.seconds for part in parts))


def test_the_fastest_way_comes_first_and_is_the_best() -> None:
    advice = asked(size_bytes=64 * MIB)
    seconds = [way.cost.seconds for way in advice.ways]
    assert seconds == sorted(seconds)
    assert advice.best.name == Name.POOL
    assert len(advice.ways) == 6


def with_quick_threads() -> Profile:
    """Several threads are the quickest through a window, in both directions; the driver isn't."""
    threads = [
        cost.model_copy(update={"path": Path.WINDOW_THREADS, "points": points})
        for cost in costs()
        if cost.path == Path.WINDOW
        for points in [[p.model_copy(update={"seconds": 1e-7}) for p in cost.points]]
    ]
    return machine_profile(costs=[*costs(), *threads])


@pytest.mark.parametrize(
    ("name", "direction", "factor"),
    [
        (Name.POOL, Direction.TO_DEVICE, 1),
        (Name.ISTHMUS, Direction.TO_DEVICE, 1.1),
        (Name.ISTHMUS, Direction.ROUND_TRIP, 1.1),
    ],
)
def test_what_several_threads_take_longer_in_programs_is_in_the_cost_that_is_shown(
    name: Name, direction: Direction, factor: float
) -> None:
    way = way_of(asked(with_quick_threads(), size_bytes=4 * KIB, direction=direction), name)
    assert set(way.paths.values()) == {Path.WINDOW_THREADS}
    assert way.copies.seconds == pytest.approx(factor * len(way.paths) * 1e-7)


def test_an_upload_of_what_the_driver_has_just_downloaded_shows_that_it_takes_longer() -> None:
    profile = with_quick_threads()
    up = [c for c in profile.costs if c.path != Path.WINDOW_THREADS or c.direction == "h2d"]
    profile = profile.model_copy(update={"costs": up})
    way = way_of(asked(profile, size_bytes=MIB, direction=Direction.ROUND_TRIP), Name.POOL)
    assert way.paths == {"h2d": Path.WINDOW_THREADS, "d2h": Path.DRIVER}
    assert way.copies.seconds == pytest.approx(1.3e-7 + copy(Path.DRIVER, "pinned", MIB))


def test_registering_new_memory_costs_malloc_and_the_registration() -> None:
    way = way_of(asked(size_bytes=MIB), Name.REGISTERED)
    expected = sum(line(*MEMORY[k], MIB) for k in (MemoryKind.PAGEABLE, MemoryKind.REGISTERED))
    assert way.prepare.seconds == pytest.approx(expected)


def test_memory_that_exists_is_registered_without_malloc() -> None:
    way = way_of(asked(size_bytes=MIB, buffer=Buffer.PAGEABLE), Name.KEPT_REGISTERED)
    assert way.prepare.seconds == pytest.approx(line(*MEMORY[MemoryKind.REGISTERED], MIB))


def test_a_round_trip_copies_both_ways_and_a_reduction_only_a_result_back() -> None:
    both = way_of(asked(size_bytes=MIB, direction=Direction.ROUND_TRIP), Name.PINNED)
    little = way_of(asked(size_bytes=MIB, direction=Direction.REDUCE), Name.PINNED)
    up, word = copy(Path.DRIVER, "pinned", MIB), copy(Path.DRIVER, "pinned", 4)
    assert both.copies.seconds == pytest.approx(2 * up)
    assert little.copies.seconds == pytest.approx(up + word)


def test_isthmus_takes_the_path_that_copies_would_take() -> None:
    long = way_of(asked(size_bytes=64 * MIB), Name.ISTHMUS)
    assert long.paths == {"h2d": Path.STAGED}
    short = way_of(asked(size_bytes=64), Name.ISTHMUS)
    assert short.paths == {"h2d": Path.WINDOW}


def test_a_download_into_new_memory_touches_its_pages_only_once() -> None:
    advice = asked(size_bytes=64 * MIB, direction=Direction.FROM_DEVICE)
    plain, staged = way_of(advice, Name.PAGEABLE), way_of(advice, Name.ISTHMUS)
    assert plain.cost.seconds == pytest.approx(line(7e-6, 3e9, 64 * MIB))
    assert staged.cost.seconds == pytest.approx(line(13e-6, 20e9, 64 * MIB))


def test_further_downloads_into_the_same_memory_find_its_pages() -> None:
    way = way_of(asked(size_bytes=64 * MIB, direction=Direction.FROM_DEVICE, uses=3), Name.ISTHMUS)
    others = 2 * copy(Path.STAGED, "pageable", 64 * MIB)
    assert way.cost.seconds == pytest.approx(line(13e-6, 20e9, 64 * MIB) + others)


def test_fewer_cores_stage_as_slowly_as_was_measured() -> None:
    all_cores = way_of(asked(size_bytes=64 * MIB), Name.ISTHMUS)
    four = way_of(asked(size_bytes=64 * MIB, cores=4), Name.ISTHMUS)
    assert four.copies.seconds == pytest.approx(all_cores.copies.seconds * 10 / 4)


def test_unmeasured_numbers_of_cores_stage_nothing() -> None:
    profile = machine_profile(staging_times=[])
    way = way_of(asked(profile, size_bytes=64 * MIB, cores=4), Name.ISTHMUS)
    assert way.paths == {"h2d": Path.DRIVER}


def test_an_asynchronous_program_gets_no_way_that_blocks_it() -> None:
    advice = asked(size_bytes=64 * KIB, asynchronous=True)
    refused = dict(advice.refused)
    assert "blocks its caller" in refused[Name.PAGEABLE]
    assert way_of(advice, Name.ISTHMUS).paths == {"h2d": Path.STAGED}
    assert Name.PINNED in {way.name for way in advice.ways}


def test_memory_that_was_not_measured_is_refused_with_the_reason() -> None:
    rest = [cost for cost in machine_profile().memory if cost.memory != MemoryKind.NEW_PINNED]
    advice = asked(machine_profile(memory=rest), size_bytes=MIB)
    assert dict(advice.refused)[Name.NEW_PINNED] == (
        "such memory isn't available, or wasn't measured"
    )


def test_a_size_beyond_the_profile_is_marked() -> None:
    assert not asked(size_bytes=256 * MIB).best.extrapolated
    advice = asked(size_bytes=1 << 30)
    assert all(way.extrapolated for way in advice.ways)
    assert "times are extrapolated" in advice.sentence


def test_break_evens_are_where_the_lines_cross() -> None:
    # 6 us + n / 8 GB/s, and malloc; against 6 us + n / 50 GB/s, and cudaMallocHost.
    advice = asked(size_bytes=MIB, uses=100)
    (pinned,) = sizes_that_pay(advice, Name.PINNED)
    assert pinned.first is not None
    assert pinned.last is None

    def cost(kind: MemoryKind, host: str, size: int) -> float:
        return allocation(kind, size) + 100 * copy(Path.DRIVER, host, size)

    here = pinned.first.at
    for size, is_faster in ((round(here * 0.97), False), (round(here * 1.03), True)):
        fast, slow = (
            cost(MemoryKind.PINNED, "pinned", size),
            cost(MemoryKind.PAGEABLE, "pageable", size),
        )
        assert (fast < slow) is is_faster


def test_the_number_of_uses_that_pays_is_exact() -> None:
    advice = asked(size_bytes=16 * MIB)
    (pinned,) = next(one for one in advice.pays if one.name == Name.PINNED).uses
    more = allocation(MemoryKind.PINNED, 16 * MIB) - allocation(MemoryKind.PAGEABLE, 16 * MIB)
    gain = copy(Path.DRIVER, "pageable", 16 * MIB) - copy(Path.DRIVER, "pinned", 16 * MIB)
    assert pinned.last is None
    break_even = pinned.first
    assert break_even is not None
    assert break_even.at == int(more / gain) + 1
    assert break_even.low is not None
    assert break_even.high is not None
    assert break_even.low <= break_even.at <= break_even.high


def test_a_wider_spread_widens_the_interval_of_a_break_even() -> None:
    ends = []
    for spread in (0.01, 0.1):
        profile = machine_profile(costs=costs(spread), memory=memory(spread))
        (found,) = sizes_that_pay(asked(profile, size_bytes=MIB), Name.NEW_PINNED)
        break_even = found.first
        assert break_even is not None
        assert break_even.low is not None
        assert break_even.high is not None
        ends.append(break_even.high / break_even.low)
    assert ends[1] > ends[0] > 1


def test_every_range_in_which_a_way_is_faster_is_listed() -> None:
    """The driver keeps pinned memory up to 1 MiB: it pays there, and far above."""
    steps = {64 * KIB: 1e-6, MIB: 1e-6, 2 * MIB: 1e-3, 256 * MIB: 2e-3}
    driver_s = MemoryCost(
        memory=MemoryKind.PINNED,
        points=[
            MemoryPoint(bytes=size, allocate=Timing(seconds=s), free=Timing(seconds=1e-7))
            for size, s in steps.items()
        ],
    )
    others = [cost for cost in memory() if cost.memory != MemoryKind.PINNED]
    advice = asked(machine_profile(memory=[*others, driver_s]), size_bytes=MIB)
    below, above = sizes_that_pay(advice, Name.PINNED)
    assert below.last is not None
    assert MIB <= below.last.at <= 2 * MIB
    assert above.first is not None
    assert above.first.at > 2 * MIB
    assert above.last is None


def test_nobody_knows_where_in_an_interval_a_step_is() -> None:
    curve = Curve({MIB: Timing(seconds=1e-6), 4 * MIB: Timing(seconds=1e-3)})
    between = curve.at(2 * MIB)
    assert between.low <= 2e-6
    assert between.high >= 1e-3
    assert curve.at(MIB).high < 2e-6
    assert curve.at(4 * MIB).low > 9e-4


@pytest.mark.parametrize("question", [{"size_bytes": 64 * KIB}, {"size_bytes": 64}])
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("buffer", list(Buffer))
def test_ranges_and_ranking_agree(
    question: dict[str, int], direction: Direction, buffer: Buffer
) -> None:
    advice = asked(size_bytes=question["size_bytes"], direction=direction, buffer=buffer)
    plain = way_of(advice, advice.plain).cost
    for pays in advice.pays:
        cost = way_of(advice, pays.name).cost
        if cost.overlaps(plain):
            continue
        for ranges, value in ((pays.sizes, question["size_bytes"]), (pays.uses, 1)):
            inside = any(
                (one.first is None or one.first.at <= value)
                and (one.last is None or value < one.last.at)
                for one in ranges
            )
            assert inside == (cost.seconds < plain.seconds), pays.name


def test_a_pool_s_block_takes_the_same_at_every_size() -> None:
    small, large = (way_of(asked(size_bytes=size), Name.POOL).prepare for size in (MIB, 4096 * MIB))
    assert large.seconds == pytest.approx(small.seconds, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"costs": []}, "no costs of copies"),
        ({"memory": []}, "no costs of host memory"),
        ({"memory": memory()[1:]}, "no costs of host memory"),
    ],
)
def test_a_profile_that_lacks_what_is_needed_is_refused(
    changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        asked(machine_profile(**changes), size_bytes=MIB)


def test_a_profile_that_leaves_no_way_says_why() -> None:
    unregistered = [cost for cost in memory() if cost.memory != MemoryKind.REGISTERED]
    unstaged = [cost for cost in costs() if cost.path != Path.STAGED]
    profile = machine_profile(memory=unregistered, costs=unstaged)
    with pytest.raises(UsageError, match="no way is possible") as caught:
        asked(profile, size_bytes=MIB, buffer=Buffer.PAGEABLE, asynchronous=True)
    assert "staging wasn't measured" in str(caught.value)
    small = asked(size_bytes=KIB, asynchronous=True)
    assert "copies below 16 KiB aren't staged" in dict(small.refused)[Name.ISTHMUS]


def test_the_sizes_at_which_the_fastest_way_changes_are_listed() -> None:
    advice = asked(size_bytes=MIB, buffer=Buffer.PAGEABLE, uses=1000)
    names = [break_even.after for break_even in advice.fastest]
    assert [break_even.at for break_even in advice.fastest] == sorted(
        break_even.at for break_even in advice.fastest
    )
    assert names[-1] == Name.KEPT_REGISTERED


def test_the_classic_questions_compare_with_malloc() -> None:
    for answer in classic_answers(machine_profile()):
        sizes = {one.name: one.sizes for one in answer.pays}
        assert Name.PAGEABLE not in sizes
        # Pinning costs 1.25 n / 2 GB/s more, and never gains as much by one copy each way.
        assert sizes[Name.PINNED] == []
        assert [one.last for one in sizes[Name.POOL]] == [None]


def with_kept_blocks() -> Profile:
    """malloc keeps blocks up to 16 MiB; each new page costs 1 ns a byte."""
    kept = {4 * KIB: 1e-7, 16 * MIB: 1e-7, 64 * MIB: 64e-3 * 1.048576}
    times = [
        MemoryPoint(bytes=n, allocate=Timing(seconds=s), free=Timing(seconds=1e-9))
        for n, s in kept.items()
    ]
    rest = [one for one in memory() if one.memory != MemoryKind.PAGEABLE]
    return machine_profile(memory=[MemoryCost(memory=MemoryKind.PAGEABLE, points=times), *rest])


def test_the_first_time_small_blocks_pay_for_new_pages_by_the_rate_of_large_ones() -> None:
    advice = asked(with_kept_blocks(), size_bytes=MIB)
    steady = way_of(advice, Name.PAGEABLE).prepare
    first = next(way for way in advice.first_time if way.name == Name.PAGEABLE).prepare
    assert steady.seconds == pytest.approx(1e-7)
    assert first.seconds == pytest.approx(1e-7 + MIB * 1e-9)
    assert first.low <= first.seconds <= first.high


def test_the_first_time_a_pool_has_nothing_and_large_blocks_cost_the_same() -> None:
    advice = asked(with_kept_blocks(), size_bytes=64 * MIB)
    first = {way.name: way.cost for way in advice.first_time}
    assert Name.POOL not in first
    assert first == {way.name: way.cost for way in advice.ways if way.name in first}
    assert next(one for one in advice.pays if one.name == Name.POOL).first_time is None


def test_memory_that_exists_has_no_first_time() -> None:
    assert asked(size_bytes=MIB, buffer=Buffer.PINNED).first_time == []


def test_one_point_says_nothing_about_larger_sizes() -> None:
    """It was 145 ms at 4 KiB, with the start of pinning, and stood for all sizes."""
    point = MemoryPoint(bytes=4 * KIB, allocate=Timing(seconds=0.145), free=Timing(seconds=1e-3))
    rest = [one for one in memory() if one.memory != MemoryKind.NEW_PINNED]
    one = MemoryCost(memory=MemoryKind.NEW_PINNED, points=[point])
    advice = asked(machine_profile(memory=[*rest, one]), size_bytes=MIB)
    assert dict(advice.refused)[Name.NEW_PINNED] == "new pinned memory was measured at 4 KiB alone"


def test_the_sentence_says_what_to_do_what_it_takes_and_what_it_gains() -> None:
    sentence = asked(size_bytes=64 * MIB).sentence
    assert sentence.startswith("Take the buffer from isthmus.pinned's pool")
    assert "1.35 ms for 64 MiB to the device, once." in sentence
    copies = "9.34 times as long (its copies alone 6.23 times)."
    assert f'"malloc, cudaMemcpy" takes 12.6 ms, {copies}' in sentence
    assert 'The first time, "malloc, isthmus.copy" is the fastest' in sentence


def test_ways_within_the_spread_are_called_as_fast() -> None:
    profile = machine_profile(costs=costs(0.3), memory=memory(0.3))
    advice = asked(profile, size_bytes=64)
    said = '"isthmus.pinned (pool), isthmus.copy" is as fast, within the measured spread.'
    assert said in advice.sentence


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"size_bytes": 0}, "a size of 0 bytes"),
        ({"size_bytes": -1}, "a size of -1 bytes"),
        ({"size_bytes": 1 << 60}, "a size of"),
        ({"size_bytes": 4, "uses": 0}, "0 uses"),
        ({"size_bytes": 4, "cores": 0.0}, "0 cores"),
        ({"size_bytes": 4, "cores": float("nan")}, "nan cores"),
        ({"size_bytes": 4, "result_bytes": 0}, "a result of 0 bytes"),
        (
            {"size_bytes": 4, "result_bytes": 8, "direction": Direction.REDUCE},
            "is no reduction",
        ),
    ],
)
def test_a_question_without_an_answer_is_refused(question: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Question(**question)  # type: ignore[arg-type]


def test_an_answer_says_itself_as_text() -> None:
    advice = asked(size_bytes=4)
    assert str(advice) == advice.sentence
    assert dataclasses.is_dataclass(advice)
