"""The page of a quick run: the few figures of each suite that matter most."""

from isthmus.measure.run.model import Run
from isthmus.show.heading import about_device, emulated_warning, head_lines
from isthmus.show.page import Page
from isthmus.show.tables.doubts import doubt_notes
from isthmus.show.tables.first_rates import bandwidth_table, host_table
from isthmus.show.tables.first_times import (
    latency_table,
    many_copies_table,
    memory_table,
    overlap_table,
    window_table,
)
from isthmus.show.tables.problems import problem_counts


def is_first_look(run: Run) -> bool:
    """Whether a run is a quick run of several suites: one suite is shown in full."""
    return run.options.quick and len({result.suite for result in run.results}) > 1


def first_look_of(run: Run) -> Page:
    """Collect the few figures."""
    of_device = (
        bandwidth_table(run),
        latency_table(run),
        many_copies_table(run),
        memory_table(run),
        overlap_table(run),
        window_table(run),
    )
    of_host = host_table(run)
    found = (*about_device(run.machine, of_device), *([of_host] if of_host else []))
    return Page(
        warning=emulated_warning(run.machine),
        head=head_lines(run),
        tables=found,
        foot=(*doubt_notes(run), *problem_counts(run)),
        problems=(),
    )
