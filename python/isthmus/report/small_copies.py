"""The small-copy table: a row for each latency, and how the ways and directions compare."""

from isthmus.report.heading import title_suffix
from isthmus.report.labels import BANDWIDTH, labels, of_copies
from isthmus.report.numbers import microseconds, ratio
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_HEADS = ("copy", "bytes", "metric", "median", "min", "p99", "first call", "n", "event floor")
_BLOCKING = "{}_small_copy_blocking"
_ASYNC = "{}_small_copy_async"
_WORDS = {"host_to_device": "H2D", "device_to_host": "D2H"}


def small_copy_table(run: Run) -> Table | None:
    """
    Lay out the latencies; None if none was to be measured.

    The floor of the GPU's clock has no row of its own: it stands beside what it bounds. What was
    waived is in `waived_lines`, and the first call, one a copy, beside its completion.
    """
    results = [result for result in _latencies(run) if result.status != Status.WAIVED]
    if not results:
        return None
    floors = {
        (result.test, result.bytes): result.median
        for result in results
        if result.metric == "event_floor"
    }
    heads = labels(run)
    return Table(
        title="Small copies, microseconds" + title_suffix(run.machine),
        heads=_HEADS,
        rows=tuple(
            _row(result, heads[result.test], floors.get((result.test, result.bytes)))
            for result in results
            if result.metric != "event_floor"
        ),
        num_text_columns=3,
    )


def waived_lines(run: Run) -> list[str]:
    """Say which latencies were waived: a line for each reason."""
    heads = labels(run)
    waived: dict[str, list[str]] = {}
    for result in _latencies(run):
        if result.status == Status.WAIVED:
            named = f"{heads[result.test]} {result.metric}"
            waived.setdefault(result.reason or "", []).append(named)
    return [f"waived: {', '.join(named)}: {reason}" for reason, named in waived.items()]


def comparison_lines(run: Run) -> list[str]:
    """Compare async with blocking, and device-to-host with host-to-device, by completion."""
    medians = {
        result.test: result.median
        for result in of_copies(run)
        if result.metric == "completion" and result.median is not None
    }
    pairs = [
        (f"{short} completion, async / blocking", _ASYNC.format(name), _BLOCKING.format(name))
        for name, short in _WORDS.items()
    ] + [
        (
            f"{method} completion, D2H / H2D",
            f"device_to_host_small_copy_{method}",
            f"host_to_device_small_copy_{method}",
        )
        for method in ("blocking", "async")
    ]
    return [
        f"{what}: {ratio(medians[above], medians[below])} "
        f"({microseconds(medians[above])} / {microseconds(medians[below])} us)"
        for what, above, below in pairs
        if above in medians and below in medians
    ]


def _latencies(run: Run) -> list[Result]:
    return [result for result in of_copies(run) if result.metric != BANDWIDTH]


def _row(result: Result, head: str, floor_s: float | None) -> tuple[str, ...]:
    start = (head, format_size(result.bytes), result.metric)
    if result.median is None:
        return (*start, result.status.value, "", "", "", "", "")
    first_call = microseconds(result.first_call_s) if result.metric == "completion" else ""
    floor = microseconds(floor_s) if result.metric == "event_delta" else ""
    numbers = map(microseconds, (result.median, result.min, result.p99))
    return (*start, *numbers, first_call, str(result.n), floor)
