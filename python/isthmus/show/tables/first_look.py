"""The page of a quick run: the few figures of each suite that matter most."""

from isthmus.measure.run.model import Run
from isthmus.show.heading import about_device, emulated_warning, head_lines
from isthmus.show.page import Page, Table
from isthmus.show.tables.alloc import SUITE as ALLOC
from isthmus.show.tables.alloc import break_even_notes
from isthmus.show.tables.doubts import doubt_notes
from isthmus.show.tables.first_rates import (
    bandwidth_table,
    gpus_table,
    host_table,
    large_copies_table,
)
from isthmus.show.tables.first_times import (
    latency_table,
    many_copies_table,
    memory_table,
    overlap_table,
    window_table,
)
from isthmus.show.tables.labels import of_suite
from isthmus.show.tables.numa import SUITE as NUMA
from isthmus.show.tables.numa import tables_of
from isthmus.show.tables.problems import problem_counts

_HALF = "n1/2: the size at half of the bandwidth, by a line through the times of all sizes"
_WINDOWS = "window: fenced writes back to back, reads until the bytes are here; see docs/windows.md"
_MORE = (
    "a first look: `isthmus bench --quick SUITE` prints all tables of one suite, `isthmus bench` "
    "those of all; every result is in the run's file, and in --format json or csv"
)


def is_first_look(run: Run) -> bool:
    """Whether a run is a quick run of several suites: one suite is shown in full."""
    return run.options.quick and len({result.suite for result in run.results}) > 1


def first_look_of(run: Run) -> Page:
    """Collect the few figures, and say how to see the others."""
    of_device = (
        bandwidth_table(run),
        latency_table(run),
        many_copies_table(run),
        memory_table(run),
        large_copies_table(run),
        overlap_table(run),
        window_table(run),
        *_nodes_tables(run),
        gpus_table(run),
    )
    of_host = host_table(run)
    found = (*about_device(run.machine, of_device), *([of_host] if of_host else []))
    heads = {head for table in found for head in table.heads}
    pinned = [r for r in of_suite(run, ALLOC) if r.axes.get("memory") == "pinned"]
    return Page(
        warning=emulated_warning(run.machine),
        head=head_lines(run),
        tables=found,
        foot=(
            *([_HALF] if "H2D n1/2" in heads else []),
            *([_WINDOWS] if "window" in heads else []),
            *break_even_notes(pinned),
            *doubt_notes(run),
            *problem_counts(run),
            _MORE,
        ),
        problems=(),
    )


def _nodes_tables(run: Run) -> list[Table]:
    """Lay out this GPU with each CPU node; nothing on a host with one node."""
    own = [r for r in of_suite(run, NUMA) if r.axes.get("gpu") == str(run.machine.device.ordinal)]
    if len({result.axes.get("node") for result in own}) <= 1:
        return []
    return tables_of(run, own)
