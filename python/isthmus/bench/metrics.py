"""What results say: metrics, and what each of them means."""

from enum import StrEnum


class Metric(StrEnum):
    """What a result says. Latency is several quantities with several names."""

    BANDWIDTH = "bandwidth"
    API_RETURN = "api_return"
    COMPLETION = "completion"
    EVENT_DELTA = "event_delta"
    EVENT_FLOOR = "event_floor"
    RECIPROCAL_THROUGHPUT = "reciprocal_throughput"
    VISIBLE = "visible"

    FENCED = "fenced"
    POSTED = "posted"
    COMPLETE = "complete"
    MEMCPY_PINNED = "memcpy_pinned"
    MEMCPY_PAGEABLE = "memcpy_pageable"
    LAUNCHED = "launched"
    ASKED = "asked"
    ROUND_TRIP = "round_trip"
    OPEN_NEW = "open_new"
    PIN = "pin"
    MAP = "map"
    FIRST_STORE = "first_store"
    FIRST_LOAD = "first_load"
    OPEN_CACHED = "open_cached"
    CLOSE = "close"
    UNMAP = "unmap"
    UNPIN = "unpin"
    MEMCPY_4_BYTES = "memcpy_4_bytes"

    CROSSOVER_PINNED = "crossover_pinned"
    CROSSOVER_PAGEABLE = "crossover_pageable"
    CROSSOVER_PUSH = "crossover_push"


_CROSSOVER = "bytes: the largest size up to which the window beats"
METRIC_MEANING = {
    Metric.BANDWIDTH: "bytes over time: pinned by the GPU clock, back to back behind a gate; "
    "pageable by the CPU clock, one call and wait at a time; windows by the CPU "
    "clock, back to back",
    Metric.API_RETURN: "CPU clock, from the call to its return; the copy may still run",
    Metric.COMPLETION: "CPU clock, from the call until the copy is known to be done",
    Metric.EVENT_DELTA: "GPU clock, between an event before and one after the copy",
    Metric.EVENT_FLOOR: "GPU clock, between two events with nothing between them",
    Metric.RECIPROCAL_THROUGHPUT: "CPU clock, many copies back to back, divided by their number",
    Metric.VISIBLE: "CPU clock, until the other side reads the new bytes and that is known here",
    Metric.FENCED: "CPU clock, write() back to back, time over their number; sfence holds back "
    "stores only, so a clock read after a single call may run before its bytes have left",
    Metric.POSTED: "CPU clock, post() to one cache line after the other, divided by their number: "
    "no order, and no arrival, before the fence that follows outside the time",
    Metric.COMPLETE: "CPU clock, read() back to back, divided by their number: the bytes are here",
    Metric.MEMCPY_PINNED: "CPU clock, cudaMemcpy of the same bytes, pinned memory, until complete",
    Metric.MEMCPY_PAGEABLE: "the same with pageable memory",
    Metric.LAUNCHED: "CPU clock, from a kernel's launch until its bytes and then its flag are here",
    Metric.ASKED: "the same from a flag through a window that a kernel already running waits for",
    Metric.ROUND_TRIP: "CPU clock, data and flag to a running kernel, its data and flag back",
    Metric.OPEN_NEW: "CPU clock, the first window on a buffer: mapped and compared",
    Metric.PIN: "CPU clock, of open_new: the memory is exported (dmabuf), pinned (gdrdrv), or its "
    "object found and referred to (rm)",
    Metric.MAP: "CPU clock, of open_new: mmap, and before it the resource manager's mapping (rm)",
    Metric.FIRST_STORE: "CPU clock, the first 4 bytes written through a new mapping, fenced",
    Metric.FIRST_LOAD: "CPU clock, the first 4 bytes read from an untouched part of it",
    Metric.OPEN_CACHED: "CPU clock, another window on a buffer that has one",
    Metric.CLOSE: "CPU clock, the last window on a buffer: unmapped",
    Metric.UNMAP: "CPU clock, of close: what map did is undone",
    Metric.UNPIN: "CPU clock, of close: what pin took is given back; dmabuf has no such step",
    Metric.MEMCPY_4_BYTES: "CPU clock, cudaMemcpy of 4 B, pageable memory, until complete",
    Metric.CROSSOVER_PINNED: f"{_CROSSOVER} cudaMemcpy with pinned memory",
    Metric.CROSSOVER_PAGEABLE: f"{_CROSSOVER} cudaMemcpy with pageable memory",
    Metric.CROSSOVER_PUSH: f"{_CROSSOVER} a kernel that is asked to push",
}

# By the GPU clock. Two events with nothing, or next to nothing, between them may read the same.
EVENT_METRICS = frozenset({Metric.EVENT_DELTA, Metric.EVENT_FLOOR})
