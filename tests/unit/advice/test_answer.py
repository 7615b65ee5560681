import dataclasses

import pytest

from fakes.advice import COPIES, KIB, MEMORY, MIB, costs, line, machine_profile, memory
from isthmus.advice.answer import Advice, advice_on, classic_answer
from isthmus.advice.question import Buffer, Direction, Question
from isthmus.advice.ways import Name, Way
from isthmus.errors import UsageError
from isthmus.profile.model import MemoryKind, Path, Profile


def asked(profile: Profile | None = None, **question: object) -> Advice:
    return advice_on(Question(**question), profile or machine_profile())  # type: ignore[arg-type]


def way_of(advice: Advice, name: Name) -> Way:
    return next(way for way in advice.ways if way.name == name)


def allocation(kind: MemoryKind, size: int) -> float:
    """Allocating and freeing, by the lines of the made-up machine."""
    return 1.25 * line(*MEMORY[kind], size)


def copy(path: Path, host: str, size: int) -> float:
    return line(*COPIES[path, host], size)


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
    pinned = next(one for one in advice.pays if one.name == Name.PINNED)
    assert pinned.size is not None

    def cost(kind: MemoryKind, host: str, size: int) -> float:
        return allocation(kind, size) + 100 * copy(Path.DRIVER, host, size)

    here = pinned.size.at
    for size, is_faster in ((round(here * 0.97), False), (round(here * 1.03), True)):
        fast, slow = (
            cost(MemoryKind.PINNED, "pinned", size),
            cost(MemoryKind.PAGEABLE, "pageable", size),
        )
        assert (fast < slow) is is_faster


def test_the_number_of_uses_that_pays_is_exact() -> None:
    advice = asked(size_bytes=16 * MIB)
    pinned = next(one for one in advice.pays if one.name == Name.PINNED)
    more = allocation(MemoryKind.PINNED, 16 * MIB) - allocation(MemoryKind.PAGEABLE, 16 * MIB)
    gain = copy(Path.DRIVER, "pageable", 16 * MIB) - copy(Path.DRIVER, "pinned", 16 * MIB)
    assert pinned.uses is not None
    assert pinned.uses.at == int(more / gain) + 1
    assert pinned.uses.low <= pinned.uses.at <= pinned.uses.high


def test_a_wider_spread_widens_the_interval_of_a_break_even() -> None:
    ends = []
    for spread in (0.01, 0.2):
        profile = machine_profile(costs=costs(spread), memory=memory(spread))
        pays = asked(profile, size_bytes=MIB).pays
        turn = next(one for one in pays if one.name == Name.ISTHMUS).size
        assert turn is not None
        ends.append(turn.high / turn.low)
    assert ends[1] > ends[0]


def test_the_sizes_at_which_the_fastest_way_changes_are_listed() -> None:
    advice = asked(size_bytes=MIB, buffer=Buffer.PAGEABLE, uses=1000)
    names = [turn.after for turn in advice.fastest]
    assert [turn.at for turn in advice.fastest] == sorted(turn.at for turn in advice.fastest)
    assert names[-1] == Name.KEPT_REGISTERED


def test_the_classic_questions_compare_with_malloc() -> None:
    answer = classic_answer(machine_profile())
    rows = {row.name: row for row in answer.rows}
    assert Name.PAGEABLE not in rows
    # Pinning costs 1.25 n / 2 GB/s more, and never gains as much by one copy each way.
    assert rows[Name.PINNED].round_trip is None
    assert rows[Name.PINNED].reduce is None
    pool = rows[Name.POOL]
    assert pool.round_trip is not None
    assert pool.reduce is not None
    assert pool.round_trip.at <= pool.reduce.at


def test_the_sentence_says_what_to_do_what_it_takes_and_what_it_gains() -> None:
    sentence = asked(size_bytes=64 * MIB).sentence
    assert sentence.startswith("Take the buffer from isthmus.pinned's pool")
    assert "1.35 ms for 64 MiB to the device, once." in sentence
    assert "malloc, cudaMemcpy takes 12.6 ms, 9.34 times as long." in sentence
    assert 'the next best is "malloc, isthmus.copy"' in sentence


def test_ways_within_the_spread_are_called_as_fast() -> None:
    profile = machine_profile(costs=costs(0.3), memory=memory(0.3))
    advice = asked(profile, size_bytes=64)
    assert 'spread "isthmus.pinned (pool), isthmus.copy" is as fast.' in advice.sentence


def test_a_profile_without_memory_has_no_advice() -> None:
    with pytest.raises(UsageError, match="no costs of host memory"):
        asked(machine_profile(memory=[]), size_bytes=4)


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
