"""Answers a question from a profile, in words' order and as data for JSON: seconds and bytes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from isthmus.decide.advice.break_evens import (
    USE_STEPS,
    BreakEven,
    Range,
    by_size,
    by_uses,
    fastest_break_evens,
    ranges_faster,
)
from isthmus.decide.advice.machine import MachineCosts
from isthmus.decide.advice.question import MAX_BYTES, MAX_USES, Buffer, Direction, Question
from isthmus.decide.advice.sentence import PLAIN, sentence_of
from isthmus.decide.advice.ways import Name, Way, ways_of
from isthmus.decide.profile.model import Profile
from isthmus.errors import UsageError
from isthmus.ground.life import Life

if TYPE_CHECKING:
    from isthmus.decide.advice.offload import OffloadAdvice

# The sizes of the classic questions begin with a page.
_PAGE_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Pays:
    """
    When a way takes less time than the plain one.

    Attributes:
        name: The way.
        sizes: At which sizes, in bytes, ascending; empty: at none of those that were searched.
        first_time: The same, if each page is new; None if it isn't possible then.
        uses: At which numbers of uses, at the question's size; the same.
    """

    name: Name
    sizes: Sequence[Range]
    first_time: Sequence[Range] | None
    uses: Sequence[Range]

    def of(self, life: Life) -> Sequence[Range] | None:
        """Give the sizes of a life."""
        return self.sizes if life == Life.STEADY else self.first_time


@dataclass(frozen=True, kw_only=True)
class Advice:
    """
    The answer to a question.

    Attributes:
        question: What was asked.
        profile: From which it is answered.
        sizes: The sizes between which break-evens were searched, in bytes.
        ways: The possible ways, the fastest first; steady.
        first_time: The same if each page is new; empty if the buffer exists.
        refused: Impossible ways, each with the reason.
        plain: The way with which break-evens compare: the driver's copy, as the buffer is.
        pays: When each of the others beats it.
        fastest: The sizes at which another way becomes the fastest.
        sentence: The answer in words.
    """

    question: Question
    profile: Profile
    sizes: tuple[int, int]
    ways: Sequence[Way]
    first_time: Sequence[Way]
    refused: Sequence[tuple[Name, str]]
    plain: Name
    pays: Sequence[Pays]
    fastest: Sequence[BreakEven]
    sentence: str

    @property
    def best(self) -> Way:
        """The way to take."""
        return self.ways[0]

    def __str__(self) -> str:
        """Give the answer in words."""
        return self.sentence


def advice_on(
    question: Question, profile: Profile, *, size_range: tuple[int, int] | None = None
) -> Advice:
    """
    Answer a question; break-evens are searched in `size_range` (bytes), by default in all that was
    measured.
    """
    costs = MachineCosts(profile, question.cores)
    ways, refused = ways_of(question, costs)
    if not ways:
        reasons = "; ".join(f"{name}: {why}" for name, why in refused)
        raise UsageError(
            f"no way is possible: {reasons}",
            hint="ask without --async or --cores, or measure the profile again",
        )
    size = question.size_bytes
    sizes = size_range or (min(costs.min_bytes, size), max(costs.max_bytes, size))
    at_size, at_uses = by_size(question, costs), by_uses(question, costs)
    at_first = by_size(replace(question, life=Life.FIRST_TIME), costs)
    is_new, plain = question.buffer == Buffer.NEW, PLAIN[question.buffer]
    first_time = at_first(size) if is_new else []
    return Advice(
        question=question,
        profile=profile,
        sizes=sizes,
        ways=ways,
        first_time=first_time,
        refused=refused,
        plain=plain,
        pays=[
            Pays(
                name=way.name,
                sizes=ranges_faster(at_size, *sizes, way.name, plain),
                first_time=ranges_faster(at_first, *sizes, way.name, plain)
                if way.name in {one.name for one in first_time}
                else None,
                uses=ranges_faster(at_uses, 1, MAX_USES, way.name, plain, USE_STEPS),
            )
            for way in ways
            if way.name != plain and plain in {one.name for one in ways}
        ],
        fastest=fastest_break_evens(at_size, *sizes),
        sentence=sentence_of(question, ways, first_time),
    )


def classic_answers(
    profile: Profile, *, uses: int = 1, cores: float | None = None
) -> tuple[Advice, Advice]:
    """
    Answer the two classic questions (M. Boyer, "Choosing Between Pinned and Non-Pinned Memory",
    University of Virginia): at which sizes does pinned memory pay for the same bytes up and down,
    and for a result of 4 B down?
    """
    sizes = (_PAGE_BYTES, min(MachineCosts(profile).max_bytes, MAX_BYTES))
    asked = Question(size_bytes=sizes[1], direction=Direction.ROUND_TRIP, uses=uses, cores=cores)
    reduced = replace(asked, direction=Direction.REDUCE)
    return (
        advice_on(asked, profile, size_range=sizes),
        advice_on(reduced, profile, size_range=sizes),
    )


_SCHEMA_VERSION = 1


def advice_data(advice: Advice) -> dict[str, object]:
    """Lay out an answer: the question, the machine, all ways with their parts, break-evens."""
    return {
        **_head(advice.profile),
        "question": asdict(advice.question),
        "answer": advice.sentence,
        "ways": _ways(advice.ways),
        "ways_first_time": _ways(advice.first_time),
        "not_possible": [{"way": name, "reason": why} for name, why in advice.refused],
        "compared_with": advice.plain,
        "pays": [
            {
                "way": one.name,
                "bytes": _ranges(one.sizes),
                "bytes_first_time": _ranges(one.first_time),
                "uses": _ranges(one.uses),
            }
            for one in advice.pays
        ],
        "fastest": [
            {
                "way": break_even.after,
                "instead_of": break_even.before,
                "from_bytes": _break_even(break_even),
            }
            for break_even in advice.fastest
        ],
        "sizes": list(advice.sizes),
    }


def classic_data(both: Advice, reduced: Advice) -> dict[str, object]:
    """Lay out the answers to the two classic questions."""
    return {
        **_head(both.profile),
        "uses": both.question.uses,
        "sizes": list(both.sizes),
        "pays": [
            {
                "way": one.name,
                "round_trip_bytes": _ranges(one.sizes),
                "round_trip_bytes_first_time": _ranges(one.first_time),
                "reduce_bytes": _ranges(other.sizes),
                "reduce_bytes_first_time": _ranges(other.first_time),
            }
            for one in both.pays
            for other in reduced.pays
            if one.name == other.name
        ],
    }


def offload_data(advice: "OffloadAdvice") -> dict[str, object]:
    """Lay out whether a computation should go to the GPU."""
    return {
        **_head(advice.profile),
        "computation": asdict(advice.computation),
        "answer": advice.sentence,
        "cpu_seconds": advice.cpu_seconds,
        "gpu_pays": advice.gpu_pays,
        "ways": [asdict(way) | _intervals(way, "before", "each", "cost") for way in advice.ways],
        "not_possible": [{"way": way, "reason": why} for way, why in advice.refused],
    }


def _ways(ways: Sequence[Way]) -> list[dict[str, object]]:
    return [
        {
            "way": way.name,
            "paths": {direction: path.value for direction, path in way.paths.items()},
            **_intervals(way, "prepare", "copies", "release", "cost"),
            "extrapolated": way.extrapolated,
        }
        for way in ways
    ]


def _intervals(way: object, *parts: str) -> dict[str, object]:
    """Give parts of a way's cost as objects; a named tuple itself would be an array."""
    return {part: getattr(way, part)._asdict() for part in parts}


def _head(profile: Profile) -> dict[str, object]:
    return {
        "schema_version": _SCHEMA_VERSION,
        "machine": profile.machine.model_dump(mode="json"),
        "measured": profile.measurement.model_dump(mode="json"),
    }


def _ranges(ranges: Sequence[Range] | None) -> list[dict[str, object]] | None:
    """Give where each begins and ends; null: at the end of what was searched, or not possible."""
    if ranges is None:
        return None
    return [{"from": _break_even(one.first), "to": _break_even(one.last)} for one in ranges]


def _break_even(break_even: BreakEven | None) -> dict[str, int | None] | None:
    return (
        None
        if break_even is None
        else {"at": break_even.at, "low": break_even.low, "high": break_even.high}
    )
