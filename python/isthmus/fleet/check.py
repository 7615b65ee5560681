"""Checks a fleet: who is dead, wrong or slow, and why."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from math import log1p

from isthmus.fleet.causes import Cause, Causes, text_of
from isthmus.fleet.classes import MachineClass, classes_of
from isthmus.fleet.clocks import TIME_OF_DAY, TOLERATED
from isthmus.fleet.health import Health, Patient, Verdict, places_of, way_of, with_common_gpu
from isthmus.fleet.measured import Fleet, Gpu
from isthmus.fleet.places import NOUNS
from isthmus.fleet.standing import AGAINST_ALONE, FEWEST, Standing, standings
from isthmus.ground.spelling import counted, one_line
from isthmus.measure.compare.comparison import DEFAULT_TOLERANCE
from isthmus.measure.compare.families import Family
from isthmus.measure.compare.judging import in_unit
from isthmus.measure.doctor.check import Status

_MOST_FAMILIES = 3
# Of the expected rate of a link: less isn't reached by any healthy one.
_FAR_BELOW = 0.7
_WRONG_BYTES = re.compile("verification failed|wrong bytes|arrived")
_UNREACHED = "can't reach the memory"
# Of different pairs or shares, more slow ones than this part are so by design.
_MOST_ODD = 1 / 4
_BROKEN = {
    "link": "the link is below its maximum under load",
    "link errors": "the link has errors again and again",
}
_TAKE_OUT = "; take the GPU out of use: see Xid and ECC lines of dmesg, and isthmus doctor"
_BY_EYE = "what differs isn't in its facts: look for what shares its host, switch or power"


def check_fleet(
    fleet: Fleet, *, expected: Collection[str] = (), tolerance: float = DEFAULT_TOLERANCE
) -> Health:
    """
    Judge every GPU, and every pair and share of a node's GPUs, by its class, the worst first; an
    expected node that left nothing is dead, and up to `tolerance`, a fraction, more cost is the
    same.
    """
    gpus = [*fleet.gpus.values(), *places_of(fleet)]
    classes = classes_of(gpus)
    stands = standings([one.gpus for one in classes], fleet.families, tolerance)
    patients = _dead(fleet, expected)
    notes = fleet.not_judged
    for one in classes:
        slow = [gpu for gpu in one.gpus if any(own.slow for own in stands.get(id(gpu), ()))]
        if one.is_mixed and len(slow) > _MOST_ODD * len(one.gpus):
            stands |= {id(gpu): [] for gpu in one.gpus}
        view = _ClassView(one, fleet)
        losses = {
            standing.family: standing.usual
            for gpu in one.gpus
            for standing in stands.get(id(gpu), [])
            if standing.family.name.endswith(AGAINST_ALONE)
        }
        notes += [
            f"{one.name}: {family.name}: {_amount(family, usual)}"
            for family, usual in losses.items()
            if usual > log1p(tolerance)
        ]
        notes += view.notes()
        for gpu in one.gpus:
            patients.append(view.patient(gpu, stands.get(id(gpu), [])))
    patients = sorted(with_common_gpu(patients), key=_severity)
    return Health(
        patients=patients,
        classes=[(one.name, len(one.gpus)) for one in classes],
        num_nodes=len(fleet.nodes | set(expected)),
        notes=notes,
        num_runs=fleet.num_runs,
        unread=fleet.unread,
        tolerance=tolerance,
    )


def _severity(patient: Patient) -> tuple[int, float, str, int]:
    slowest = patient.standings[0].shift if patient.standings else 0.0
    order = list(Verdict).index(patient.verdict)
    # Those that are ok in the order of their names.
    worst = 0.0 if patient.verdict == Verdict.OK else -slowest
    return (order, worst, patient.node, patient.ordinal or 0)


def _dead(fleet: Fleet, expected: Collection[str]) -> list[Patient]:
    """Give the nodes from which no run came, with what is known of the reason."""
    alive = {node for node, _ in fleet.gpus}
    found = []
    for node in sorted((fleet.nodes | set(expected)) - alive):
        attempts = fleet.attempts.get(node, [])
        reasons = [f"{one.outcome}: {one.reason}" for one in attempts]
        reasons = list(dict.fromkeys((*reasons, *fleet.lost.get(node, ()))))
        problems = [
            Cause(part=check.name, text=text_of(check), shown=True)
            for check in fleet.checks.get(node, ())
            if check.status == Status.PROBLEM
        ]
        words = "" if node in fleet.checks else " and no word"
        found.append(
            Patient(
                node=node,
                verdict=Verdict.DEAD,
                findings=tuple(reasons) or (f"no run{words} came from it",),
                causes=tuple(problems),
            )
        )
    return found


class _ClassView:
    """One class: what is usual in it, and the verdicts on its GPUs."""

    def __init__(self, one: MachineClass, fleet: Fleet) -> None:
        self._class, self._fleet = one, fleet
        self._causes = Causes(one, fleet.checks)
        self._half = len(one.gpus) / 2
        self._errors = Counter(failed for gpu in one.gpus for failed in gpu.errors)
        self._waived = Counter(test for gpu in one.gpus for test in gpu.waived)
        self._passed = Counter(test for gpu in one.gpus for test in gpu.passed)
        self._short = Counter(value.test for gpu in one.gpus for value in gpu.short)

    def patient(self, gpu: Gpu, stands: Sequence[Standing]) -> Patient:
        """Give the verdict on one GPU of the class."""
        causes = self._causes.of(gpu)
        slow = [standing for standing in stands if standing.slow]
        families = [standing.family for standing in slow]
        causes.sort(key=lambda cause: not any(map(cause.explains, families)))
        if slow and len(gpu.place) > 1:
            causes = [*way_of(gpu, self._class.gpus, self._fleet), *causes]
        certain = [one for one in slow if _certain(one, causes)]
        unsure = [one for one in slow if one not in certain]
        broken = self._absolute(gpu)
        causes = causes or (self._causes.usual_of(gpu) if broken else [])
        failures = self._failures(gpu)
        # A few packets that are sent again are chance: see `LinkErrors.are_many`.
        told = [one for one in causes if one.part != "link errors" or gpu.broken]
        unlike = [f"unlike its class: {one.part}" for one in told if one.shown and not gpu.place]
        found = {
            Verdict.WRONG: failures,
            Verdict.SLOW: [*_slow(certain, unsure), *broken],
            Verdict.DOUBTFUL: [
                *([] if certain or broken else [*_unsure(unsure), *unlike, *_behind(gpu, stands)]),
                *self._doubts(gpu),
            ],
            Verdict.UNJUDGED: []
            if stands or failures or (self._fleet.expects(gpu) and gpu.ratios)
            else [self._too_few(gpu)],
        }
        verdict = next((one for one, findings in found.items() if findings), Verdict.OK)
        if verdict == Verdict.SLOW and not causes:
            part = "emulated profile" if gpu.machine.emulated else "unknown"
            causes = [Cause(part=part, text=gpu.facts.get(part, _BY_EYE), shown=False)]
        return Patient(
            node=gpu.node,
            uuid=gpu.uuid or None,
            ordinal=None if gpu.place else gpu.machine.device.ordinal,
            place=gpu.place,
            class_name=self._class.name,
            verdict=verdict,
            findings=tuple(line for lines in found.values() for line in lines),
            causes=() if verdict == Verdict.OK else tuple(causes),
            standings=tuple(stands),
            num_runs=len(gpu.costs),
            emulated=gpu.machine.emulated,
            measured_at=gpu.measured_at,
            rates=gpu.rates,
        )

    def notes(self) -> list[str]:
        """Give what is so with most of the class, and therefore no GPU's own fault."""
        number = len(self._class.gpus)
        if number == 1:
            return []
        found = {
            **{f"{test} failed: {one_line(why)}": n for (test, why), n in self._errors.items()},
            **{f"{test} is below its expected value": n for test, n in self._short.items()},
            **({} if self._class.gpus[0].place else self._causes.usual_lines),
        }
        name = self._class.name if self._class.gpus[0].place else f"GPUs of {self._class.name}"
        return [
            f"{count} of {number} {name}: {line}"
            for line, count in found.items()
            if count > self._half
        ]

    def _failures(self, gpu: Gpu) -> list[str]:
        """Give absolute errors, those that most of the class don't have, and lost access."""
        lost = [line for line in self._waived_alone(gpu) if gpu.place and _UNREACHED in line]
        return lost + _failed(gpu, [one for one in gpu.errors if not self._is_usual(gpu, one)])

    def _is_usual(self, gpu: Gpu, failed: tuple[str, str]) -> bool:
        """Whether most of the class have an error, and it needn't be the GPU's own fault."""
        return not _is_absolute(gpu, failed) and self._errors[failed] > max(1.0, self._half)

    def _lost(self, gpu: Gpu) -> list[str]:
        """Give what most of the class measured and this GPU didn't try."""
        if not gpu.tried:
            return ["its runs are empty: nothing was measured"]
        fewest = max(self._half, FEWEST - 1)
        usual = {test for test, number in self._passed.items() if number > fewest}
        lost = sorted(usual - gpu.tried)
        which = f"{lost[0]}{', ...' if lost[1:] else ''}" if lost else ""
        number = counted(len(lost), "test")
        return [f"lost: {number} that most of its class have ({which})"] if lost else []

    def _absolute(self, gpu: Gpu) -> list[str]:
        """Give what is bad however usual it is: a broken link, and rates far below the expected."""
        lines = [_BROKEN[part] for part in sorted(gpu.faults)]
        gate = self._fleet.expects(gpu)
        far = [
            f"{value.test} {_percent(ratio)}"
            for value, ratio in gpu.short.items()
            if gate or (value.of_the_link and ratio < _FAR_BELOW)
        ]
        return lines + ([f"of the expected value: {', '.join(far)}"] if far else [])

    def _too_few(self, gpu: Gpu) -> str:
        if not any(gpu.costs):
            return "nothing was measured that is judged"
        if self._class.is_mixed and len(self._class.gpus) >= FEWEST:
            return "more than one kind, and four equal nodes are needed to tell which is which"
        number = counted(len(self._class.gpus), NOUNS[len(gpu.place)])
        if len(self._class.gpus) >= FEWEST:
            return f"{number} of its class, but too few of them measured the same"
        return f"{number} of its class, and {FEWEST} are needed"

    def _doubts(self, gpu: Gpu) -> list[str]:
        if gpu.place:
            return [line for line in self._waived_alone(gpu) if _UNREACHED not in line]
        attempts = self._fleet.attempts.get(gpu.node, ())
        lost = Counter(f"{one.outcome}: {one.reason}" for one in attempts)
        lines = [f"{counted(number, 'attempt')} left no run: {why}" for why, number in lost.items()]
        lines += [
            f"of its node, one file is lost: {why}" for why in self._fleet.lost.get(gpu.node, ())
        ]
        if gpu.claims:
            claims = " and ".join(sorted({gpu.node, *gpu.claims}))
            lines.append(f"one GPU was measured as {claims} at the same time")
        checks = self._fleet.checks.get(gpu.node, ())
        clock = [check.finding for check in checks if check.name == TIME_OF_DAY]
        ahead = gpu.measured_at - self._fleet.now
        if ahead > TOLERATED and not clock:
            clock = [f"its clock is {ahead.total_seconds():.0f} s or more ahead of this machine's"]
        if self._fleet.expects(gpu) and any(gpu.costs) and not gpu.ratios:
            lines.append("nothing was measured that --expect has a value for")
        usual = _failed(gpu, [one for one in gpu.errors if self._is_usual(gpu, one)])
        usual = [f"as in most of its class, {line}" for line in usual]
        return lines + clock + self._lost(gpu) + usual + self._waived_alone(gpu)

    def _waived_alone(self, gpu: Gpu) -> list[str]:
        waived: dict[str, str] = {}
        for test, reason in gpu.waived.items():
            if self._passed[test] > self._waived[test]:
                waived.setdefault(reason, test)
        return [
            f"waived here and not in most of its class: {test}: {one_line(reason)}"
            for reason, test in waived.items()
        ]


