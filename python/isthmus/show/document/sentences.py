"""What each chapter shows, in one sentence about one run; "" if the run has no number for it."""

from collections.abc import Iterable

from isthmus.ground.life import LIVES_NOTE
from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted, listed
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind, directed_name
from isthmus.show.document.lookup import DIRECTIONS, bandwidths, best, passed
from isthmus.show.quantities import readable
from isthmus.show.tables.alloc import from_where
from isthmus.show.tables.paging import MANAGED, UNITS, times_of

_WAYS = {"ce": "pinned", "pageable": "pageable"}
_SMALL_WAYS = {
    "async": "asynchronously",
    "batch": "in a batch",
    "graph": "in a graph",
    "sm": "in a kernel",
    "window": "through a window",
}
_UP = {"h2d": "up", "d2h": "down"}
_MUCH = 1.05


def about_bandwidth(run: Run) -> str:
    """Give the rates of the largest copies of pinned and pageable memory, up and down."""
    size = _largest(run, *_WAYS)
    parts = [said for way in _WAYS if (said := rates_of(run, way, size))]
    return f"Copies of {format_size(size)} reach {', and '.join(parts)}." if parts else ""


def rates_of(run: Run, way: str, size: int | None = None) -> str:
    """Give the rates of copies of a size, by default the largest, up and down; "" without any."""
    size = _largest(run, way) if size is None else size
    found = ((_UP[to], bandwidths(run, to, way).get(size)) for to in DIRECTIONS)
    told = [f"{_number(rate)} {up}" for up, rate in found if rate is not None]
    return f"{' and '.join(told)} with {_WAYS[way]} memory" if told else ""


def _largest(run: Run, *ways: str) -> int:
    """Give the largest size that all of these were measured with; 0 if there is none."""
    found = [set(rates) for way in ways for to in DIRECTIONS if (rates := bandwidths(run, to, way))]
    return max(set.intersection(*found), default=0) if found else 0


def about_latency(run: Run) -> str:
    """Compare the blocking copy of the smallest size with the fastest way."""
    lines = []
    for to, noun in DIRECTIONS.items():
        blocking = passed(run, directed_name(to, Kind.SMALL_COPY, "blocking"), "completion")
        size = 4 if 4 in blocking else min(blocking, default=0)  # noqa: PLR2004 - the usual size
        ways = (
            passed(run, directed_name(to, Kind.SMALL_COPY, way), "completion").get(size)
            for way in _SMALL_WAYS
        )
        fastest = best(result for result in ways if result is not None)
        if size in blocking and fastest is not None:
            other = f"one {_SMALL_WAYS[fastest.way]} after {_number(fastest)}"
            of = f"of {format_size(size)} completes after {_number(blocking[size])}"
            lines.append(f"a blocking {noun} {of}, {other}")
    return _sentence("; ".join(lines))


def about_allocation(run: Run) -> str:
    """Compare pinning with allocating ordinary memory."""
    usual = passed(run, "alloc_cuda_malloc_host", "allocate")
    others = {
        "`isthmus.pinned`": passed(run, "alloc_isthmus_pinned", "allocate"),
        "`malloc` with a write to each page": passed(
            run, "alloc_malloc", "allocate", axes={"pages": "touched"}
        ),
    }
    size = max(usual, default=None)
    if size is None:
        return ""
    all_told = {"`cudaMallocHost`": usual} | others
    told = [
        f"{_number(found[size])} with {name}" for name, found in all_told.items() if size in found
    ]
    return f"Allocating {format_size(size)} takes {listed(told)}."


def about_break_even(run: Run) -> str:
    """Say from which size memory pays off that is uploaded once."""
    found = [r for r in run.results if r.metric == "break_even_one_way" and "life" in r.axes]
    told = [
        f"{str(r.axes['memory']).replace('_', ' ')} memory, {r.axes['life']}, {from_where(r)}"
        for r in found
    ]
    if not told:
        return ""
    return (
        "Memory that is allocated, uploaded once and freed costs less than pageable memory at "
        f"these sizes: {'; '.join(told)} ({LIVES_NOTE})."
    )


def about_windows(run: Run) -> str:
    """Say up to which size a window is faster than a pinned copy."""
    parts = []
    for test, noun in (("window_write", "writes"), ("window_read", "reads")):
        found = passed(run, test, "crossover_pinned")
        if found:
            most = int(found[max(found)].median or 0)
            parts.append(f"{noun} up to {format_size(most)}" if most else f"no {noun}")
    if not parts:
        return ""
    return f"A window is faster than `cudaMemcpy` of pinned memory for {' and '.join(parts)}."


