"""A page with means instead of medians."""

from dataclasses import replace

from isthmus.measure.run.model import Result, Run
from isthmus.show.page import Page, Table

_MEDIAN, _MEAN = "median", "mean"


def with_means(run: Run) -> Run:
    """Put each result's mean in place of its median; a result without a mean stays as it is."""
    return run.model_copy(update={"results": [_with_mean(result) for result in run.results]})


def call_means(page: Page) -> Page:
    """Say mean instead of median in titles and headings."""
    return replace(page, tables=tuple(_called_mean(table) for table in page.tables))


def _with_mean(result: Result) -> Result:
    return result if result.mean is None else result.model_copy(update={"median": result.mean})


def _called_mean(table: Table) -> Table:
    return replace(
        table,
        title=table.title.replace(_MEDIAN, _MEAN),
        heads=tuple(head.replace(_MEDIAN, _MEAN) for head in table.heads),
    )
