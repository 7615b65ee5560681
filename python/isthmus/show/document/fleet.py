"""The page of a fleet: verdicts with causes, and how each GPU stands in each family."""

from collections.abc import Sequence

from isthmus.fleet.health import Health, Patient
from isthmus.ground.spelling import counted, one_line
from isthmus.ground.version import __version__
from isthmus.show.answers.fleet import (
    NEEDED,
    headline,
    is_told,
    modelled_warning,
    number_in,
    subjects,
)
from isthmus.show.document.fleet_pictures import (
    MOST_CELLS,
    cells,
    families_of,
)
from isthmus.show.document.parts import Chapter, Document, Finding, Mark, Verdict
from isthmus.show.page import Table

_MOST_ROWS, _MOST_FINDINGS = 200, 100
_NOTHING = "-"
_RULE = (
    "A family of results is slow if it costs more than in most of its class, by more than "
    "{percent:.0f} % and by more than chance explains."
)


_COLOURS = (
    "Red costs more than the median of equal GPUs, blue less. The full colour is half as much "
    "more, or a third less. What is called slow has a frame."
)


def fleet_document(health: Health) -> Document:
    """Collect what a fleet's page shows: the bad ones first."""
    judged = [patient for patient in health.patients if patient.standings]
    return Document(
        title=f"Fleet of {counted(health.num_nodes, 'node')}",
        warning=modelled_warning(health),
        about=(tuple(f"{name}: {number_in(name, n)}" for name, n in health.classes),),
        verdicts=(_verdict(health),),
        chapters=(*_pictures(judged), _standings(health, judged)),
        problems=(*health.notes, *(f"left out: {why}" for why in health.unread)),
        version=__version__,
    )


def _verdict(health: Health) -> Verdict:
    shown = list(filter(is_told, health.patients))
    mark = Mark.BAD if health.bad else Mark.NOTE if shown else Mark.GOOD
    more, sentence = len(shown) - _MOST_FINDINGS, headline(health)
    text = f"{more} more are left out here: `isthmus fleet check --all` lists them."
    left_out = Finding(mark=Mark.NOTE, text=text)
    return Verdict(
        name="",
        mark=mark,
        headline=f"{sentence[:1].upper()}{sentence[1:]}.",
        findings=(*map(_finding, shown[:_MOST_FINDINGS]), *([left_out] if more > 0 else [])),
        limits=(),
        gains=(),
    )


def _finding(patient: Patient) -> Finding:
    found = "; ".join(map(one_line, patient.findings))
    return Finding(
        mark=Mark.BAD if patient.verdict.is_bad else Mark.NOTE,
        text=f"{one_line(patient.words)} is {patient.verdict}: {found}.",
        advice=tuple(f"{cause.part}: {one_line(cause.text)}." for cause in patient.causes),
    )


def _pictures(judged: Sequence[Patient]) -> list[Chapter]:
    """Show the judged GPUs in pictures; those without a number have no place in them."""
    if not judged:
        return []
    families = families_of(judged)
    return [
        Chapter(
            id="cells",
            title="Which GPU, and in what",
            sentences=(_shown(judged, MOST_CELLS, "rows"), _COLOURS),
            figures=(cells(judged, families),),
        ),
    ]


def _shown(judged: Sequence[Patient], most: int, what: str) -> str:
    """Say how many GPUs are shown, the worst first, and how many aren't."""
    if not judged:
        return f"No GPU was judged by its speed: {NEEDED}."
    if len(judged) <= most:
        return f"All {subjects(judged)} that were judged, the worst first."
    return f"The worst {most} of {subjects(judged)} have {what}; {len(judged) - most} are left out."


def _standings(health: Health, judged: Sequence[Patient]) -> Chapter:
    patients = judged[:_MOST_ROWS]
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
        rows.append((one_line(patient.words), patient.verdict.value, *cells))
    table = Table(
        title="Difference from the median of equal GPUs, in the unit of the family",
        heads=("GPU", "verdict", *(f"{one.name} ({one.unit})" for one in families)),
        rows=tuple(rows),
        num_text_columns=2,
    )
    return Chapter(
        id="standings",
        title="How each GPU stands in its class",
        sentences=(
            _RULE.format(percent=100 * health.tolerance),
            _shown(judged, _MOST_ROWS, "numbers here"),
        ),
        tables=(table,) if rows else (),
        is_table=True,
    )
