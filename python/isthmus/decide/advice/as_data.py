"""Answers as data, for JSON: seconds and bytes."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from isthmus.decide.advice.answer import Advice
from isthmus.decide.advice.break_evens import BreakEven, Range
from isthmus.decide.advice.ways import Way
from isthmus.decide.profile.model import Profile

if TYPE_CHECKING:
    from isthmus.decide.advice.offload import OffloadAdvice

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
