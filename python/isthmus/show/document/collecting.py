"""Collects a document about runs."""

from collections.abc import Sequence

from isthmus.ground.version import __version__
from isthmus.measure.compare.comparison import check_kind
from isthmus.measure.run.model import Run
from isthmus.show.answers.comparison import names_of
from isthmus.show.document.chapters import chapters_of
from isthmus.show.document.health import verdict_of
from isthmus.show.document.parts import Chapter, Document
from isthmus.show.heading import emulated_warning, head_lines
from isthmus.show.tables.doubts import doubt_notes
from isthmus.show.tables.problems import problem_lines


def document_of(
    runs: Sequence[Run], before: Sequence[Chapter] = (), *, with_pictures: bool = True
) -> Document:
    """Collect everything about runs, side by side if there are several."""
    check_same_kind(runs)
    named = {"": runs[0]} if len(runs) == 1 else dict(zip(names_of(runs), runs, strict=True))
    machines = dict.fromkeys(run.machine.device.name for run in runs)
    return Document(
        title=f"{', '.join(machines)}: copies between CPU and GPU",
        warning=emulated_warning(runs[0].machine),
        about=tuple(head_lines(run) for run in runs),
        verdicts=tuple(verdict_of(run, name) for name, run in named.items()),
        chapters=(*before, *chapters_of(named, with_pictures=with_pictures)),
        problems=tuple(
            f"{name}: {line}" if name else line
            for name, run in named.items()
            for line in (*problem_lines(run), *doubt_notes(run))
        ),
        version=__version__,
    )


def check_same_kind(runs: Sequence[Run]) -> None:
    """Refuse to put modelled numbers beside measured ones."""
    for run in runs[1:]:
        check_kind(runs[0], emulated=run.machine.emulated)
