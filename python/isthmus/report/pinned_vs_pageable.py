"""The table and the picture of suite `pinned_vs_pageable`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isthmus.report.drawing import HEIGHT, WIDTH, data_of
from isthmus.report.labels import direction_of, of_kind
from isthmus.report.numbers import gigabytes_per_second
from isthmus.report.page import Table
from isthmus.report.pivot import attempted, by_size, pivot, size_word
from isthmus.run.model import Result, Run, Status
from isthmus.run.naming import Kind

if TYPE_CHECKING:
    import altair as alt

_MEMORY, _GAIN = "memory", "pinned_gain"
_BYTES_PER_GB = 1e9
_BYTES_PER_MIB = 1 << 20


def pinned_vs_pageable_tables(run: Run) -> list[Table]:
    """Lay out both kinds of memory in both directions, with minimum and maximum."""
    results = attempted(of_kind(run, Kind.PINNED_VS_PAGEABLE))
    table = pivot(
        "Pinned against pageable memory, GB/s (median, minimum to maximum; host memory allocated "
        "anew between)",
        results,
        row={"size": size_word},
        column=_head,
        cell=spread_cell,
        columns=map(_head, by_size(results)),
    )
    return [] if table is None else [table]


def pinned_vs_pageable_notes(run: Run) -> list[str]:
    """Say by how much each kind varies."""
    results = of_kind(run, Kind.PINNED_VS_PAGEABLE)
    lines = []
    for memory in ("pageable", "pinned"):
        spreads = [_spread(r) for r in results if r.axes.get(_MEMORY) == memory and _is_rate(r)]
        if spreads:
            lines.append(f"{memory} memory: maximum over minimum at one size: {max(spreads):.2f}x")
    return lines


def spread_cell(result: Result) -> str:
    """Write a median with minimum and maximum, or its ratio to pageable memory's."""
    if result.median is None:
        return result.status.value
    if result.metric == _GAIN:
        return f"{result.median:.2f}x"
    least, most = (gigabytes_per_second(value or 0.0) for value in (result.min, result.max))
    return f"{gigabytes_per_second(result.median)} ({least}-{most})"


def chart(run: Run) -> "alt.TopLevelMixin | None":
    """Draw medians over sizes, with bars from minimum to maximum; None without two sizes."""
    rates = [result for result in of_kind(run, Kind.PINNED_VS_PAGEABLE) if _is_rate(result)]
    if len({result.bytes for result in rates}) <= 1:
        return None
    return _picture(run, rates)


def _picture(run: Run, rates: Sequence[Result]) -> "alt.TopLevelMixin":
    import altair as alt

    rows = [
        {
            "what": f"{direction_of(result)} {result.axes.get(_MEMORY)}",
            "mib": result.bytes / _BYTES_PER_MIB,
            "median": (result.median or 0.0) / _BYTES_PER_GB,
            "least": (result.min or 0.0) / _BYTES_PER_GB,
            "most": (result.max or 0.0) / _BYTES_PER_GB,
        }
        for result in rates
    ]
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X("mib:Q", title="size, MiB"),
        color=alt.Color("what:N", title=None, legend=alt.Legend(orient="bottom", columns=2)),
    )
    medians = base.mark_line(point=True).encode(
        y=alt.Y("median:Q", title="GB/s, median; bars: min to max", scale=alt.Scale(zero=True)),
        tooltip=["what:N", "mib:Q", "median:Q", "least:Q", "most:Q"],
    )
    spreads = base.mark_rule(strokeWidth=3, opacity=0.4).encode(y="least:Q", y2="most:Q")
    return alt.layer(spreads, medians).properties(width=WIDTH, height=HEIGHT, title=_title(run))


def _title(run: Run) -> "alt.TitleParams":
    import altair as alt

    emulated = "EMULATED, no GPU measured; " if run.machine.emulated else ""
    return alt.TitleParams(
        "Pinned against pageable host memory, allocated anew between copies",
        subtitle=f"{emulated}{run.machine.device.name}, run {run.run.id}",
    )


def _is_rate(result: Result) -> bool:
    return result.status == Status.PASSED and result.unit == "B/s"


def _head(result: Result) -> str:
    if result.metric == _GAIN:
        return f"{direction_of(result)} pinned/pageable"
    return f"{direction_of(result)} {result.axes.get(_MEMORY)}"


def _spread(result: Result) -> float:
    return (result.max or 0.0) / result.min if result.min else 0.0
