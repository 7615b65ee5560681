"""What limits copies on a machine, each with its number."""

from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import listed
from isthmus.measure.expected.values import link_values
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind, directed_name
from isthmus.show.document.lookup import bandwidths, best, passed
from isthmus.show.quantities import readable

# Differences of a few percent come from packets' headers, and from the machine.
_NEARLY = 0.8
_SMALL_BYTES = frozenset({4, 256, 4096})


def limits_of(run: Run) -> tuple[str, ...]:
    """Say what limits large copies from pinned and from pageable memory, and small ones."""
    lines = (_link(run), _staging(run), _start(run), _smallest(run))
    return tuple(line for line in lines if line)


def _link(run: Run) -> str:
    copy = best(bandwidths(run, "h2d", "ce").values())
    if copy is None or copy.median is None:
        return ""
    reached = f"{readable(copy.median, 'B/s')} ({format_size(copy.bytes)}, pinned)"
    link = run.machine.link
    lane = link_values().lane_bytes_per_s.get(link.generation or 0)
    if lane is None or not link.width:
        return ""
    most = lane * link.width
    share = copy.median / most
    name = f"Gen{link.generation} x{link.width}"
    limit = "The link" if share >= _NEARLY else "More than the link"
    return f"{limit}: {reached}, {share * 100:.0f} % of {name} ({readable(most, 'B/s')})."


def _staging(run: Run) -> str:
    pageable = _largest(bandwidths(run, "h2d", "pageable"))
    if pageable is None or pageable.median is None:
        return ""
    core = _largest(passed(run, "host_memcpy", "bandwidth"))
    beside = (
        f"; libc's `memcpy` reaches {readable(core.median, 'B/s')} within host memory"
        if core and core.median
        else ""
    )
    return (
        f"One CPU core: it stages pageable uploads ({format_size(pageable.bytes)}) for the driver "
        f"at {readable(pageable.median, 'B/s')}{beside}."
    )


def _start(run: Run) -> str:
    name = directed_name("h2d", Kind.MEMCPY, "ce")
    start = _largest(passed(run, name, "fit_start"))
    half = _largest(passed(run, name, "half_bandwidth_size"))
    if start is None or half is None or start.median is None or half.median is None:
        return ""
    return (
        f"Per-copy overhead ({readable(start.median, 's')} in a row of uploads) dominates below "
        f"{approximate_size(round(half.median))}. A copy of that size reaches half of the "
        "bandwidth."
    )


def _smallest(run: Run) -> str:
    times = passed(run, directed_name("h2d", Kind.SMALL_COPY, "blocking"), "completion")
    told = [
        f"{readable(result.median, 's')} for {format_size(size)}"
        for size, result in sorted(times.items())
        if size in _SMALL_BYTES and result.median
    ]
    if not told:
        return ""
    return f"Call and wait: a blocking upload takes {listed(told)}."


def _largest(found: dict[int, Result]) -> Result | None:
    return found[max(found)] if found else None
