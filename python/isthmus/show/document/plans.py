"""Which pictures, tables and sentences each chapter has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from isthmus.measure.run.model import Run
from isthmus.show.document import sentences
from isthmus.show.page import Table
from isthmus.show.tables.alloc import alloc_notes, break_even_notes, cost_tables, life_tables
from isthmus.show.tables.bandwidth import bandwidth_notes, bandwidth_table
from isthmus.show.tables.experiments import experiment_notes, experiment_tables
from isthmus.show.tables.fitted import chase_table, fault_table, fit_table, fitted_notes
from isthmus.show.tables.host import host_notes, host_tables
from isthmus.show.tables.labels import of_suite
from isthmus.show.tables.memory_kinds import memory_notes, memory_tables
from isthmus.show.tables.multi import multi_notes, multi_tables
from isthmus.show.tables.numa import numa_notes, numa_tables
from isthmus.show.tables.paging import paging_notes, paging_tables
from isthmus.show.tables.pinned_vs_pageable import (
    pinned_vs_pageable_notes,
    pinned_vs_pageable_tables,
)
from isthmus.show.tables.requests import (
    many_notes,
    many_tables,
    overlap_notes,
    overlap_tables,
    shape_notes,
    shape_tables,
)
from isthmus.show.tables.small_copies import comparison_lines, small_copy_tables
from isthmus.show.tables.windows import window_notes, window_tables

Tables = Callable[[Run], Sequence[Table | None]]
Notes = Callable[[Run], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """
    What belongs to a chapter.

    Attributes:
        themes: Its pictures by the names of their themes, each with the titles of the panels that
            are shown at first.
        suites: The suites that it needs; if all their results were waived, the reason is told.
        of_host: Whether its numbers are measured even if the device is emulated.
    """

    id: str
    title: str
    sentence: Callable[[Run], str]
    themes: Mapping[str, Sequence[str]]
    suites: Sequence[str] = ()
    tables: Sequence[Tables] = ()
    notes: Sequence[Notes] = ()
    of_host: bool = False


PLANS = (
    Plan(
        id="bandwidth",
        title="Bandwidth",
        sentence=sentences.about_bandwidth,
        themes={
            "bandwidth": ("H2D", "D2H"),
            "bandwidth-both-ways": (),
            "pinned-vs-pageable": (),
            "bandwidth-managed": (),
            "bandwidth-shapes": (),
        },
        suites=("bandwidth",),
        tables=(
            lambda run: [bandwidth_table(run)],
            memory_tables,
            pinned_vs_pageable_tables,
            shape_tables,
            lambda run: [fit_table(run)],
        ),
        notes=(bandwidth_notes, memory_notes, pinned_vs_pageable_notes, shape_notes, fitted_notes),
    ),
    Plan(
        id="latency",
        title="Latency and small copies",
        sentence=sentences.about_latency,
        themes={
            "latency-h2d": ("until complete",),
            "latency-d2h": ("until complete",),
            "bandwidth-many-copies": ("H2D, until complete", "D2H, until complete"),
            "latency-h2d-cold": (),
            "latency-d2h-cold": (),
            "latency-experiments": (),
            "latency": (),
        },
        suites=("latency",),
        tables=(
            small_copy_tables,
            many_tables,
            experiment_tables,
            lambda run: [chase_table(run), fault_table(run)],
        ),
        notes=(comparison_lines, many_notes, experiment_notes),
    ),
    Plan(
        id="allocation",
        title="Allocation",
        sentence=sentences.about_allocation,
        themes={"alloc-host-memory": ("allocate",), "alloc-device-memory": ()},
        suites=("alloc",),
        tables=(cost_tables,),
        notes=(alloc_notes,),
    ),
    Plan(
        id="break-even",
        title="Break-even",
        sentence=sentences.about_break_even,
        themes={
            "alloc-lives": ("allocate, upload, free", "allocate, upload, download, free"),
        },
        tables=(life_tables,),
        notes=(lambda run: break_even_notes(of_suite(run, "alloc")),),
    ),
    Plan(
        id="window",
        title="Windows",
        sentence=sentences.about_windows,
        themes={"windows": ("write", "read"), "windows-bandwidth": ()},
        suites=("windows",),
        tables=(window_tables,),
        notes=(window_notes,),
    ),
    Plan(
        id="overlap",
        title="Overlap with computation",
        sentence=sentences.about_overlap,
        themes={"overlap": ("host to device overlap double buffering",)},
        suites=("overlap",),
        tables=(overlap_tables,),
        notes=(overlap_notes,),
    ),
    Plan(
        id="numa",
        title="NUMA nodes",
        sentence=sentences.about_nodes,
        themes={"numa": ("host to device, by copy engine", "device to host, by copy engine")},
        suites=("numa",),
        tables=(numa_tables,),
        notes=(numa_notes,),
    ),
    Plan(
        id="multi",
        title="Several GPUs",
        sentence=sentences.about_gpus,
        themes={"multi": ("host to all, by copy engine", "all to host, by copy engine")},
        suites=("multi",),
        tables=(multi_tables,),
        notes=(multi_notes,),
    ),
    Plan(
        id="paging",
        title="Programs whose data is copied, paged or managed",
        sentence=sentences.about_programs,
        # Of those that compute about as long as they copy.
        themes={"paging": ("bfs", "lps", "aes", "sto"), "paging-units": ()},
        suites=("paging",),
        tables=(paging_tables,),
        notes=(paging_notes,),
    ),
    Plan(
        id="host",
        title="Host memory",
        sentence=sentences.about_host,
        themes={"host": ("by one core and by all",)},
        suites=("host",),
        tables=(host_tables,),
        notes=(host_notes,),
        of_host=True,
    ),
)
MEASURED_CHAPTERS = frozenset(plan.id for plan in PLANS if plan.of_host)
"""The chapters whose numbers are measured even if the device is emulated."""
