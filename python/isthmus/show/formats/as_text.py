"""A run as plain text: aligned columns, no colour, the same bytes for the same width."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from isthmus.measure.run.model import Run
from isthmus.show.document.closing import closing_lines
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped_lines
from isthmus.show.heading import about_device, emulated_warning, head_lines
from isthmus.show.page import Page, Table
from isthmus.show.tables.alloc import alloc_notes, alloc_tables
from isthmus.show.tables.bandwidth import bandwidth_notes, bandwidth_table
from isthmus.show.tables.blocks import blocks_notes, blocks_tables
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
_Part = tuple[set[str], Callable[[Run], Iterable[Table]], Callable[[Run], Iterable[str]]]
_PARTS: tuple[_Part, ...] = (
    ({"bandwidth"}, memory_tables, memory_notes),
    ({"bandwidth", "overlap"}, request_tables, request_notes),
    ({"bandwidth", "latency"}, fitted_tables, fitted_notes),
    ({"latency"}, small_copy_tables, comparison_lines),
    ({"latency"}, experiment_tables, experiment_notes),
    ({"alloc"}, alloc_tables, alloc_notes),
    ({"pinned_vs_pageable"}, pinned_vs_pageable_tables, pinned_vs_pageable_notes),
    ({"windows"}, window_tables, window_notes),
    ({"numa"}, numa_tables, numa_notes),
    ({"multi"}, multi_tables, multi_notes),
    ({"paging"}, paging_tables, paging_notes),
    ({"blocks"}, blocks_tables, blocks_notes),
)
"""Suites, and the tables and notes of their results; in the page's order."""


def page_of(run: Run) -> Page:
    """Collect the contents of a run's report."""
    suites = {result.suite for result in run.results}
    # Results of early versions have no suite.
    parts = [part for part in _PARTS if part[0] & suites or "" in suites]
    of_device = (bandwidth_table(run), *(table for _, tables, _ in parts for table in tables(run)))
    return Page(
        warning=emulated_warning(run.machine),
        head=head_lines(run),
        # The host's numbers are measured even if the device is modelled.
        tables=(*about_device(run.machine, of_device), *host_tables(run)),
        foot=(
            *bandwidth_notes(run),
            *(note for _, _, notes in parts for note in notes(run)),
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
