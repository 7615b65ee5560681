"""What limits copies on a machine, each with its number."""

from isthmus.expected.values import link_values
from isthmus.report.document.lookup import bandwidths, best, passed
from isthmus.report.quantities import readable
from isthmus.run.model import Result, Run
from isthmus.run.naming import Kind, directed_name
from isthmus.sizes import approximate_size, format_size

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
    reached = f"large uploads from pinned memory reach {readable(copy.median, 'B/s')}"
    link = run.machine.link
    lane = link_values().lane_bytes_per_s.get(link.generation or 0)
    if lane is None or link.width is None:
        return f"Large copies, pinned: {reached}."
    most = lane * link.width
    share = copy.median / most
    name = f"PCIe Gen{link.generation} x{link.width}"
    whole = f"{reached}, {share * 100:.0f} % of the {readable(most, 'B/s')} that {name} carries"
    if share >= _NEARLY:
        return f"Large copies, pinned: the link. L{whole[1:]} with its packets' headers."
    return f"Large copies, pinned: not the link alone. L{whole[1:]} with its packets' headers."


def _staging(run: Run) -> str:
    pageable = _largest(bandwidths(run, "h2d", "pageable"))
    if pageable is None or pageable.median is None:
        return ""
    core = _largest(passed(run, "host_memcpy", "bandwidth"))
    beside = (
        f"; one core copies {readable(core.median, 'B/s')} within host memory"
        if core and core.median
        else ""
    )
    return (
        "Large copies, pageable: one CPU core, by which the driver copies through pinned memory of "
        f"its own. An upload of {format_size(pageable.bytes)} reaches "
        f"{readable(pageable.median, 'B/s')}{beside}."
    )


def _start(run: Run) -> str:
    name = directed_name("h2d", Kind.MEMCPY, "ce")
    start = _largest(passed(run, name, "fit_start"))
    half = _largest(passed(run, name, "half_bandwidth_size"))
    if start is None or half is None or start.median is None or half.median is None:
        return ""
    return (
        f"Copies below {approximate_size(round(half.median))}: the start of each copy, "
        f"{readable(start.median, 's')} for an upload in a row of uploads. At this size a copy "
        "reaches half of the bandwidth."
    )


def _smallest(run: Run) -> str:
    times = passed(run, directed_name("h2d", Kind.SMALL_COPY, "blocking"), "completion")
    told = [
        f"{format_size(size)} {readable(result.median, 's')}"
        for size, result in sorted(times.items())
        if size in _SMALL_BYTES and result.median
    ]
    if not told:
        return ""
    return (
        "Single small copies: the call and the wait for its end, whatever their size. A blocking "
        f"upload takes: {', '.join(told)}."
    )


def _largest(found: dict[int, Result]) -> Result | None:
    return found[max(found)] if found else None
