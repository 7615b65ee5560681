"""The table of suite `pinned_vs_pageable`."""

from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import gigabytes_per_second
from isthmus.show.page import Table
from isthmus.show.tables.labels import direction_of, of_kind
from isthmus.show.tables.pivot import attempted, by_size, pivot, size_word

_MEMORY, _GAIN = "memory", "pinned_gain"


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


def _is_rate(result: Result) -> bool:
    return result.status == Status.PASSED and result.unit == "B/s"


def _head(result: Result) -> str:
    if result.metric == _GAIN:
        return f"{direction_of(result)} pinned/pageable"
    return f"{direction_of(result)} {result.axes.get(_MEMORY)}"


def _spread(result: Result) -> float:
    return (result.max or 0.0) / result.min if result.min else 0.0