def _is_absolute(gpu: Gpu, failed: tuple[str, str]) -> bool:
    """Whether an error is the GPU's own fault, however usual it is in its class."""
    return failed in gpu.fatal or bool(_WRONG_BYTES.search(failed[1]))


def _failed(gpu: Gpu, errors: Sequence[tuple[str, str]]) -> list[str]:
    """Say what failed, in how many runs, and what to do about it."""
    by_message: dict[str, list[tuple[str, str]]] = {}
    for failed in errors:
        by_message.setdefault(failed[1], []).append(failed)
    lines = []
    for message, own in by_message.items():
        number = len(set().union(*(gpu.errors[one] for one in own)))
        runs = f", in {number} of {len(gpu.costs)} runs" if len(gpu.costs) > 1 else ""
        which = f"{own[0][0]}{', ...' if own[1:] else ''}"
        lines.append(
            f"{counted(len(own), 'test')} failed ({which}){runs}: {one_line(message)}"
            + (_TAKE_OUT if _is_absolute(gpu, own[0]) else "")
        )
    return lines


def _certain(standing: Standing, causes: Sequence[Cause]) -> bool:
    """
    Whether a slow family is the GPU's, and no flicker: it was slow in most of at least two
    processes, or the run shows what slows such copies down.
    """
    repeated = standing.num_slow > max(1.0, standing.num_repeats / 2)
    return repeated or any(cause.shown and cause.explains(standing.family) for cause in causes)


