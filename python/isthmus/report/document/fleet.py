"""The page of a fleet: verdicts with causes, and how each GPU stands in each family."""

import isthmus
from isthmus.fleet.health import Health, Patient
from isthmus.fleet.health import Verdict as Kind
from isthmus.report.answers.fleet import headline, is_modelled
from isthmus.report.document.parts import Chapter, Document, Finding, Mark, Verdict
from isthmus.report.page import Table
from isthmus.spelling import counted
from isthmus.suggest import one_line

_MOST_ROWS = 200
_NOTHING = "-"
_RULE = (
    "A family of results is slow if it costs more than in most of its class, by more than "
    "{percent:.0f} % and by more than chance explains."
)


def fleet_document(health: Health) -> Document:
    """Collect what a fleet's page shows: the bad ones first."""
    modelled = is_modelled(health)
    return Document(
        title=f"Fleet of {counted(health.num_nodes, 'node')}",
        warning="EMULATED devices: their numbers are modelled, not measured on a GPU"
        if modelled
        else None,
        about=(tuple(f"{name}: {counted(n, 'GPU')}" for name, n in health.classes),),
        verdicts=(_verdict(health),),
        chapters=(_standings(health),),
        problems=(*health.notes, *(f"left out: {why}" for why in health.unread)),
        version=isthmus.__version__,
    )


def _verdict(health: Health) -> Verdict:
    shown = [patient for patient in health.patients if patient.verdict != Kind.OK]
    mark = Mark.BAD if health.bad else Mark.NOTE if shown else Mark.GOOD
    sentence = headline(health)
    return Verdict(
        name="",
        mark=mark,
        headline=f"{sentence[:1].upper()}{sentence[1:]}.",
        findings=tuple(map(_finding, shown)),
        limits=(),
        gains=(),
    )


def _finding(patient: Patient) -> Finding:
    gpu = "" if patient.ordinal is None else f" GPU {patient.ordinal}"
    found = "; ".join(map(one_line, patient.findings))
    return Finding(
        mark=Mark.BAD if patient.verdict.is_bad else Mark.NOTE,
        text=f"{one_line(patient.node)}{gpu} is {patient.verdict}: {found}.",
        advice=tuple(f"{cause.part}: {one_line(cause.text)}." for cause in patient.causes),
    )


def _standings(health: Health) -> Chapter:
    patients = [patient for patient in health.patients if patient.standings][:_MOST_ROWS]
    families = dict.fromkeys(one.family for patient in patients for one in patient.standings)
    rows = []
    for patient in patients:
        changes = {one.family: one for one in patient.standings}
        cells = [
            f"{100 * one.change:+.0f} %{' slow' if one.slow else ''}"
            if (one := changes.get(family))
            else _NOTHING
            for family in families
        ]
        name = f"{one_line(patient.node)} GPU {patient.ordinal}"
        rows.append((name, patient.verdict.value, *cells))
    table = Table(
        title="Difference from the median of equal GPUs, in the unit of the family",
        heads=("GPU", "verdict", *(f"{one.name} ({one.unit})" for one in families)),
        rows=tuple(rows),
        num_text_columns=2,
    )
    return Chapter(
        id="standings",
        title="How each GPU stands in its class",
        sentences=(_RULE.format(percent=100 * health.tolerance),),
        tables=(table,) if rows else (),
        is_table=True,
    )
