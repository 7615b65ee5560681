"""Writes a run in any of the formats."""

from isthmus.measure.run.model import Run
from isthmus.measure.run.store import run_text
from isthmus.show.format import Format, RunFormat, TableLayout
from isthmus.show.formats.as_csv import as_csv
from isthmus.show.formats.as_gdrcopy import as_gdrcopy
from isthmus.show.formats.as_nvbandwidth import as_nvbandwidth, as_nvbandwidth_json
from isthmus.show.formats.as_text import as_text


def render(run: Run, wanted: Format) -> str:
    """Write a run in one of our formats."""
    return render_as(run, TableLayout(wanted=RunFormat(wanted.value)))


def render_as(run: Run, layout: TableLayout) -> str:
    """Write a run in a layout."""
    if layout.wanted == RunFormat.NVBANDWIDTH:
        write = as_nvbandwidth_json if layout.as_json else as_nvbandwidth
        return write(run, verbose=layout.verbose)
    if layout.wanted == RunFormat.TEXT:
        return as_text(run, verbose=layout.verbose, brief=layout.brief)
    writers = {
        RunFormat.JSON: run_text,
        RunFormat.CSV: as_csv,
        RunFormat.GDRCOPY: as_gdrcopy,
    }
    return writers[layout.wanted](run)