def about_overlap(run: Run) -> str:
    """Compare the best pipeline with copying and computing one after the other."""
    ratios = [r for r in run.results if r.metric == "overlap_ratio" and r.median]
    ratios = [r for r in ratios if {"chunks", "streams"} <= r.axes.keys()]
    whole = [r for r in ratios if r.axes["chunks"] == 1]
    shared = [r for r in ratios if r.axes["chunks"] != 1]
    if not shared:
        return ""
    least = min(shared, key=lambda result: result.median or 0.0)
    beside = f"; unsplit, {max(r.median or 0 for r in whole):.2f} times" if whole else ""
    return (
        f"Split into {least.axes['chunks']} parts on {least.axes['streams']} streams, copies and "
        f"kernels take {least.median:.2f} times as long as the longer of the two alone{beside}."
    )


def about_nodes(run: Run) -> str:
    """Compare the CPU nodes."""
    nodes = len(run.machine.host.numa_nodes)
    found = [r for r in run.results if r.test == "numa_host_to_device_memcpy_ce" and r.median]
    if not found:
        return ""
    if len({r.axes.get("node") for r in found}) <= 1:
        return f"The host shows {counted(nodes, 'NUMA node')}, so that all memory is equally near."
    rates = sorted(r.median or 0.0 for r in found)
    if rates[-1] / rates[0] < _MUCH:
        return f"Every CPU node uploads at about {readable(rates[-1], 'B/s')}: none is far."
    return (
        f"Uploads from the nearest CPU node reach {readable(rates[-1], 'B/s')}, from the farthest "
        f"{readable(rates[0], 'B/s')}."
    )


def about_programs(run: Run) -> str:
    """Compare programs that are paged by units with their copies, and with managed memory."""
    times = times_of(run)
    programs = times.workloads()
    ratios = [one for name in programs if (one := times.over_programmer(name, UNITS)) is not None]
    pairs = [(times.get(name, UNITS), times.get(name, MANAGED)) for name in programs]
    both = [(paged, managed) for paged, managed in pairs if paged and managed]
    lines = []
    if ratios:
        lines.append(
            f"paged by units of 1 KiB, {counted(len(ratios), 'program')} took {min(ratios):.3g} to "
            f"{max(ratios):.3g} times as long as with their own copies"
        )
    if both:
        quicker = sum(paged < managed for paged, managed in both)
        lines.append(f"{quicker} of {len(both)} were quicker paged than with managed memory")
    return _sentence("; ".join(lines))


def about_gpus(run: Run) -> str:
    """Give the rates of all GPUs together, and between two."""
    together = [
        f"{_number(r)} {words}"
        for test, words in (("host_to_all_memcpy_ce", "up"), ("all_to_host_memcpy_ce", "down"))
        if (r := best(passed(run, test, "aggregate").values())) is not None
    ]
    between = best(
        r
        for r in run.results
        if r.test == "device_to_device_memcpy_write_ce" and r.metric == "bandwidth" and r.median
    )
    parts = [f"All GPUs together copy {' and '.join(together)}"] if together else []
    parts += [f"one GPU writes to another at {_number(between)}"] if between else []
    return _sentence("; ".join(parts))


def about_host(run: Run) -> str:
    """Compare one core with all."""
    found = [
        r
        for r in run.results
        if r.kind == Kind.HOST_MEMCPY and r.status == Status.PASSED and r.way != "node_to_node"
    ]
    largest = [r for r in found if r.bytes == max(one.bytes for one in found)]
    one = best(r for r in largest if r.num_threads == 1)
    every = best(r for r in largest if r.num_threads > 1)
    if one is None:
        return ""
    beside = f", and {every.num_threads} threads copy at {_number(every)}" if every else ""
    return (
        f"One core copies {format_size(one.bytes)} within host memory at {_number(one)}{beside}. "
        "A copy that one core stages is slower than that core."
    )


def why_nothing(results: Iterable[Result]) -> str:
    """Say why none of some results has a number."""
    found = list(results)
    reasons = dict.fromkeys(
        r.reason or (r.error.message if r.error else "") for r in found if r.median is None
    )
    return f"Not measured: {'; '.join(filter(None, reasons))}." if any(reasons) else ""


def _number(result: Result) -> str:
    return readable(result.median or 0.0, result.unit)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
