"""A run's statistics by kernel, by allocation and by page, as rows of numbers. All are modelled."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import one_line
from isthmus.show.page import Table
from isthmus.sim.trace.format import ADDRESSES_END

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

Row = Mapping[str, "str | int"]


class By(StrEnum):
    """What the statistics are of."""

    KERNEL = "kernel"
    ALLOCATION = "allocation"
    PAGE = "page"


# In the order of a timeline's samples, and with the names of `SimulationResult.flat`.
_COUNTS = (
    *("stall_issue_ps", "stall_memory_ps", "stall_translation_ps"),
    *("stall_migration_ps", "stall_barrier_ps"),
    *("bytes_copied_to_gpu", "bytes_migrated_to_gpu", "bytes_remote_to_gpu"),
    *("bytes_copied_to_cpu", "bytes_returned_to_cpu", "bytes_evicted_to_cpu"),
    *("bytes_remote_to_cpu", "migrations", "evictions", "line_requests"),
)
# In the order of `Use` in cpp/src/sim/observer.hpp.
_USES = ("migrated_bytes", "transfers", "touched_bytes", "waited_ps", "evicted_bytes")
_IN_PLACE = "in_place_bytes"
COLUMNS = {
    By.KERNEL: ("kernel", "launches", "time_ps", *_COUNTS),
    By.ALLOCATION: ("allocation", "address", "size_bytes", *_USES, _IN_PLACE),
    By.PAGE: ("page", "address", "size_bytes", *_USES, _IN_PLACE),
}
_LOCAL, _ELSEWHERE, _AFTER = "local memory", "elsewhere", "after the last kernel"
_MAX_PAGES = 1 << 22
_MOST_SHOWN = 40
_PS_PER_US = 1e6


@dataclass(frozen=True)
class Parts:
    """The rows of each policy's run."""

    by: By
    rows: "dict[str, list[Row]]" = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in each row."""
        return COLUMNS[self.by]


def parts_of(program: "_native.TraceProgram", by: By, page_bytes: int) -> dict[int, str]:
    """Name a program's allocations, or their pages, and the gaps, by their beginnings."""
    if by is By.KERNEL:
        return {}
    found = [
        (each.address, each.address + each.size_bytes, each.name) for each in program.allocations
    ]
    if by is By.PAGE:
        pages = [range(begin // page_bytes, -(-end // page_bytes)) for begin, end, _ in found]
        if sum(map(len, pages)) > _MAX_PAGES:
            raise UsageError(
                f"the allocations have more than {_MAX_PAGES} pages of {format_size(page_bytes)}",
                hint="choose larger ones, policy.page=2MiB, or --by allocation",
            )
        begins = {page * page_bytes for each in pages for page in each}
        found = [(begin, begin + page_bytes, f"{begin:#x}") for begin in begins]
    names = dict.fromkeys((end for _, end, _ in found), _ELSEWHERE)
    names |= {begin: name for begin, _, name in found} | {ADDRESSES_END: _LOCAL}
    return dict(sorted(names.items()))


def rows_of(
    by: By,
    names: Mapping[int, str],
    program: "_native.TraceProgram",
    result: "SimulationResult",
    events: "_native.SimTimeline",
) -> list[Row]:
    """Give a row for each kernel, allocation, or page to which something happened."""
    if by is By.KERNEL:
        return _kernel_rows(program, result, events)
    rows: list[Row] = []
    rest = Counter(dict(zip((*_USES, _IN_PLACE), events.uses[0], strict=True)))
    ends = [*names, ADDRESSES_END]
    for (begin, end), name, uses in zip(
        pairwise(ends), names.values(), events.uses[1:], strict=True
    ):
        counts = dict(zip((*_USES, _IN_PLACE), uses, strict=True))
        if name == _ELSEWHERE:
            rest.update(counts)
        elif any(uses) or (by is By.ALLOCATION and name != _LOCAL):
            rows.append({by.value: name, "address": begin, "size_bytes": end - begin, **counts})
    if any(rest.values()):
        rows.append({by.value: _ELSEWHERE, "address": 0, "size_bytes": 0, **rest})
    return rows


def _kernel_rows(
    program: "_native.TraceProgram", result: "SimulationResult", events: "_native.SimTimeline"
) -> list[Row]:
    """
    Give them in the order of first launches. What the host does before a launch is the launch's, a
    copy in a stream is its next launch's; what is counted after the last one has a row of its own.
    """
    totals: dict[str, Counter[str]] = {}
    flat = result.flat()
    rest = [int(flat[name]) for name in _COUNTS]
    for counts in events.launches:
        rest = [all_ - part for all_, part in zip(rest, counts, strict=True)]
    names = [*(launch.name for launch in program.launches), _AFTER]
    times = [*(end - start for start, end in result.launch_ps.tolist()), 0]
    for name, time_ps, counts in zip(names, times, [*events.launches, rest], strict=True):
        row = totals.setdefault(name, Counter())
        row.update({"launches": int(name is not _AFTER), "time_ps": time_ps})
        row.update(dict(zip(_COUNTS, counts, strict=True)))
    if not any(totals[_AFTER].values()):
        del totals[_AFTER]
    return [{By.KERNEL.value: name, **row} for name, row in totals.items()]


def parts_table(title: str, by: By, rows: Sequence[Row]) -> Table:
    """Show the columns that count something; of very many rows those that cost most."""
    shown = rows
    if by is not By.KERNEL and len(rows) > _MOST_SHOWN:
        dearest = sorted(rows, key=lambda row: (int(row["waited_ps"]), int(row["migrated_bytes"])))
        shown = dearest[: -_MOST_SHOWN - 1 : -1]
        title += f": the {_MOST_SHOWN} of {len(rows)} with the longest waits; .csv has all"
    names = [name for name in COLUMNS[by] if name != "address" and any(row[name] for row in shown)]
    cells = (tuple(_cell(name, row[name]) for name in names) for row in shown)
    heads = (name.replace("_ps", "_us") for name in names)
    return Table(title=title, heads=tuple(heads), rows=tuple(cells))


def _cell(name: str, value: str | int) -> str:
    if isinstance(value, str):
        return one_line(value)
    if name.endswith("_ps"):
        return f"{value / _PS_PER_US:.1f}"
    return approximate_size(value) if "bytes" in name else str(value)
