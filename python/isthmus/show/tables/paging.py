"""The tables of suite `paging`: Figures 4 to 6 of Zhang 2019, on the machine of the run."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.programs import UNIT, WAY
from isthmus.show.numbers import ratio
from isthmus.show.page import Table
from isthmus.show.tables.labels import of_suite

SUITE = "paging"
USUAL_UNIT = "1024"
UNITS, MANAGED = "units", "managed"
_PREFETCHED, _FIRST = "prefetched", "prefetched_first"

_IDEAL, _COPIES, _PROGRAMMER = "ideal", "copies", "programmer"
_WHOLE_PAGE, _SINGLE_RANGE, _RANGES = "whole_page", "single_range", "ranges"
# Each way and its heading.
_WAYS = {
    _IDEAL: "ideal",
    _COPIES: "copies",
    _PROGRAMMER: "programmer",
    _WHOLE_PAGE: "page",
    _SINGLE_RANGE: "one range",
    _RANGES: "ranges",
    UNITS: "units",
    "tree": "tree",
    "adaptive": "adaptive",
    "read_through": "through",
    "promised": "promised",
    _PREFETCHED: "prefetched",
    _FIRST: "first",
    MANAGED: "managed",
    "managed_hints": "hinted",
    "managed_batches": "batches",
    "zero_copy": "zero-copy",
}
_FIGURES_4_AND_6 = (
    *(_WHOLE_PAGE, _SINGLE_RANGE, _RANGES, UNITS),
    *("tree", "adaptive", "read_through", "promised", _PREFETCHED, _FIRST),
    *(MANAGED, "managed_hints", "managed_batches", "zero_copy"),
)
_MILLI = 1e3
_ABOUT_PROGRAMS = (
    "programs: from the first copy or launch until the last kernel has ended; results aren't "
    "copied back, as in the paper. ideal: all data is on the GPU. copies: the program's own, "
    "without kernels. units: a paged array (page, one range, ranges, tree, adaptive: its policies "
    "in older runs). through: one that keeps nothing. promised: as units, but what only kernels "
    "fill isn't fetched (will_overwrite()). prefetched: the same, and what the program would copy "
    "is prefetched beside its kernels. first: the same, before its first kernel. hinted: managed "
    "memory that is prefetched where the program copies. batches: the same with "
    "cuMemPrefetchBatchAsync, and what only kernels fill is discarded first"
)
_ABOUT_BOUND = (
    "bound: max(C, X) / (C + X), C the time of ideal, X that of copies: what copies that hide "
    "behind computing would take"
)


@dataclass(frozen=True)
class Times:
    """
    The medians of a run, in seconds.

    Attributes:
        of: By workload, way and unit (None without one).
    """

    of: Mapping[tuple[str, str, str | None], float]

    def get(self, workload: str, way: str, unit: str | None = USUAL_UNIT) -> float | None:
        """Give a time; None if there is none. Ways without units have none."""
        return self.of.get((workload, way, unit), self.of.get((workload, way, None)))

    def workloads(self) -> list[str]:
        """List the workloads, in order."""
        return list(dict.fromkeys(workload for workload, _, _ in self.of))

    def over_programmer(
        self, workload: str, way: str, unit: str | None = USUAL_UNIT
    ) -> float | None:
        """Give a time over that of the programmer's copies."""
        time, copied = self.get(workload, way, unit), self.get(workload, _PROGRAMMER)
        return None if time is None or copied is None else time / copied

    def bound(self, workload: str) -> float | None:
        """
        Give max(C, X) / (C + X): computing alone and copying alone, one behind the other. Without a
        time of copies alone, X is what the program with its copies took beyond C; None if that
        isn't known either.
        """
        computing = self.get(workload, _IDEAL)
        copying, both = self.get(workload, _COPIES), self.get(workload, _PROGRAMMER)
        if computing is None:
            return None
        if copying is None:
            if both is None:
                return None
            copying = max(both - computing, 0.0)
        return max(computing, copying) / (computing + copying)


def times_of(run: Run) -> Times:
    """Collect the medians of the suite."""
    passed = [result for result in of_suite(run, SUITE) if result.status == Status.PASSED]
    return Times({_key(result): result.median for result in passed if result.median is not None})


def _key(result: Result) -> tuple[str, str, str | None]:
    unit = result.axes.get(UNIT)
    return (
        result.way,
        str(result.axes.get(WAY, "")),
        None if unit is None else str(unit),
    )


