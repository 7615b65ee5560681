"""
How often `isthmus compare` finds a loss in one real run, and calls unchanged real runs slower.

    python benchmarks/frontdoor/compare_edited.py --out FILE        # no GPU, about a minute

The runs are committed: three of each of two H100s (../fleet/two_h100), two of an H200 when it was
idle and two of the same while two programs copied (h200/quick_*.json).

- unchanged: every pair of runs of one GPU, both ways.
- edited: each loss is multiplied into the later run of each of these pairs, so that the noise is
  the pair's own. A loss is of all pinned copies, of one direction of them, or of one family.
- repeated: five processes of the earlier and five of the later run are drawn. The levels of a
  family in a process are those of real runs of one GPU, around their mean, chosen at random.

A verdict that isn't "same" is a loss found; how many are called slower is given, too.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from math import log1p
from pathlib import Path
from statistics import fmean
from typing import Any

from isthmus.ground.json_text import json_text
from isthmus.measure.compare.comparison import TOLERANCE, compare
from isthmus.measure.compare.families import Family, any_family_of
from isthmus.measure.compare.judging import Judgement, Verdict, judge_families
from isthmus.measure.compare.levels import Levels
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run
from isthmus.measure.run.result import Result

HERE = Path(__file__).parent
RUNS = {
    "H100, first": "../fleet/two_h100/vm-0/*.json",
    "H100, second": "../fleet/two_h100/vm-1/*.json",
    "H200, idle and under load": "h200/quick_*.json",
}
PINNED = "pinned copies"
PROCESSES = 5
DRAWN = 400
Pair = tuple[Run, Run]


def slowed(run: Run, chosen: Callable[[Family], bool], loss: float) -> Run:
    """Give a run in which the chosen families have lost a part of their rate."""
    return run.model_copy(update={"results": [_slowed(r, chosen, loss) for r in run.results]})


def _slowed(result: Result, chosen: Callable[[Family], bool], loss: float) -> Result:
    family = any_family_of(result)
    if result.median is None or family is None or not chosen(family):
        return result
    factor = 1 - loss if result.unit == "B/s" else 1 / (1 - loss)
    return result.model_copy(update={"median": result.median * factor})


def unchanged(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Judge pairs in which nothing was changed."""
    found = [compare(*pair) for pair in pairs]
    doubted = Counter(
        judgement.family.name
        for comparison in found
        for judgement in comparison.judgements
        if judgement.verdict in {Verdict.SLOWER, Verdict.CANT_TELL}
    )
    return {
        "pairs": len(pairs),
        "verdicts": dict(Counter(comparison.verdict.value for comparison in found)),
        "families_not_the_same": dict(doubted),
    }


def pinned(pairs: Iterable[Pair], loss: float) -> list[dict[str, Any]]:
    """Let all pinned copies lose a part, and those of one direction."""
    rows = []
    for what, end in (("both directions", ""), ("H2D", ", H2D"), ("D2H", ", D2H")):

        def chosen(family: Family, end: str = end) -> bool:
            return family.name.startswith(PINNED) and family.name.endswith(end)

        verdicts = [
            _worst(compare(before, slowed(after, chosen, loss)).judgements, chosen)
            for before, after in pairs
        ]
        rows.append({"loss": loss, "of": f"{PINNED}, {what}", **_counted(verdicts)})
    return rows


def one_family(pairs: Iterable[Pair], loss: float) -> list[dict[str, Any]]:
    """Let each family but those of pinned copies lose a part, alone."""
    verdicts: dict[str, list[Verdict]] = {}
    for before, after in pairs:
        for family in [judgement.family for judgement in compare(before, after).judgements]:
            if family.name.startswith(PINNED):
                continue

            def chosen(other: Family, family: Family = family) -> bool:
                return other == family

            found = compare(before, slowed(after, chosen, loss)).judgements
            verdicts.setdefault(family.drift or family.clock, []).append(_worst(found, chosen))
    every = [verdict for found in verdicts.values() for verdict in found]
    return [
        {"loss": loss, "of": f"one family, {drift}", **_counted(found)}
        for drift, found in [*verdicts.items(), ("any", every)]
    ]


