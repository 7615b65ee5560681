"""The events of a run, as a trace that chrome://tracing and Perfetto show."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.files.whole import write_whole

if TYPE_CHECKING:
    from isthmus import _native

# A million events are about 100 MB of JSON, the most that viewers can show.
MAX_EVENTS = 1_000_000
_PS_PER_US = 1e6
# Each kind has a process of its own in the viewer: its number and its name.
_PROCESSES = {
    "launch": (1, "kernels"),
    "cta": (2, "CTAs by core"),
    "migration": (3, "migrations by page"),
    "eviction": (4, "evictions by page"),
    "to_gpu": (5, "link to the GPU"),
    "to_cpu": (6, "link to the CPU"),
}
# Rows are for 2 MiB each, whatever the page size.
_PAGE_BITS = 21
# The names of each kind's rows.
_ROWS = {1: "stream {owner}", 2: "core {owner}", 5: "link", 6: "link"}
Event = dict[str, object]
Row = tuple[str, int, int, int, int]
"""
Kind, where (core, address or kernel), amount (bytes, CTA or stream), start and end in picoseconds.
"""


@dataclass
class _Owner:
    """Rows of one core, or of one page."""

    free: list[int] = field(default_factory=list)
    busy: list[tuple[int, int]] = field(default_factory=list)

    def take(self, start_ps: int, end_ps: int) -> int:
        """Take the first row that is free from `start_ps`, which never falls, to `end_ps`."""
        while self.busy and self.busy[0][0] <= start_ps:
            heappush(self.free, heappop(self.busy)[1])
        lane = heappop(self.free) if self.free else len(self.busy)
        heappush(self.busy, (end_ps, lane))
        return lane


class _Rows:
    """Gives each event a row without overlap: viewers don't draw overlapping events."""

    def __init__(self) -> None:
        self._owners: defaultdict[tuple[int, int], _Owner] = defaultdict(_Owner)
        self._numbers: dict[tuple[int, int, int], int] = {}

    def number(self, row: Row) -> int:
        """Give the number of an event's row; events come in the order of their starts."""
        kind, where, amount, start_ps, end_ps = row
        process = _PROCESSES[kind][0]
        owner = {"cta": where, "launch": amount}.get(kind, 0)
        if kind in {"migration", "eviction"}:
            owner = where >> _PAGE_BITS
        lane = self._owners[process, owner].take(start_ps, end_ps)
        return self._numbers.setdefault((process, owner, lane), len(self._numbers) + 1)

    def names(self) -> Iterator[Event]:
        """Describe the rows, for the viewer: those of one core or page together."""
        for index, ((process, owner, lane), number) in enumerate(sorted(self._numbers.items())):
            name = _ROWS.get(process, "{address}").format(
                owner=owner, address=f"{owner << _PAGE_BITS:#x}"
            )
            shown = name if lane == 0 else f"{name}, at once"
            for kind, args in (
                ("thread_name", {"name": shown}),
                ("thread_sort_index", {"sort_index": index}),
            ):
                yield {"ph": "M", "name": kind, "pid": process, "tid": number, "args": args}


def new_timeline(max_events: int = MAX_EVENTS, parts: Iterable[int] = ()) -> "_native.SimTimeline":
    """Make an empty one, which a run fills, for events and parts of memory, by their beginnings."""
    from isthmus import _native

    return _native.SimTimeline(max_events, begins=list(parts))


def write_timeline(timeline: "_native.SimTimeline", path: Path) -> Path:
    """Write what a run has recorded."""
    return write_whole(path, timeline_text(timeline))


def timeline_text(timeline: "_native.SimTimeline") -> str:
    """Write it as JSON in the trace event format; times in microseconds."""
    rows, kernels = _Rows(), timeline.kernels
    in_order: list[Row] = sorted(timeline.rows, key=itemgetter(3))
    drawn = [_event(row, kernels, rows.number(row)) for row in in_order]
    heads: list[Event] = [
        {"ph": "M", "name": kind, "pid": number, "args": args}
        for number, name in _PROCESSES.values()
        for kind, args in (
            ("process_name", {"name": f"{name} (modelled)"}),
            ("process_sort_index", {"sort_index": number}),
        )
    ]
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"modelled": True, "events_left_out": timeline.num_dropped},
        "traceEvents": [*heads, *rows.names(), *drawn],
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _event(row: Row, kernels: list[str], number: int) -> Event:
    kind, where, amount, start_ps, end_ps = row
    event: Event = {
        "ph": "X",
        "pid": _PROCESSES[kind][0],
        "tid": number,
        "ts": start_ps / _PS_PER_US,
        "dur": (end_ps - start_ps) / _PS_PER_US,
    }
    if kind == "launch":
        return {**event, "name": kernels[where]}
    if kind == "cta":
        return {**event, "name": f"CTA {amount}"}
    if kind in {"migration", "eviction"}:
        args = {"address": f"{where:#x}", "bytes": amount}
        return {**event, "name": f"{amount} B", "args": args}
    return {**event, "name": f"{amount} B"}
