"""Combinations of answers to the open questions, all scored in the same way."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from statistics import fmean, geometric_mean
from typing import Final

from isthmus.sim.as_text import csv_text
from isthmus.sim.paper.studies import (
    BANDWIDTHS,
    HOST_PROGRAMS,
    LOCAL_PROGRAMS,
    PROGRAMS,
    RODINIA,
    make_point,
)
from isthmus.sim.points import SweepPoint
from isthmus.sim.settings import Setup, setting_of
from isthmus.sim.store import Row

GRID_BANDWIDTHS: Final = BANDWIDTHS[:2]
REFERENCE: Final = "programmer"
_IDEAL: Final = "ideal"
PROGRAMS_OF: Final = "programs"
"""The question which suite BFS and NN are from: no setting, but other workloads."""
_LOCAL_MEMORY = "options.local_memory"
_CPU_REQUESTS = "options.cpu_requests"
# Settings that make no difference but to these programs.
_ONLY_FOR: Final[Mapping[str, Sequence[str]]] = {
    _LOCAL_MEMORY: LOCAL_PROGRAMS,
    _CPU_REQUESTS: HOST_PROGRAMS,
}
_EVERY: Final[Mapping[str, tuple[str, ...]]] = {
    "cores.clock": ("700MHz", "1400MHz"),
    PROGRAMS_OF: ("ispass", "rodinia"),
    _LOCAL_MEMORY: ("resident", "migrates"),
}
_BY_ITSELF: Final[Mapping[str, tuple[str, ...]]] = {
    **_EVERY,
    "gmmu.query_cycles": ("0", "100"),
    "gmmu.change_cycles": ("0", "100"),
    "gmmu.range_in_tlb": ("false", "true"),
    "options.merged_waiters": ("free", "take_entries"),
    _CPU_REQUESTS: ("take_back", "left_out"),
}
"""Questions that move means little: each is answered otherwise alone, the others as by default."""
_MIGRATING: Final[Mapping[str, tuple[str, ...]]] = {
    **_BY_ITSELF,
    "policy.merge": ("true", "false"),
    "options.buffer_scope": ("per_partition", "total"),
    "cores.stores": ("32", "0"),
    "policy.write": ("migrate", "validate"),
}
ANSWERS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    REFERENCE: {
        **_EVERY,
        "options.programmer_data": (
            "uploads",
            "touched_global",
            "touched_all",
            "touched_pages",
            "uploads_or_touched",
        ),
        "options.count_downloads": ("false", "true"),
    },
    "whole-page": _MIGRATING,
    "single-range": {
        **_MIGRATING,
        "policy.single_gap": ("planned", "valid"),
        "policy.request": ("line", "unit"),
    },
    "ranges": {**_MIGRATING, "policy.request": ("line", "unit")},
}
"""Policy -> question, by its setting -> the answers that make a difference to it."""
_SHARED = tuple(_EVERY)
_OF_IDEAL = _SHARED[:2]


@dataclass(frozen=True, kw_only=True)
class Combination:
    """
    A policy under one answer to each question.

    Attributes:
        answers: Question -> answer, for the policy and the programmer's copy.
        mean: The mean of the programs' times, each over that of the programmer's copy.
        geometric_mean: The same.
        bound: The mean of what the programs would take if the programmer's copies overlapped
            perfectly with computing, over what they take one after the other.
    """

    policy: str
    bandwidth: str
    answers: Mapping[str, str]
    mean: float
    geometric_mean: float
    bound: float


def grid_points() -> list[SweepPoint]:
    """List all runs of the grid, without those whose answers make no difference to a program."""
    places = (
        (program, policy, _of_program(program, {**_link(bandwidth), **answers}))
        for policy in ANSWERS
        for answers in _combinations(policy)
        for bandwidth, program in product(GRID_BANDWIDTHS, _programs(answers))
    )
    ideal = (
        (program, _IDEAL, _of_program(program, answers))
        for answers in _product({name: _EVERY[name] for name in _OF_IDEAL})
        for program in _programs(answers)
    )
    distinct = {_key(*place): place for place in chain(places, ideal)}
    return [make_point(*place) for place in distinct.values()]


def combinations(points: Sequence[SweepPoint], rows: Mapping[str, Row]) -> list[Combination]:
    """
    Score every combination with every way of counting the programmer's copy: a policy's run is
    divided by the programmer's with the same clock, programs and local memory.
    """
    times = {
        _key(point.workload, point.setup.policy.kind.value, point.place): float(
            rows[point.key]["total_ps"] or 0
        )
        for point in points
    }
    bases = [_base(times, *one) for one in product(_combinations(REFERENCE), GRID_BANDWIDTHS)]
    found = []
    for policy in (one for one in ANSWERS if one != REFERENCE):
        for answers, bandwidth in product(_combinations(policy), GRID_BANDWIDTHS):
            own = _times(times, policy, {**_link(bandwidth), **answers}, _programs(answers))
            found += [
                _score(policy, answers, own, base)
                for base in bases
                if base.bandwidth == bandwidth
                and all(answers[name] == base.answers[name] for name in _SHARED)
            ]
    return found


def defaults(policy: str) -> dict[str, str]:
    """Give the default answers of a policy and of the programmer's copy."""
    own = _setup_of(policy)
    every = {**ANSWERS[REFERENCE], **ANSWERS[policy]}
    texts = {
        name: setting_of(name).text(own.value(name)).replace(" ", "")
        for name in every
        if name != PROGRAMS_OF
    }
    texts[PROGRAMS_OF] = every[PROGRAMS_OF][0]
    return {name: next(one for one in every[name] if one == texts[name]) for name in every}


