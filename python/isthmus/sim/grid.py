"""Every combination of answers to what the paper leaves open, scored alike: nothing is picked."""

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean, geometric_mean
from typing import Final

from isthmus.sim.as_text import csv_text
from isthmus.sim.points import Point
from isthmus.sim.store import Row
from isthmus.sim.studies import BANDWIDTHS, PROGRAMS, make_point

_BANDWIDTHS: Final = BANDWIDTHS[:2]
_EVERY: Final[Mapping[str, tuple[str, ...]]] = {
    "cores.clock": ("700MHz", "1400MHz"),
}
_MIGRATING: Final[Mapping[str, tuple[str, ...]]] = {
    **_EVERY,
    "policy.merge": ("true", "false"),
    "options.buffer_scope": ("per_partition", "total"),
    "policy.write": ("migrate", "validate"),
    "options.local_memory": ("resident", "migrates"),
    "gmmu.query_cycles": ("0", "100"),
}
ANSWERS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "programmer": {
        **_EVERY,
        "options.programmer_data": ("uploads", "touched_global", "touched_all"),
        "options.count_downloads": ("false", "true"),
        "options.local_memory": ("resident", "migrates"),
    },
    "whole-page": _MIGRATING,
    "single-range": {
        **_MIGRATING,
        "policy.single_gap": ("planned", "valid"),
        "policy.request": ("line", "unit"),
    },
    "ranges": {**_MIGRATING, "policy.request": ("line", "unit")},
}
"""Policy -> setting -> its answers: those that make a difference to it."""
_SHARED = ("cores.clock", "options.local_memory")


def grid_points() -> list[Point]:
    """List all runs of the grid."""
    return [
        make_point(program, policy, {**_link(bandwidth), **answers})
        for policy in ANSWERS
        for answers in _combinations(policy)
        for bandwidth, program in product(_BANDWIDTHS, PROGRAMS)
    ]


def grid_text(points: Sequence[Point], rows: Mapping[str, Row]) -> str:
    """
    Write the means of every combination over every way of counting the programmer's copy, as CSV.

    A policy's run is divided by the programmer's with the same clock and local memory.
    """
    times = {
        (point.setup.policy.kind.value, point.workload, _place(point.place)): float(
            rows[point.key]["total_ps"] or 0
        )
        for point in points
    }
    lines: list[Mapping[str, object]] = []
    for policy in ANSWERS:
        if policy != "programmer":
            for answers, base, bandwidth in product(
                _combinations(policy), _combinations("programmer"), _BANDWIDTHS
            ):
                if all(answers[name] == base[name] for name in _SHARED):
                    lines.append(_line(times, policy, answers, base, bandwidth))
    return csv_text(lines)


def _line(
    times: Mapping[tuple[str, str, tuple[str, ...]], float],
    policy: str,
    answers: Mapping[str, str],
    base: Mapping[str, str],
    bandwidth: str,
) -> Mapping[str, object]:
    link = _link(bandwidth)
    ratios = [
        times[policy, program, _place({**link, **answers})]
        / times["programmer", program, _place({**link, **base})]
        for program in PROGRAMS
    ]
    every = dict.fromkeys(name for found in ANSWERS.values() for name in found)
    return {
        "policy": policy,
        "bandwidth": bandwidth,
        **{name: answers.get(name, base.get(name, "")) for name in every},
        "mean": f"{fmean(ratios):.6g}",
        "geometric_mean": f"{geometric_mean(ratios):.6g}",
        "modelled": True,
    }


def _combinations(policy: str) -> list[Mapping[str, str]]:
    answers = ANSWERS[policy]
    return [dict(zip(answers, values, strict=True)) for values in product(*answers.values())]


def _link(bandwidth: str) -> Mapping[str, str]:
    return {"link.bandwidth": bandwidth, "link.back_bandwidth": bandwidth}


def _place(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={settings[name]}" for name in sorted(settings))