def paging_tables(run: Run) -> list[Table]:
    """Lay out the times and the figures; nothing if the suite was not run."""
    times = times_of(run)
    if not times.of:
        return []
    return [_times_table(run, times), _ratios_table(times), *_units_tables(times)]


def _times_table(run: Run, times: Times) -> Table:
    sizes = {_key(result)[0]: result.bytes for result in of_suite(run, SUITE)}
    shown = [way for way in _WAYS if any(key[1] == way for key in times.of)]
    return Table(
        title="Programs of Zhang 2019, ms (median; units of 1 KiB)",
        heads=("program", "memory", *(_WAYS[way] for way in shown)),
        rows=tuple(
            (
                workload,
                _about(sizes[workload]),
                *(_milliseconds(times.get(workload, way)) for way in shown),
            )
            for workload in times.workloads()
        ),
        num_text_columns=2,
    )


def _about(size_bytes: int) -> str:
    """Write a size in MiB or KiB, rounded to three digits."""
    unit, name = (1 << 20, "MiB") if size_bytes >= 1 << 20 else (1 << 10, "KiB")
    return f"{size_bytes / unit:.3g} {name}"


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * _MILLI:.3g}"


def _ratios_table(times: Times) -> Table:
    shown = [way for way in _FIGURES_4_AND_6 if any(key[1] == way for key in times.of)]
    columns: list[Callable[[str], float | None]] = [times.bound]
    columns += [_over(times, way, USUAL_UNIT) for way in shown]
    return _with_means(
        "Figures 4 and 6 of Zhang 2019 on this machine: time / programmer's copies",
        ("program", "bound", *(_WAYS[way] for way in shown)),
        times.workloads(),
        columns,
    )


def _over(times: Times, way: str, unit: str) -> Callable[[str], float | None]:
    return lambda workload: times.over_programmer(workload, way, unit)


def _units_tables(times: Times) -> list[Table]:
    tables = []
    for way, called in ((_RANGES, "several ranges"), (UNITS, "paged by units")):
        found = {key[2] for key in times.of if key[1] == way and key[2] is not None}
        units = sorted(found, key=int)
        if len(units) <= 1:
            continue
        tables.append(
            _with_means(
                f"Figure 5 of Zhang 2019 on this machine: {called}, time / programmer's copies, "
                "by unit",
                ("program", *(format_size(int(unit)) for unit in units)),
                times.workloads(),
                [_over(times, way, unit) for unit in units],
            )
        )
    return tables


def _with_means(
    title: str,
    heads: tuple[str, ...],
    workloads: Sequence[str],
    columns: Sequence[Callable[[str], float | None]],
) -> Table:
    values = [[column(workload) for workload in workloads] for column in columns]
    rows = [
        (workload, *(_ratio(column[index]) for column in values))
        for index, workload in enumerate(workloads)
    ]
    rows.append(("mean", *(_ratio(_arithmetic(column)) for column in values)))
    rows.append(("geometric mean", *(_ratio(_geometric(column)) for column in values)))
    return Table(title=title, heads=heads, rows=tuple(rows))


def _ratio(value: float | None) -> str:
    return "" if value is None else ratio(value, 1.0)


def _arithmetic(values: Sequence[float | None]) -> float | None:
    """Give the mean, if every program has a value: means of others can't be compared."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found and len(found) == len(values) else None


def _geometric(values: Sequence[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    if not found or len(found) != len(values):
        return None
    return math.exp(sum(map(math.log, found)) / len(found))


def paging_notes(run: Run) -> list[str]:
    """Say what the ways are, and how near the best policy comes to the bound."""
    times = times_of(run)
    if not times.of:
        return []
    lines = [_ABOUT_PROGRAMS, _ABOUT_BOUND]
    for ways in ((_RANGES,), (UNITS,), (_PREFETCHED,), (_PREFETCHED, _FIRST)):
        mean = _geometric([_of_bound(times, one, ways) for one in times.workloads()])
        if mean is not None:
            called = " or ".join(_WAYS[way] for way in ways)
            lines.append(f"{called}: {mean:.2f} of the bound's speed (geometric mean)")
    return lines


def _of_bound(times: Times, workload: str, ways: Sequence[str]) -> float | None:
    """Give the speed of the quickest of some ways, over the bound's; None if one is missing."""
    bound = times.bound(workload)
    ours = [times.over_programmer(workload, way) for way in ways]
    found = [one for one in ours if one is not None]
    return None if bound is None or len(found) != len(ours) else bound / min(found)
