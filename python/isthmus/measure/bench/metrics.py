"""The metrics of results, and their meanings."""

from enum import StrEnum


class Metric(StrEnum):
    """What a result measures. Latency is several quantities with several names."""

    BANDWIDTH = "bandwidth"
    API_RETURN = "api_return"
    COMPLETION = "completion"
    EVENT_DELTA = "event_delta"
    EVENT_FLOOR = "event_floor"
    RECIPROCAL_THROUGHPUT = "reciprocal_throughput"
    VISIBLE = "visible"

    BLOCKING = "blocking"
    ASYNC = "async"
    ASYNC_OVER_BLOCKING = "async_over_blocking"
    UPLOAD = "upload"
    DOWNLOAD = "download"
    BOTH_WAYS = "both_ways"
    DOWNLOAD_OVER_UPLOAD = "download_over_upload"

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

    ALONE = "alone"
    AGGREGATE = "aggregate"

    DUPLEX_TOTAL = "duplex_total"
    DUPLEX_H2D = "duplex_h2d"
    DUPLEX_D2H = "duplex_d2h"
    TOGETHER = "together"
    COPY_ALONE = "copy_alone"
    COMPUTE_ALONE = "compute_alone"
    OVERLAP_RATIO = "overlap_ratio"

    ACCESS_LATENCY = "access_latency"
    DEVICE_FAULT = "device_fault"
    HOST_FAULT = "host_fault"
    FIT_START = "fit_start"
    FIT_BANDWIDTH = "fit_bandwidth"
    HALF_BANDWIDTH_SIZE = "half_bandwidth_size"
    FIT_ERROR = "fit_error"

    ALLOCATE = "allocate"
    FREE = "free"
    PAIR = "pair"
    ALLOCATE_LIVE = "allocate_live"
    FREE_LIVE = "free_live"
    ALLOCATE_RETURN = "allocate_return"
    FREE_RETURN = "free_return"
    ALLOCATION_START = "allocation_start"
    ALLOCATION_RATE = "allocation_rate"
    ALLOCATION_ERROR = "allocation_error"
    LIFE_UPLOAD = "life_upload"
    LIFE_DOWNLOAD = "life_download"
    LIFE_ONE_WAY = "life_one_way"
    LIFE_BOTH_WAYS = "life_both_ways"
    BREAK_EVEN_ONE_WAY = "break_even_one_way"
    BREAK_EVEN_BOTH_WAYS = "break_even_both_ways"
    PINNED_GAIN = "pinned_gain"

    RUN = "run"

    CROSSOVER_PINNED = "crossover_pinned"
    CROSSOVER_PAGEABLE = "crossover_pageable"
    CROSSOVER_PUSH = "crossover_push"