def _worst(judgements: Iterable[Judgement], chosen: Callable[[Family], bool]) -> Verdict:
    own = {judgement.verdict for judgement in judgements if chosen(judgement.family)}
    order = (Verdict.SLOWER, Verdict.CANT_TELL, Verdict.FASTER, Verdict.SAME)
    return next(verdict for verdict in order if verdict in own)


def _counted(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    slower, doubt = verdicts.count(Verdict.SLOWER), verdicts.count(Verdict.CANT_TELL)
    return {"runs": len(verdicts), "slower": slower, "cant_tell": doubt, "found": slower + doubt}


def repeated(groups: Iterable[Sequence[Run]], loss: float) -> list[dict[str, Any]]:
    """Draw comparisons of repeated runs whose processes differ as real runs do."""
    chance = random.Random(16)  # noqa: S311 - no secret
    deviations = [_deviations(group) for group in groups]
    verdicts: dict[str, list[Verdict]] = {"both directions": [], "H2D": [], "D2H": []}
    alarms = []
    for number in range(DRAWN):
        own = deviations[number % len(deviations)]
        plain, lost = (_drawn(own, slower, chance) for slower in (1.0, 1 / (1 - loss)))
        alarms.append(_worst(judge_families(plain, TOLERANCE), _any))
        judged = judge_families(lost, TOLERANCE)
        for what, of_one in verdicts.items():
            end = "" if what == "both directions" else what
            chosen = [
                one for one in judged if _pinned(one.family) and one.family.name.endswith(end)
            ]
            of_one.append(_worst(chosen, _any))
    rows = [
        {"loss": loss, "of": f"{PINNED}, {what}", **_counted(found)}
        for what, found in verdicts.items()
    ]
    return [{"loss": 0, "of": "nothing", **_counted(alarms)}, *rows]


def _any(family: Family) -> bool:
    return bool(family)


def _pinned(family: Family) -> bool:
    return family.name.startswith(PINNED)


def _deviations(group: Sequence[Run]) -> dict[Family, list[float]]:
    """Give how far the level of each run is from the mean of all runs of its GPU."""
    shifts: dict[Family, list[float]] = {}
    for run in group:
        for judgement in compare(group[0], run).judgements:
            shifts.setdefault(judgement.family, []).append(judgement.shift)
    return {f: [one - fmean(own) for one in own] for f, own in shifts.items()}


def _drawn(
    deviations: dict[Family, list[float]], slower: float, chance: random.Random
) -> dict[Family, Levels]:
    """Draw levels. A mean of so few runs is nearer to each than the true one: they are widened."""
    levels = {}
    for family, own in deviations.items():
        widened = (len(own) / max(1, len(own) - 1)) ** 0.5
        drawn = [chance.choice(own) * widened for _ in range(2 * PROCESSES)]
        shift = (slower if _pinned(family) else 1.0) - 1.0
        later = (level + log1p(shift) for level in drawn[PROCESSES:])
        levels[family] = Levels(
            before=tuple(drawn[:PROCESSES]), after=tuple(later), num_results=len(own)
        )
    return levels


def main() -> int:
    """Judge, print and store."""
    parser = argparse.ArgumentParser(description="How often isthmus compare finds a loss.")
    parser.add_argument("--out", type=Path, help="a file for the result")
    options = parser.parse_args()
    groups = [[read_run(str(path)) for path in sorted(HERE.glob(own))] for own in RUNS.values()]
    pairs = [pair for group in groups for pair in permutations(group, 2)]
    found = unchanged(pairs)
    result = {
        "runs": {name: len(group) for name, group in zip(RUNS, groups, strict=True)},
        "unchanged": found,
        "edited": [*pinned(pairs, 0.1), *one_family(pairs, 0.5)],
        "repeated": repeated(groups, 0.05),
    }
    text = json_text(result)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    return int(Verdict.SLOWER in found["verdicts"])


if __name__ == "__main__":
    sys.exit(main())