def grid_csv(found: Sequence[Combination]) -> str:
    """Write every combination as CSV."""
    every = dict.fromkeys(name for answers in ANSWERS.values() for name in answers)
    return csv_text(
        [
            {
                "policy": one.policy,
                "bandwidth": one.bandwidth,
                **{name: one.answers.get(name, "") for name in every},
                "mean": f"{one.mean:.6g}",
                "geometric_mean": f"{one.geometric_mean:.6g}",
                "bound": f"{one.bound:.6g}",
                "modelled": True,
            }
            for one in found
        ]
    )


@dataclass(frozen=True, kw_only=True)
class _Base:
    """One way to count the programmer's copy: the times of the programs, and what bounds them."""

    answers: Mapping[str, str]
    bandwidth: str
    times: Sequence[float]
    bound: float


def _base(
    times: Mapping[tuple[str, ...], float], answers: Mapping[str, str], bandwidth: str
) -> _Base:
    programs = _programs(answers)
    copied = _times(times, REFERENCE, {**_link(bandwidth), **answers}, programs)
    computing = _times(times, _IDEAL, {name: answers[name] for name in _OF_IDEAL}, programs)
    shares = [one / other for one, other in zip(computing, copied, strict=True)]
    return _Base(
        answers=answers,
        bandwidth=bandwidth,
        times=copied,
        bound=fmean(max(share, 1 - share) for share in shares),
    )


def _times(
    times: Mapping[tuple[str, ...], float],
    policy: str,
    settings: Mapping[str, str],
    programs: Sequence[str],
) -> list[float]:
    return [times[_key(program, policy, settings)] for program in programs]


def _score(
    policy: str, answers: Mapping[str, str], own: Sequence[float], base: _Base
) -> Combination:
    ratios = [one / other for one, other in zip(own, base.times, strict=True)]
    return Combination(
        policy=policy,
        bandwidth=base.bandwidth,
        answers={**base.answers, **answers},
        mean=fmean(ratios),
        geometric_mean=geometric_mean(ratios),
        bound=base.bound,
    )


def _combinations(policy: str) -> list[Mapping[str, str]]:
    usual = {name: defaults(policy)[name] for name in ANSWERS[policy]}
    together = {name: of for name, of in ANSWERS[policy].items() if name not in _BY_ITSELF}
    alone = [{}, *({name: of[1]} for name, of in _BY_ITSELF.items() if name in ANSWERS[policy])]
    # Of the programmer's copies, all ways to count beside each answer by itself.
    others = [answers for change in alone for answers in _product(together, usual | change)]
    if policy == REFERENCE:
        return others
    return [*_product(together, usual), *(usual | change for change in alone[1:])]


def _product(
    answers: Mapping[str, tuple[str, ...]], besides: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, str]]:
    every = product(*answers.values())
    return ({**(besides or {}), **dict(zip(answers, values, strict=True))} for values in every)


def _programs(answers: Mapping[str, str]) -> list[str]:
    other = RODINIA if answers[PROGRAMS_OF] == "rodinia" else {}
    return [other.get(program, program) for program in PROGRAMS]


def _of_program(program: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Leave one answer to what makes no difference to a program; its suite is in its name."""
    place = {name: text for name, text in settings.items() if name != PROGRAMS_OF}
    for name, programs in _ONLY_FOR.items():
        if name in place and program not in programs:
            place[name] = _MIGRATING[name][0]
    return place


def _key(program: str, policy: str, settings: Mapping[str, str]) -> tuple[str, ...]:
    place = _of_program(program, settings)
    return (program, policy, *(f"{name}={place[name]}" for name in sorted(place) if "." in name))


def _link(bandwidth: str) -> dict[str, str]:
    return {"link.bandwidth": bandwidth, "link.back_bandwidth": bandwidth}


@cache
def _setup_of(policy: str) -> Setup:
    return make_point(PROGRAMS[0], policy, {}).setup
