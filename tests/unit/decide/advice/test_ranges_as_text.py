"""How advice writes the sizes at which a way pays."""

from isthmus.decide.advice.break_evens import BreakEven, Range
from isthmus.decide.advice.ways import Name
from isthmus.show.answers.advice import ranges_text

KIB, MIB = 1 << 10, 1 << 20


def exact(size: int) -> BreakEven:
    return BreakEven(at=size, low=size, high=size, before=Name.PAGEABLE, after=Name.REGISTERED)


def said(*ranges: Range) -> str:
    return ranges_text(ranges, lambda size: f"{size // KIB} KiB", "always")


def test_ranges_with_a_small_gap_are_told_as_one() -> None:
    ranges = (
        Range(first=exact(4 * KIB), last=exact(285 * KIB)),
        Range(first=exact(749 * KIB), last=exact(2 * MIB)),
    )
    assert said(*ranges) == "mostly 4 KiB to 2048 KiB"


def test_ranges_with_a_large_gap_are_told_apart() -> None:
    ranges = (Range(first=None, last=exact(4 * KIB)), Range(first=exact(2 * MIB), last=None))
    assert said(*ranges) == "up to 4 KiB, from 2048 KiB"
