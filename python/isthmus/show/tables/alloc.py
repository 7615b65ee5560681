"""The tables of suite `alloc`: the cost of memory, and the sizes from which pinning pays off."""

from collections.abc import Sequence
from itertools import product

from isthmus.ground.life import LIVES_NOTE, Life
from isthmus.ground.sizes import approximate_size, format_size
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import four_digit_microseconds
from isthmus.show.page import Table
from isthmus.show.tables.labels import of_suite
from isthmus.show.tables.pivot import Word, attempted, median_cell, pivot, size_word, sizes

SUITE = "alloc"
_NS_PER_S, _BYTES_PER_KIB = 1e9, 1024
_LIVE, _MEMORY = "live", "memory"
_COSTS = {
    "allocate": "Allocating, microseconds (median; one at a time, freed before the next)",
    "free": "Freeing, microseconds (median)",
    "allocate_live": "Allocating several that stay alive, microseconds each (median)",
    "free_live": "Freeing several that were alive, microseconds each (median)",
    "allocate_return": "Allocating in stream order, microseconds until the call returns (median)",
    "free_return": "Freeing in stream order, microseconds until the call returns (median)",
}
_LIVES = {
    "life_one_way": "Host memory allocated, uploaded once and freed, microseconds (median)",
    "life_both_ways": "The same, and downloaded, microseconds (median)",
}
_BREAK_EVENS = {
    "break_even_one_way": "uploaded once",
    "break_even_both_ways": "uploaded and downloaded",
}
_NOTES = {
    "allocate": "allocating: touched memory includes a write to each page; registered memory is "
    "the registration alone, which creates untouched pages; each call includes some 25 ns of "
    "reading the clock (`pair` doesn't)",
    "allocate_live": "several alive: 64, or as many as fit in 256 MiB",
    "life_one_way": "lives: pageable pages are new, small pinned blocks are reused by the driver; "
    "break-evens compare like with like",
}


def alloc_tables(run: Run) -> list[Table]:
    """Lay out the cost of each kind of memory at each size, and its whole lives."""
    return [*cost_tables(run), *life_tables(run)]


def cost_tables(run: Run) -> list[Table]:
    """Lay out what allocating and freeing costs."""
    results = attempted(of_suite(run, SUITE))
    costs = [result for result in results if result.kind == Kind.ALLOC]
    first = [r for r in costs if r.metric == "allocate" and r.first_call_s]
    tables = (
        *(_table(title, _metric(costs, metric), _memory_kind) for metric, title in _COSTS.items()),
        _table(
            "Both, back to back, nanoseconds a KiB (median)",
            _metric(costs, "pair"),
            _memory_kind,
            _per_byte,
        ),
        _table("First allocation of its size, microseconds", first, _memory_kind, _first),
    )
    return [table for table in tables if table is not None]


def life_tables(run: Run) -> list[Table]:
    """Lay out the whole lives of host memory: allocated, copied and freed."""
    results = attempted(of_suite(run, SUITE))
    tables = (_table(title, _metric(results, metric), _memory) for metric, title in _LIVES.items())
    return [table for table in tables if table is not None]


def alloc_notes(run: Run) -> list[str]:
    """Say what each further byte costs, and from which size pinning pays off."""
    results = of_suite(run, SUITE)
    measured = {result.metric for result in results if result.status == Status.PASSED}
    return [
        *(note for metric, note in _NOTES.items() if metric in measured),
        *_line_notes(results),
        *break_even_notes(results),
    ]


def break_even_notes(results: Sequence[Result]) -> list[str]:
    """Say from which size other memory than pageable pays off, in both lives."""
    lines = []
    for life, (metric, words) in product(Life, _BREAK_EVENS.items()):
        found = [r for r in results if r.metric == metric and r.axes.get("life") == life]
        ends = [f"{_memory(r)} {from_where(r)}" for r in found]
        if ends:
            lines.append(f"break-even with pageable memory, {life}, {words}: {', '.join(ends)}")
    return [LIVES_NOTE, *lines] if lines else []


def _metric(results: Sequence[Result], metric: str) -> list[Result]:
    return [result for result in results if result.metric == metric]


def _table(
    title: str, results: Sequence[Result], memory: Word, cell: Word = median_cell
) -> Table | None:
    return pivot(
        title,
        results,
        row={"memory": memory},
        column=size_word,
        cell=cell,
        columns=sizes(results),
    )


def _memory_kind(result: Result) -> str:
    circumstances = (
        f"{name} {value}" for name, value in result.axes.items() if name not in {_LIVE, _MEMORY}
    )
    return ", ".join((result.way, *circumstances))


def _memory(result: Result) -> str:
    return str(result.axes.get(_MEMORY, "")).replace("_", " ")


def _per_byte(result: Result) -> str:
    if result.median is None:
        return result.status.value
    return f"{result.median * _NS_PER_S * _BYTES_PER_KIB / result.bytes:.3g}"


def _first(result: Result) -> str:
    return four_digit_microseconds(result.first_call_s or 0.0)


def _line_notes(results: Sequence[Result]) -> list[str]:
    """Write a line's start and slope as a sum: so much per call, and so much per MiB."""
    starts, rates, errors = (
        {_memory_kind(result): result.median or 0.0 for result in _metric(results, metric)}
        for metric in ("allocation_start", "allocation_rate", "allocation_error")
    )
    parts = []
    for kind, start in starts.items():
        # All three are derived together; an edited file may lack one.
        rate = rates.get(kind)
        slope = f" + {four_digit_microseconds((1 << 20) / rate)} us/MiB" if rate else ""
        within = f" (within {errors[kind]:.0%})" if kind in errors else ""
        parts.append(f"{kind} {four_digit_microseconds(start)} us{slope}{within}")
    if not parts:
        return []
    return [f"allocated and freed (line fitted to all sizes): {'; '.join(parts)}"]


def from_where(result: Result) -> str:
    """Say from which size memory pays off, and between which sizes that lies."""
    if result.median is None:
        return f"not up to {format_size(result.bytes)}"
    if not result.min:
        return f"from the smallest size ({format_size(int(result.max or 0))})"
    between = f"{format_size(int(result.min))} and {format_size(int(result.max or 0))}"
    return f"from about {approximate_size(int(result.median))} (between {between})"
