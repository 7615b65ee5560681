"""The page of a quick run: of each suite the few figures that somebody new here wants first."""

from isthmus.report.alloc import alloc_results, break_even_notes
from isthmus.report.doubts import doubt_notes
from isthmus.report.first_rates import (
    bandwidth_table,
    gpus_table,
    host_table,
    large_copies_table,
)
from isthmus.report.first_times import (
    latency_table,
    many_copies_table,
    memory_table,
    overlap_table,
    window_table,
)
from isthmus.report.heading import emulated_warning, head_lines
from isthmus.report.numa import numa_results, numa_tables
from isthmus.report.page import Page, Table
from isthmus.report.problems import problem_counts
from isthmus.run.model import Run

_HALF = "n1/2: the size at half of the bandwidth, by a line through the times of all sizes"
_WINDOWS = "window: fenced writes back to back, reads until the bytes are here; see docs/windows.md"
_MORE = (
    "a first look: `isthmus bench --quick SUITE` prints all tables of one suite, `isthmus bench` "
    "those of all; every result is in the run's file, and in --format json or csv"
)


def is_first_look(run: Run) -> bool:
    """Tell a quick run of several suites: who names one suite wants all of it."""
    return run.options.quick and len({result.suite for result in run.results}) > 1


def first_look_of(run: Run) -> Page:
    """Collect the few figures, and how to see the others."""
    tables = (
        bandwidth_table(run),
        latency_table(run),
        many_copies_table(run),
        memory_table(run),
        large_copies_table(run),
        overlap_table(run),
        window_table(run),
        *_nodes_tables(run),
        gpus_table(run),
        host_table(run),
    )
    found = tuple(table for table in tables if table is not None)
    heads = {head for table in found for head in table.heads}
    return Page(
        warning=emulated_warning(run.machine),
        head=head_lines(run),
        tables=found,
        foot=(
            *([_HALF] if "H2D n1/2" in heads else []),
            *([_WINDOWS] if "window" in heads else []),
            *break_even_notes([r for r in alloc_results(run) if r.axes.get("memory") == "pinned"]),
            *doubt_notes(run),
            *problem_counts(run),
            _MORE,
        ),
        problems=(),
    )


def _nodes_tables(run: Run) -> list[Table]:
    """Lay out this GPU with each CPU node; nothing of a host with one."""
    own = [r for r in numa_results(run) if r.axes.get("gpu") == str(run.machine.device.ordinal)]
    if len({result.axes.get("node") for result in own}) <= 1:
        return []
    return numa_tables(run.model_copy(update={"results": own}))
