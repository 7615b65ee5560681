"""Collects the chapters of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from isthmus.measure.run.model import Run
from isthmus.show.document import sentences
from isthmus.show.document.figures import figure_of
from isthmus.show.document.impossible import possible
from isthmus.show.document.parts import Chapter, Figure
from isthmus.show.document.plans import PLANS, Plan
from isthmus.show.heading import about_device
from isthmus.show.page import Table
from isthmus.show.pictures.lines import drawable, panels_by_theme
from isthmus.show.pictures.of_run import panel_charts
from isthmus.show.tables.labels import of_suite


def chapters_of(runs: Mapping[str, Run], *, with_pictures: bool = True) -> list[Chapter]:
    """
    Collect the chapters for which there are results, by the runs' names; a run alone may have the
    name "".
    """
    drawn = panels_by_theme(
        {name: drawable(run) for name, run in runs.items()} if with_pictures else {}
    )
    planned = {theme for plan in PLANS for theme in plan.themes}
    others = [
        Plan(id=name, title=theme.title, sentence=lambda _: "", themes={name: (theme.title,)})
        for name, (theme, _) in drawn.items()
        if name not in planned
    ]
    figures = {
        name: [(panel.title, figure_of(drawn[name][0], panel)) for panel in panels]
        for name, panels in panel_charts(drawn).items()
    }
    found = [_chapter(plan, runs, figures) for plan in (*PLANS, *others)]
    return [chapter for chapter in found if _has_content(chapter)]


def _chapter(
    plan: Plan, runs: Mapping[str, Run], figures: Mapping[str, Sequence[tuple[str, Figure]]]
) -> Chapter:
    own = [
        (_is_first(title, plan.themes[theme]), figure)
        for theme in plan.themes
        for title, figure in figures.get(theme, ())
    ]
    first = tuple(figure for is_first, figure in own if is_first)
    more = tuple(figure for is_first, figure in own if not is_first)
    # Without one that is shown at first, the first one is.
    return Chapter(
        id=plan.id,
        title=plan.title,
        sentences=tuple(filter(None, (_said(plan, name, run) for name, run in runs.items()))),
        figures=first or more[:1],
        more=more if first else more[1:],
        tables=tuple(table for name, run in runs.items() for table in _tables(plan, name, run)),
        notes=tuple(
            dict.fromkeys(
                _named(name, note)
                for name, run in runs.items()
                for notes in plan.notes
                for note in notes(run)
            )
        ),
    )


def _is_first(title: str, wanted: Sequence[str]) -> bool:
    return title.partition(", 1 of ")[0] in wanted


def _said(plan: Plan, name: str, run: Run) -> str:
    results = [result for suite in plan.suites for result in of_suite(run, suite)]
    text = plan.sentence(possible(run))
    if not text and all(result.median is None for result in results):
        text = sentences.why_nothing(results)
    return _named(name, text)


def _tables(plan: Plan, name: str, run: Run) -> list[Table]:
    found = [table for tables in plan.tables for table in tables(run) if table is not None]
    marked = found if plan.of_host else about_device(run.machine, found)
    return [replace(table, title=_named(name, table.title)) for table in marked]


def _named(name: str, text: str) -> str:
    return f"{name}: {text}" if name and text else text


def _has_content(chapter: Chapter) -> bool:
    return bool(chapter.sentences or chapter.figures or chapter.tables)
