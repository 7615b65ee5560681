"""The report in docs/reports is what the command makes of the run in benchmarks."""

import re

from documents.snippets import ROOT
from isthmus.measure.run.reading import read_run
from isthmus.show.document.as_html import as_html
from isthmus.show.document.collecting import document_of

_REPORT = ROOT / "docs" / "reports" / "h100.html"
_RUN = ROOT / "benchmarks" / "link" / "h100" / "run.json"


def verdict(html: str) -> str:
    [found] = re.findall(r'<section id="verdict".*?</section>', html, re.DOTALL)
    return str(found)


def test_the_committed_report_has_the_verdict_of_its_run() -> None:
    """Pictures differ between versions of what draws, so that they aren't compared."""
    made = as_html(document_of([read_run(str(_RUN))], with_pictures=False))
    command = f"isthmus report {_RUN.relative_to(ROOT)} -o {_REPORT.relative_to(ROOT)}"
    assert verdict(made) == verdict(_REPORT.read_text("utf-8")), f"make it again: {command}"


def test_the_committed_report_names_no_place_of_the_machine_that_made_it() -> None:
    assert not re.search(r"/(work|tmp|root|home)/", _REPORT.read_text("utf-8"))
