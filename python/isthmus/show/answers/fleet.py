"""How a fleet is, on one screen: the bad ones first, and what to do about each."""

from collections import Counter
from collections.abc import Sequence

from isthmus.fleet.health import Health, Patient, Verdict
from isthmus.fleet.places import NOUNS
from isthmus.fleet.standing import FEWEST
from isthmus.ground.spelling import counted, listed, one_line
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, wrapped, wrapped_lines

_MOST_NAMED = 4
_ALL_MODELLED = "EMULATED devices: their numbers are modelled, not measured on a GPU"
_MOST_SHOWN = 12
_MOST_CAUSES = 2
_MOST_NOTES = 6
_INDENT = "    "
NEEDED = f"needs {FEWEST} equal GPUs"
"""Why nobody may have been judged."""


def fleet_text(health: Health, *, every: bool = False, width: int = PAGE_WIDTH) -> str:
    """
    Write the verdicts, the worst first; `every` lists also the GPUs that are ok, and all causes and
    findings.
    """
    shown = [patient for patient in health.patients if every or is_told(patient)]
    most = len(shown) if every else _MOST_SHOWN
    blocks = [_lines(patient, every=every, width=width) for patient in shown[:most]]
    tail = []
    if len(shown) > most:
        tail = wrapped(f"{len(shown) - most} more aren't ok: --all lists them", width)
    notes = health.notes if every else health.notes[:_MOST_NOTES]
    return blocks_text(
        [
            wrapped_lines(_head(health), width),
            [line for block in blocks for line in block],
            tail,
            wrapped_lines((f"note: {one_line(note)}" for note in notes), width),
            wrapped_lines((f"left out: {one_line(why)}" for why in health.unread), width),
            wrapped_lines(_classes(health), width),
        ]
    )


def is_told(patient: Patient) -> bool:
    """Whether its verdict is told by default; pairs that aren't judged are many, and counted."""
    return patient.verdict not in {Verdict.OK, Verdict.UNJUDGED if patient.place else Verdict.OK}


def subjects(patients: Sequence[Patient]) -> str:
    """Count what is judged: "16 GPUs", "16 GPUs, 28 pairs and 8 shares"."""
    dead = Verdict.DEAD
    counts = Counter("dead node" if p.verdict == dead else NOUNS[len(p.place)] for p in patients)
    return listed([counted(counts[noun], noun) for noun in (*NOUNS, "dead node") if counts[noun]])


def headline(health: Health) -> str:
    """Give the state of the fleet in a sentence: "2 of 64 GPUs are bad: 1 dead, 1 slow"."""
    total = len(health.patients)
    counts = [
        f"{health.count(verdict)} {verdict}"
        for verdict in Verdict
        if verdict.is_bad and health.count(verdict)
    ]
    if not total:
        return "there is nothing to check"
    dead = health.count(Verdict.DEAD) == total
    what = counted(total, "node") if dead else subjects(health.patients)
    judged = any(one.standings or one.verdict == Verdict.OK for one in health.patients)
    if not counts and not judged:
        return f"{what}, no errors. Speed not judged: {NEEDED}"
    if not counts:
        return f"{what}, none bad"
    are = "is" if len(health.bad) == 1 else "are"
    if dead or not health.count(Verdict.DEAD):
        return f"{len(health.bad)} of {what} {are} bad: {listed(counts)}"
    return f"{len(health.bad)} of {total} {are} bad ({what}): {listed(counts)}"


def modelled_warning(health: Health) -> str | None:
    """Say which GPUs of the fleet are emulated; None if none is."""
    known = [patient for patient in health.patients if patient.emulated is not None]
    modelled = [one_line(patient.node) for patient in known if patient.emulated]
    if len(modelled) == len(known):
        return _ALL_MODELLED if modelled else None
    which = ", ".join([*modelled[:_MOST_NAMED], *["..."] * (len(modelled) > _MOST_NAMED)])
    are = f"EMULATED, so modelled: {len(modelled)} of {counted(len(known), 'GPU')}, on {which}"
    return are if modelled else None


def _head(health: Health) -> list[str]:
    warning = modelled_warning(health)
    said = headline(health)
    good = (Verdict.DOUBTFUL, Verdict.UNJUDGED, Verdict.OK)
    counts = ", ".join(f"{num} {verdict}" for verdict in good if (num := health.count(verdict)))
    others = f"; {counts}" if counts else ""
    size = f"{counted(health.num_nodes, 'node')}, {counted(health.num_runs, 'run')}"
    return [*([warning] if warning else []), f"{said}{others} ({size})"]


def _lines(patient: Patient, *, every: bool, width: int) -> list[str]:
    head = f"{patient.verdict:<8}  {one_line(patient.words)}"
    if not patient.findings:
        return wrapped(head, width)
    first, *others = map(one_line, patient.findings)
    lines = wrapped(f"{head}: {first}", width, indent=_INDENT)
    for line in others:
        lines += wrapped(f"{_INDENT}{line}", width, indent=_INDENT + "  ")
    causes = patient.causes if every else patient.causes[:_MOST_CAUSES]
    for cause in causes:
        lines += wrapped(
            f"{_INDENT}-> {cause.part}: {one_line(cause.text)}", width, indent=_INDENT + "   "
        )
    return lines


def _classes(health: Health) -> list[str]:
    """Count the members of classes; those with equal names differ in what their names don't say."""
    fine = Counter(one.class_name for one in health.patients if one.verdict == Verdict.OK)
    numbers = Counter[str]()
    for name, number in health.classes:
        numbers[name] += number
    return [
        f"class: {one_line(name)}: {number_in(name, number)}, {fine[name]} ok"
        for name, number in numbers.items()
    ]


def number_in(name: str, number: int) -> str:
    """Count the members of a class."""
    return counted(number, next((one for one in NOUNS if name.startswith(f"{one}s of ")), "GPU"))
