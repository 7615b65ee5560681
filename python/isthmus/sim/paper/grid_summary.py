"""The grid on one page: the paper's numbers under every reading of its text."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped
from isthmus.show.page import Table
from isthmus.sim.as_text import MODELLED
from isthmus.sim.paper.grid import ANSWERS, GRID_BANDWIDTHS, REFERENCE, Combination, defaults
from isthmus.sim.paper.scores import times, times_within
from isthmus.sim.paper.targets import TARGETS, Target, Verdict, judge

# Targets that are a mean over the programs, at the grid's bandwidths.
_SCORED: Final[Mapping[str, tuple[str, str]]] = {
    "T1": ("whole-page", GRID_BANDWIDTHS[0]),
    "T2": ("whole-page", GRID_BANDWIDTHS[1]),
    "T4": ("single-range", GRID_BANDWIDTHS[0]),
    "T5": ("single-range", GRID_BANDWIDTHS[1]),
    "T6": ("ranges", GRID_BANDWIDTHS[0]),
    "T7": ("ranges", GRID_BANDWIDTHS[1]),
}
_MARKS: Final = {Verdict.MATCHED: "=", Verdict.DIRECTION: "~", Verdict.NO_EFFECT: "o"}
_HONESTY = (
    "Every combination of the answers to those of the paper's open questions that move means most "
    "(docs/simulate-evaluation.md), and each other answer by itself; each with every way to count "
    "the programmer's copy with the same clock, programs and local memory. No default was chosen "
    "by it. Among so many some are near a number by chance: that is no reproduction. All of it is "
    "of one input of each program; targets.txt says how far others take the defaults."
)
Found = Sequence[Combination]


def summary_text(found: Found, *, width: int = PAGE_WIDTH) -> str:
    """Write how far the answers move each target, and each target under each answer alone."""
    tables = [_targets(found), _one_by_one(found)]
    blocks = [wrapped(MODELLED, width), wrapped(_HONESTY, width, indent="")]
    blocks += [table_lines(table, width) for table in tables]
    return blocks_text(blocks)


def _targets(found: Found) -> Table:
    by_name = {target.name: target for target in TARGETS}
    rows = tuple(_target(by_name[name], *where, found) for name, where in _SCORED.items())
    return Table(
        title=f"mean time over the programmer's copy: {len(found)} scorings",
        heads=(
            *("", "quantity", "paper", "default", "min", "median", "max"),
            *("scorings", "direction", "matched"),
        ),
        rows=rows,
        num_text_columns=2,
    )


def _target(target: Target, policy: str, bandwidth: str, found: Found) -> tuple[str, ...]:
    ours = [one for one in found if (one.policy, one.bandwidth) == (policy, bandwidth)]
    slow = {
        _place(one): one.mean
        for one in found
        if (one.policy, one.bandwidth) == (policy, GRID_BANDWIDTHS[0])
    }
    verdicts = [judge(target, [one.mean], beside=slow[_place(one)]) for one in ours]
    usual = defaults(policy)
    means = [one.mean for one in ours]
    default = next(one.mean for one in ours if one.answers == usual)
    shown = (default, min(means), median(means), max(means))
    counts = (
        len(ours),
        verdicts.count(Verdict.DIRECTION) + verdicts.count(Verdict.MATCHED),
        verdicts.count(Verdict.MATCHED),
    )
    return (
        target.name,
        target.quantity,
        times(target.theirs),
        *map(_times, shown),
        *map(str, counts),
    )


def _one_by_one(found: Found) -> Table:
    """Write every target under each other answer alone."""
    usual = {policy: defaults(policy) for policy in ANSWERS if policy != REFERENCE}
    every = dict.fromkeys(one for policy in usual for one in _others(policy, usual[policy]))
    by_place = {(one.policy, one.bandwidth, _place(one)): one for one in found}
    rows = [("as fixed before", "", *_scores(by_place, usual, {}))]
    rows += [(name, answer, *_scores(by_place, usual, {name: answer})) for name, answer in every]
    return Table(
        title="the same under one other answer (=: matched, ~: direction, o: no effect), "
        "and the lower bound (perfect overlap)",
        heads=("question", "answer", *_SCORED, "bound at both"),
        rows=tuple(rows),
        num_text_columns=2,
    )


def _scores(
    by_place: Mapping[tuple[str, str, tuple[str, ...]], Combination],
    usual: Mapping[str, Mapping[str, str]],
    change: Mapping[str, str],
) -> list[str]:
    by_name = {target.name: target for target in TARGETS}

    def one(policy: str, bandwidth: str) -> Combination:
        answers = {**usual[policy], **change}
        place = tuple(answers[name] for name in sorted(answers))
        return by_place[policy, bandwidth, place]

    cells = []
    for name, (policy, bandwidth) in _SCORED.items():
        own = usual[policy]
        if not change.keys() <= own.keys() or (change and change.items() <= own.items()):
            cells.append("-")  # no question to it, or its default
            continue
        ours = one(policy, bandwidth).mean
        verdict = judge(by_name[name], [ours], beside=one(policy, GRID_BANDWIDTHS[0]).mean)
        cells.append(f"{_MARKS.get(verdict, '')} {_times(ours)}".strip())
    [known] = [policy for policy in usual if change.keys() <= usual[policy].keys()][:1]
    return [*cells, ", ".join(_times(one(known, at).bound) for at in GRID_BANDWIDTHS)]


def _times(value: float) -> str:
    """Write a ratio of one input."""
    return times_within(value, [value])


def _others(policy: str, usual: Mapping[str, str]) -> list[tuple[str, str]]:
    every = {**ANSWERS[policy], **ANSWERS[REFERENCE]}
    return [
        (name, answer)
        for name, answers in every.items()
        for answer in answers
        if answer != usual[name]
    ]


def _place(one: Combination) -> tuple[str, ...]:
    return tuple(one.answers[name] for name in sorted(one.answers))
