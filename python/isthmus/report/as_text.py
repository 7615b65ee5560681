"""A run as plain text: aligned columns, no colour, the same bytes on every terminal."""

from dataclasses import replace

from isthmus.report.alloc import alloc_notes, alloc_tables
from isthmus.report.bandwidth import bandwidth_notes, bandwidth_table
from isthmus.report.doubts import doubt_notes
from isthmus.report.experiments import experiment_notes, experiment_tables
from isthmus.report.first_look import first_look_of, is_first_look
from isthmus.report.fitted import fitted_notes, fitted_tables
from isthmus.report.heading import about_device, emulated_warning, head_lines
from isthmus.report.host import host_notes, host_tables
from isthmus.report.means import call_means, with_means
from isthmus.report.memory_kinds import memory_notes, memory_tables
from isthmus.report.multi import multi_notes, multi_tables
from isthmus.report.numa import numa_notes, numa_tables
from isthmus.report.page import Page, Table
from isthmus.report.pinned_vs_pageable import (
    pinned_vs_pageable_notes,
    pinned_vs_pageable_tables,
)
from isthmus.report.problems import problem_lines
from isthmus.report.requests import request_notes, request_tables
from isthmus.report.samples import samples_table
from isthmus.report.small_copies import comparison_lines, small_copy_tables
from isthmus.report.windows import window_notes, window_tables
from isthmus.run.model import Run

_GAP = "  "


def page_of(run: Run) -> Page:
    """Collect the contents of a run's report."""
    of_device = (
        bandwidth_table(run),
        *memory_tables(run),
        *request_tables(run),
        *fitted_tables(run),
        *small_copy_tables(run),
        *experiment_tables(run),
        *alloc_tables(run),
        *pinned_vs_pageable_tables(run),
        *window_tables(run),
        *numa_tables(run),
        *multi_tables(run),
    )
    return Page(
        warning=emulated_warning(run.machine),
        head=head_lines(run),
        # The host's numbers are measured even if the device is modelled.
        tables=(*about_device(run.machine, of_device), *host_tables(run)),
        foot=(
            *bandwidth_notes(run),
            *memory_notes(run),
            *request_notes(run),
            *fitted_notes(run),
            *comparison_lines(run),
            *experiment_notes(run),
            *alloc_notes(run),
            *pinned_vs_pageable_notes(run),
            *window_notes(run),
            *numa_notes(run),
            *multi_notes(run),
            *host_notes(run),
            *doubt_notes(run),
        ),
        problems=tuple(problem_lines(run)),
    )


def page_as(run: Run, *, use_mean: bool, verbose: bool) -> Page:
    """
    Collect a report; for a quick run, a first look.

    Args:
        run: The run.
        use_mean: Show means instead of medians.
        verbose: Show everything, and samples if they were kept.
    """
    collect = first_look_of if is_first_look(run) and not verbose else page_of
    page = call_means(collect(with_means(run))) if use_mean else collect(run)
    samples = about_device(run.machine, [samples_table(run)] if verbose else [])
    return replace(page, tables=(*page.tables, *samples))


def as_text(run: Run, *, use_mean: bool = False, verbose: bool = False) -> str:
    """Write a run as plain text; arguments as for `page_as`."""
    page = page_as(run, use_mean=use_mean, verbose=verbose)
    head = [*([page.warning] if page.warning else []), *page.head]
    blocks = [head, *map(table_lines, page.tables), page.foot, page.problems]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def table_lines(table: Table) -> list[str]:
    """Align a table: words to the left, numbers to the right."""
    grid = [table.heads, *table.rows]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = []
    for row in grid:
        cells = [
            cell.ljust(width) if index < table.num_text_columns else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(cells).rstrip())
    return [table.title, *lines]
