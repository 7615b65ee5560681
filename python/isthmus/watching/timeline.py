"""What processes recorded call by call, as a trace that chrome://tracing and Perfetto show."""

import json
from collections.abc import Iterator, Sequence

from isthmus.watching.counters import Event, Process, read_events

_NS_PER_US = 1e3
_MOST_PROCESSES = 1 << 22  # PID_MAX_LIMIT in linux/threads.h


def timeline_text(processes: Sequence[Process], *, modelled: bool) -> str:
    """Write the calls of all processes on one time axis, which begins with the first of them."""
    start = min((one.begin_ns for one in processes), default=0)
    events = [
        event
        for one, number in zip(processes, _numbers(processes), strict=True)
        for event in _of_process(one, number, start)
    ]
    lost = sum(one.events_lost for one in processes)
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"modelled": modelled, "events_left_out": lost},
        "traceEvents": events,
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _numbers(processes: Sequence[Process]) -> list[int]:
    """Give each process its own number, or a free one: those of several nodes may have the same."""
    given: dict[int, None] = {}
    for one in processes:
        number = one.pid
        while number in given:
            number += _MOST_PROCESSES
        given[number] = None
    return list(given)


def _of_process(process: Process, number: int, start: int) -> Iterator[dict[str, object]]:
    rank = f"rank {process.rank}: " if process.rank else ""
    yield _named("process_name", number, 0, f"{rank}{process.command}")
    for thread in process.threads:
        yield _named("thread_name", number, thread.tid, thread.name or str(thread.tid))
    for event in read_events(process):
        begin = (process.begin_ns - start + event.begin_ns) / _NS_PER_US
        place = {"ph": "X", "pid": number, "tid": event.thread.tid, "ts": begin}
        duration = event.ns / _NS_PER_US
        yield {
            **place,
            "name": _name(event),
            "cat": event.kind,
            "dur": duration,
            "args": _args(event),
        }
        if event.wait_ns:
            yield {
                **place,
                "name": "earlier work",
                "cat": "wait",
                "dur": event.wait_ns / _NS_PER_US,
            }


def _name(event: Event) -> str:
    return f"{event.entry}{f' {event.source} to {event.target}' if event.source else ''}"


def _args(event: Event) -> dict[str, object]:
    return {
        "bytes": event.bytes,
        "stream": f"{event.stream:#x}",
        "at": event.site.place,
        "hidden": event.hidden,
        "replaced": event.replaced,
    }


def _named(kind: str, pid: int, tid: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}
