"""A report on watched processes as a document: the verdict, a timeline, and the tables."""

from collections.abc import Sequence
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING

from isthmus.show.answers.watch import (
    EMULATED,
    UNKNOWN,
    blocking_sentences,
    cause_text,
    head_lines,
    verdict_sentence,
    watch_tables,
    worth_telling,
)
from isthmus.show.document.figures import figure
from isthmus.show.document.palette import variable
from isthmus.show.document.parts import Chapter, Document, Figure, Finding, Mark, Verdict
from isthmus.show.pictures.drawing import data_of, described
from isthmus.show.quantities import readable
from isthmus.watching.counters import Event, Process, read_events
from isthmus.watching.model import Loss, WatchReport

if TYPE_CHECKING:
    import altair as alt

_MOST_ROWS = 100
_MOST_EVENTS, _MOST_THREADS = 400, 12
_WIDTH, _ROW = 470, 22
_NAME_PIXELS = 110
_COLOURS = {"copy": "curve-0", "hidden": "curve-1", "wait": "curve-5"}
_LEGEND = (
    "The longest of the recorded calls. Blue: copies. Orange: those that were hidden "
    "synchronisation, and copy-waits. Grey: other waits."
)
_MOST_PLACES = 5


def watch_document(report: WatchReport, processes: Sequence[Process]) -> Document:
    """Collect a page; the timeline has the longest calls of those that were recorded."""
    drawn = _timeline(processes)
    return Document(
        title=head_lines(report)[0],
        warning=EMULATED if report.modelled else None,
        about=(tuple(head_lines(report)[1:]), (f"Predicted by: {report.predicted_by}",)),
        verdicts=tuple(_verdict(one, report) for one in (report, *report.ranks)),
        chapters=(
            *(
                [Chapter(id="timeline", title="Timeline", sentences=(_LEGEND,), figures=drawn)]
                if drawn
                else []
            ),
            Chapter(
                id="calls",
                title="What was copied",
                sentences=tuple(blocking_sentences(report)),
                tables=tuple(watch_tables(report, most=_MOST_ROWS)),
                is_table=True,
            ),
        ),
        problems=tuple(report.notes),
        version=report.isthmus_version,
    )


def _verdict(one: WatchReport, whole: WatchReport) -> Verdict:
    rank = f"rank {one.rank}" if one is not whole else "together"
    violated = [
        Finding(
            mark=Mark.BAD,
            text=f"failed {broken.condition}: {broken.why}",
            advice=tuple(place.site for place in broken.places[:_MOST_PLACES]),
        )
        for broken in one.violations
    ]
    causes = [
        Finding(
            mark=Mark.NOTE,
            text=f"{cause_text(found)}: {found.change}",
            advice=tuple(map(_place, found.places[:_MOST_PLACES])),
        )
        for found in worth_telling(one)
    ]
    return Verdict(
        name=rank if whole.ranks else "",
        mark=Mark.BAD if violated else Mark.NOTE if causes else Mark.GOOD,
        headline=verdict_sentence(one),
        findings=(*violated, *causes),
        limits=(),
        gains=(),
    )


def _place(one: Loss) -> str:
    line = f": `{one.source_line}`" if one.source_line else ""
    return f"{readable(one.seconds, 's')} at {one.site or UNKNOWN}{line}"


def _timeline(processes: Sequence[Process]) -> tuple[Figure, ...]:
    """Draw the longest calls of the threads that spent most in calls."""
    start = min((one.begin_ns for one in processes), default=0)
    recorded = chain.from_iterable(
        ((process, event) for event in read_events(process)) for process in processes
    )
    longest = nlargest(_MOST_EVENTS, recorded, key=lambda one: one[1].ns)
    rows = [_bar(process, event, start) for process, event in longest]
    names = list(dict.fromkeys(str(row["thread"]) for row in rows))[:_MOST_THREADS]
    shown = [row for row in rows if row["thread"] in names]
    if not shown:
        return ()
    words = f"the {len(shown)} longest calls, of {len(names)} threads"
    drawn = figure("Copies and waits", described(_bars(shown, names)), kind="cells", words=words)
    return (drawn,)


def _bar(process: Process, event: Event, start: int) -> dict[str, object]:
    begin = (process.begin_ns - start + event.begin_ns) * 1e-9
    rank = f"rank {process.rank} " if process.rank else ""
    return {
        "thread": f"{rank}{event.thread.name or event.thread.tid}",
        "from": begin,
        "to": begin + event.ns * 1e-9,
        "what": "hidden" if event.hidden else "wait" if event.kind == "wait" else "copy",
        "bytes": event.bytes,
        "at": event.site.place,
        "shown": True,
    }


def _bars(rows: list[dict[str, object]], names: list[str]) -> "alt.TopLevelMixin":
    import altair as alt

    axis = alt.Axis(title=None, labelLimit=_NAME_PIXELS, ticks=False, domain=False)
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X("from", type="quantitative", title="seconds from the first call of the driver"),
        x2="to:Q",
        y=alt.Y("thread", type="nominal", sort=None, scale=alt.Scale(domain=names), axis=axis),
    )
    parts = [
        base.transform_filter(f"datum.what == '{what}'").mark_bar(
            fill=variable(colour), stroke=variable(colour), strokeWidth=1
        )
        for what, colour in _COLOURS.items()
    ]
    return alt.layer(*parts, width=_WIDTH, height=_ROW * len(names))
