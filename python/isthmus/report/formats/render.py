"""Writes a run in any of the formats."""

from isthmus.report.format import Format, RunFormat, TableLayout
from isthmus.report.formats.as_csv import as_csv
from isthmus.report.formats.as_gdrcopy import as_gdrcopy
from isthmus.report.formats.as_nvbandwidth import as_nvbandwidth, as_nvbandwidth_json
from isthmus.report.formats.as_text import as_text
from isthmus.run.model import Run
from isthmus.run.store import run_text


def render(run: Run, wanted: Format) -> str:
    """Write a run in one of our formats."""
    return render_as(run, TableLayout(wanted=RunFormat(wanted.value)))


def render_as(run: Run, layout: TableLayout) -> str:
    """Write a run in a layout."""
    if layout.wanted == RunFormat.NVBANDWIDTH:
        write = as_nvbandwidth_json if layout.as_json else as_nvbandwidth
        return write(run, use_mean=layout.use_mean, verbose=layout.verbose)
    if layout.wanted == RunFormat.TEXT:
        return as_text(run, use_mean=layout.use_mean, verbose=layout.verbose)
    writers = {
        RunFormat.JSON: run_text,
        RunFormat.CSV: as_csv,
        RunFormat.GDRCOPY: as_gdrcopy,
    }
    return writers[layout.wanted](run)
