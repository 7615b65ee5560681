"""A run as plain text: aligned columns, no colour, the same bytes for the same width."""

from collections.abc import Sequence
from dataclasses import replace

from isthmus.measure.run.model import Run
from isthmus.show.document.closing import closing_lines
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped_lines
from isthmus.show.heading import about_device, emulated_warning, head_lines
from isthmus.show.page import Page
from isthmus.show.tables.alloc import alloc_notes, alloc_tables
from isthmus.show.tables.bandwidth import bandwidth_notes, bandwidth_table
from isthmus.show.tables.doubts import doubt_notes
from isthmus.show.tables.experiments import experiment_notes, experiment_tables
from isthmus.show.tables.first_look import first_look_of, is_first_look
from isthmus.show.tables.fitted import fitted_notes, fitted_tables
from isthmus.show.tables.host import host_notes, host_tables
from isthmus.show.tables.memory_kinds import memory_notes, memory_tables
from isthmus.show.tables.multi import multi_notes, multi_tables
from isthmus.show.tables.numa import numa_notes, numa_tables
from isthmus.show.tables.paging import paging_notes, paging_tables
from isthmus.show.tables.pinned_vs_pageable import (
    pinned_vs_pageable_notes,
    pinned_vs_pageable_tables,
)
from isthmus.show.tables.problems import problem_lines
from isthmus.show.tables.requests import request_notes, request_tables
from isthmus.show.tables.samples import samples_table
from isthmus.show.tables.small_copies import comparison_lines, small_copy_tables
from isthmus.show.tables.sweeps import sweep_tables
from isthmus.show.tables.windows import window_notes, window_tables

# As long as "device  ".
_HEAD_INDENT = " " * 8


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
        *paging_tables(run),
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
            *paging_notes(run),
            *host_notes(run),
            *doubt_notes(run),
        ),
        problems=tuple(problem_lines(run)),
    )


def page_as(run: Run, *, verbose: bool, pictures: bool = False, brief: bool = False) -> Page:
    """
    Collect a report: for a quick run a first look, brief ones without tables, and each with its
    verdict. Pictures are lines of bars, in characters that an encoding may lack.
    """
    is_first = is_first_look(run) and not verbose
    page = first_look_of(run) if is_first or brief else page_of(run)
    samples = about_device(run.machine, [samples_table(run)] if verbose else [])
    sweeps = about_device(run.machine, sweep_tables(run) if pictures and not is_first else [])
    tables = () if brief else (*page.tables, *sweeps, *samples)
    return replace(page, tables=tables, verdict=closing_lines(run))


def as_text(
    run: Run, *, verbose: bool = False, brief: bool = False, width: int = PAGE_WIDTH
) -> str:
    """Write a run as plain text."""
    return page_text(page_as(run, verbose=verbose, brief=brief), width)


def page_text(page: Page, width: int = PAGE_WIDTH) -> str:
    """Write a page as plain text, in lines of at most so many characters."""
    blocks = [
        [
            *wrapped_lines([page.warning] if page.warning else [], width),
            *head_of(page.head, width),
        ],
        *(table_lines(table, width) for table in page.tables),
        wrapped_lines(page.foot, width),
        wrapped_lines(page.problems, width),
        head_of(page.verdict, width),
    ]
    return blocks_text(blocks)


def head_of(lines: Sequence[str], width: int) -> list[str]:
    """Wrap lines about the run; what follows a line's first word stays below itself."""
    return wrapped_lines(lines, width, indent=_HEAD_INDENT)