_CROSSOVER = "bytes: the largest size up to which the window beats"
METRIC_MEANING = {
    Metric.BANDWIDTH: "bytes over time: pinned by the GPU clock, back to back behind a gate; "
    "pageable by the CPU clock, one call and wait at a time; windows by the CPU "
    "clock, back to back",
    Metric.API_RETURN: "CPU clock, from the call to its return; the copy may still run",
    Metric.COMPLETION: "CPU clock, from the call until the copy is complete",
    Metric.EVENT_DELTA: "GPU clock, between an event before and one after the copy",
    Metric.EVENT_FLOOR: "GPU clock, between two events with nothing between them",
    Metric.RECIPROCAL_THROUGHPUT: "CPU clock, many copies back to back, divided by their number",
    Metric.VISIBLE: "CPU clock, until the other side reads the new bytes and the CPU knows it",
    Metric.BLOCKING: "one iteration of a run: kernel, then cudaMemcpy to pageable memory",
    Metric.ASYNC: "one iteration of a run: kernel, then cudaMemcpyAsync to pinned memory, on "
    "one stream that is waited for once, at the end",
    Metric.ASYNC_OVER_BLOCKING: "async time over blocking time",
    Metric.UPLOAD: "GPU clock, between events before and after one cudaMemcpyAsync to the GPU",
    Metric.DOWNLOAD: "the same from the GPU, after the kernel before it is complete",
    Metric.BOTH_WAYS: "upload and download together",
    Metric.DOWNLOAD_OVER_UPLOAD: "download time over upload time",
    Metric.FENCED: "CPU clock, write() back to back, time over their number; sfence holds back "
    "stores only, so a clock read after a single call may run before its bytes have left",
    Metric.POSTED: "CPU clock, post() to one cache line after the other, divided by their number: "
    "order and arrival are only guaranteed after the fence that follows, which is not timed",
    Metric.COMPLETE: "CPU clock, read() back to back until the bytes arrived, over their number",
    Metric.MEMCPY_PINNED: "CPU clock, cudaMemcpy of the same bytes, pinned memory, until complete",
    Metric.MEMCPY_PAGEABLE: "the same with pageable memory",
    Metric.LAUNCHED: "CPU clock, from a kernel's launch until its bytes and then its flag arrive",
    Metric.ASKED: "the same from a flag through a window for which a running kernel waits",
    Metric.ROUND_TRIP: "CPU clock, data and flag to a running kernel, its data and flag back",
    Metric.OPEN_NEW: "CPU clock, the first window on a buffer: mapped and compared",
    Metric.PIN: "CPU clock, of open_new: the memory is exported (dmabuf), pinned (gdrdrv), or its "
    "object found and referred to (rm)",
    Metric.MAP: "CPU clock, of open_new: mmap, and before it the resource manager's mapping (rm)",
    Metric.FIRST_STORE: "CPU clock, the first 4 bytes written through a new mapping, fenced",
    Metric.FIRST_LOAD: "CPU clock, the first 4 bytes read from an untouched part of it",
    Metric.OPEN_CACHED: "CPU clock, another window on a buffer that has one",
    Metric.CLOSE: "CPU clock, the last window on a buffer: unmapped",
    Metric.UNMAP: "CPU clock, of close: map is undone",
    Metric.UNPIN: "CPU clock, of close: pin is undone; dmabuf has no such step",
    Metric.MEMCPY_4_BYTES: "CPU clock, cudaMemcpy of 4 B, pageable memory, until complete",
    Metric.ALONE: "bytes over time by the GPU clock, while no other GPU copies; for its "
    "`bandwidth` all others copy",
    Metric.AGGREGATE: "bytes of all GPUs together over the CPU's time from their common start "
    "until the last of them is done",
    Metric.DUPLEX_TOTAL: "bytes of both directions over their common window, by the GPU clock, "
    "from a common start until the slower direction is done",
    Metric.DUPLEX_H2D: "bytes from host to device over that direction's own time, from that start",
    Metric.DUPLEX_D2H: "the same from device to host",
    Metric.TOGETHER: "GPU clock, a pipeline of copies and kernels, all chunks; the kernels need "
    "the copied bytes, and last as long as the copies",
    Metric.COPY_ALONE: "GPU clock, the same copies in the same streams without the kernels",
    Metric.COMPUTE_ALONE: "GPU clock, the same kernels without the copies",
    Metric.OVERLAP_RATIO: "together / the longer of copy_alone and compute_alone: 1 = fully "
    "hidden, 2 = nothing hidden",
    Metric.ACCESS_LATENCY: "GPU clock, a kernel follows a chain of pointers in host memory, "
    "divided by the number of its loads: each waits for the one before",
    Metric.DEVICE_FAULT: "GPU clock, a kernel's load from a page of managed memory on the host: "
    "the page moves; one page in each 2 MiB, so that none moves another",
    Metric.HOST_FAULT: "CPU clock, the same load by the CPU, from a page on the device",
    Metric.FIT_START: "seconds: per-copy overhead of the line fitted to a test's times",
    Metric.FIT_BANDWIDTH: "bytes per second: peak rate of the same line",
    Metric.HALF_BANDWIDTH_SIZE: "bytes: size that reaches half the peak rate (n1/2)",
    Metric.FIT_ERROR: "the largest relative error of the line",
    Metric.ALLOCATE: "CPU clock, one allocation, freed before the next; stream-ordered memory "
    "until its stream has reached it; touched memory with a write to each page; includes "
    "reading the clock (some 25 ns)",
    Metric.FREE: "CPU clock, freeing it; for device memory this waits for the device",
    Metric.PAIR: "CPU clock, both; short ones back to back many times, divided by their number",
    Metric.ALLOCATE_LIVE: "CPU clock, several that stay alive, divided by their number",
    Metric.FREE_LIVE: "CPU clock, several that were alive, divided by their number",
    Metric.ALLOCATE_RETURN: "CPU clock, until the call returns; its stream may not be there yet",
    Metric.FREE_RETURN: "the same for freeing",
    Metric.ALLOCATION_START: "seconds of allocating and freeing no bytes, by the line fitted "
    "through a kind's `pair` over all sizes",
    Metric.ALLOCATION_RATE: "the cost of each further byte, by the same line, as bytes a second",
    Metric.ALLOCATION_ERROR: "the largest distance of a time from that line, as a part of the time",
    Metric.LIFE_UPLOAD: "CPU clock, one blocking copy from it to the device, until complete",
    Metric.LIFE_DOWNLOAD: "CPU clock, one blocking copy from the device into it, until complete",
    Metric.LIFE_ONE_WAY: "CPU clock, allocation with all pages, one upload, freeing: their sum",
    Metric.LIFE_BOTH_WAYS: "the same with one download",
    Metric.BREAK_EVEN_ONE_WAY: "bytes from which allocating, an upload and freeing take less "
    "than with pageable memory, steady or first time (`life`), between its min and max",
    Metric.BREAK_EVEN_BOTH_WAYS: "the same with one download",
    Metric.PINNED_GAIN: "pinned memory's bandwidth over pageable memory's; min and max by both's "
    "quartiles",
    Metric.RUN: "CPU clock, a program from its first copy to the GPU, or launch, until its last "
    "kernel has ended; its results are compared with the host's afterwards",
    Metric.CROSSOVER_PINNED: f"{_CROSSOVER} cudaMemcpy with pinned memory",
    Metric.CROSSOVER_PAGEABLE: f"{_CROSSOVER} cudaMemcpy with pageable memory",
    Metric.CROSSOVER_PUSH: f"{_CROSSOVER} a kernel that pushes on request",
}

# By the GPU clock. Two events with nothing, or almost nothing, between them may read the same.
EVENT_METRICS = frozenset({Metric.EVENT_DELTA, Metric.EVENT_FLOOR})