def _slow(certain: Sequence[Standing], unsure: Sequence[Standing]) -> list[str]:
    shown = [*certain, *unsure] if certain else []
    lines = [_sentence(standing) for standing in shown[:_MOST_FAMILIES]]
    more = len(shown) - len(lines)
    return [*lines, f"and {more} more {'family' if more == 1 else 'families'}"] if more else lines


def _unsure(stands: Sequence[Standing]) -> list[str]:
    return [
        f"{_sentence(one)}; it may be a disturbed moment: measure again, with --repeat 3"
        for one in stands[:1]
    ]


def _behind(gpu: Gpu, stands: Sequence[Standing]) -> list[str]:
    """Say of the worst family in which its class is divided in two that this GPU is slower."""
    worst = max(stands, key=lambda one: one.behind, default=None)
    # Pairs may be joined in two ways.
    if worst is None or not worst.behind or gpu.place:
        return []
    amount = _amount(worst.family, worst.behind)
    line = f"{worst.family.name}: {amount} than the faster group of its class, which is divided "
    return [f"{line}in two: see --expect, and what sets the groups apart"]


def _sentence(standing: Standing) -> str:
    number = standing.num_repeats
    repeats = f", in {standing.num_slow} of {number} processes" if number > 1 else ""
    amount = _amount(standing.family, standing.shift)
    return f"{standing.family.name}: {amount} than its class{repeats}"


def _amount(family: Family, shift: float) -> str:
    change = in_unit(shift, family.unit)
    if family.unit == "s":
        return f"{_percent(change)} more time"
    return f"{_percent(-change)} less bandwidth"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"
