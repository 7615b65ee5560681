"""What happened when, as a trace that chrome://tracing and Perfetto show."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.run.store import write_whole

if TYPE_CHECKING:
    from isthmus import _native

# A million events are 100 MB or so of JSON, and as much as viewers bear.
MOST_EVENTS = 1_000_000
_PS_PER_US = 1e6
# Each kind has a process of its own in the viewer: its number, and what it is called.
_PROCESSES = {
    "launch": (1, "kernels"),
    "cta": (2, "CTAs by core"),
    "migration": (3, "migrations"),
    "eviction": (4, "evictions"),
    "to_gpu": (5, "link to the GPU"),
    "to_cpu": (6, "link to the CPU"),
}
Event = dict[str, object]


def new_timeline() -> "_native.SimTimeline":
    """Give an empty one, for a run to fill."""
    from isthmus import _native

    return _native.SimTimeline(MOST_EVENTS)


def write_timeline(timeline: "_native.SimTimeline", path: Path) -> Path:
    """
    Write what a run filled in.

    Raises:
        WriteError: It can't be written.
    """
    return write_whole(path, timeline_text(timeline))


def timeline_text(timeline: "_native.SimTimeline") -> str:
    """Give it as JSON in the trace event format; times in microseconds."""
    kernels = timeline.kernels
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": number, "args": {"name": f"{name} (modelled)"}}
        for number, name in _PROCESSES.values()
    ]
    events += [_event(kernels, *row) for row in timeline.rows]
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"modelled": True, "events_left_out": timeline.num_dropped},
        "traceEvents": events,
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _event(
    kernels: list[str], kind: str, where: int, amount: int, start_ps: int, end_ps: int
) -> Event:
    event: Event = {
        "ph": "X",
        "pid": _PROCESSES[kind][0],
        "tid": where if kind == "cta" else 0,
        "ts": start_ps / _PS_PER_US,
        "dur": (end_ps - start_ps) / _PS_PER_US,
    }
    if kind == "launch":
        return {**event, "name": kernels[where]}
    if kind == "cta":
        return {**event, "name": f"CTA {amount}"}
    if kind in {"migration", "eviction"}:
        # Many are under way at once: one row for each page.
        args = {"address": f"{where:#x}", "bytes": amount}
        return {**event, "tid": where >> 21, "name": f"{amount} B", "args": args}
    return {**event, "name": f"{amount} B"}
