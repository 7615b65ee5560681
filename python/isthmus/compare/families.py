"""
Families of results that are judged together, and which results belong to none.

A family has one direction, one unit and one clock. Its results measure the same part of the
machine, so that a real change moves most of them. Results that change from process to process by
more than any change that matters (allocations, first calls, pageable memory that is allocated anew,
managed memory) belong to no family: they are shown and not judged.
"""

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.run.naming import Kind
from isthmus.run.result import Result

_LARGE_BYTES = 1 << 20
# A copy by the copy engine: host memory that is pinned in another way, or the device's pool.
_OTHER_MEMORY = frozenset({"registered", "write_combined", "huge_pages", "pool"})
_BOTH_AT_ONCE = frozenset({"duplex_total"})
_COPY_TIMES = frozenset({"completion", "reciprocal_throughput"})
_DIRECTIONS = {"h2d": "H2D", "d2h": "D2H"}


@dataclass(frozen=True)
class Family:
    """
    What is judged together.

    Attributes:
        name: In words: "pinned copies of 1 MiB and more, H2D".
        unit: "B/s" or "s".
        clock: "device" if the GPU's clock timed it, "host" if the CPU's did, or if an emulated
            device's kernels ran on the CPU.
        staged: Whether its copies go through pageable host memory, whose speed depends on the pages
            that a process got and on what else uses the memory.
    """

    name: str
    unit: str
    clock: str
    staged: bool = False


@dataclass(frozen=True)
class _Rule:
    name: str
    holds: Callable[[Result], bool]


def family_of(result: Result, *, emulated: bool = False) -> Family | None:
    """
    Give the family in which a result is judged; None if it isn't judged.

    Only a result that was sampled, or should have been, belongs to one.

    Args:
        result: The result.
        emulated: Whether its device was emulated.
    """
    if result.unit not in {"B/s", "s"} or (result.median is not None and not result.stopped_by):
        return None
    for rule in _RULES:
        if rule.holds(result):
            by_cpu = emulated and (result.way == "sm" or result.suite == "overlap")
            clock = "host" if by_cpu else result.clock
            staged = result.way == "pageable"
            name = _name(rule, result, by_cpu=by_cpu)
            return Family(name=name, unit=result.unit, clock=clock, staged=staged)
    return None


def _name(rule: _Rule, result: Result, *, by_cpu: bool) -> str:
    """Name a family by what its results share; those of one rule that another clock times, too."""
    how = "by a kernel" if by_cpu and "kernel" not in rule.name else ""
    return ", ".join(filter(None, (rule.name, how, _DIRECTIONS.get(result.direction or ""))))


def _copies(*ways: str, least: int = 1, most: int = 1 << 62) -> Callable[[Result], bool]:
    def holds(result: Result) -> bool:
        copies = result.kind == Kind.MEMCPY and result.metric == "bandwidth"
        return copies and result.way in ways and least <= result.bytes <= most

    return holds


def _small_copies(metrics: frozenset[str], *, window: bool = False) -> Callable[[Result], bool]:
    def holds(result: Result) -> bool:
        small = result.kind == Kind.SMALL_COPY and result.metric in metrics
        return small and (result.way == "window") == window

    return holds


def _windows(*metrics: str) -> Callable[[Result], bool]:
    def holds(result: Result) -> bool:
        warm = result.cpu_cache == "warm" and result.cpu_node != "far"
        return result.kind == Kind.WINDOW and result.metric in metrics and warm

    return holds


def _both_at_once(result: Result) -> bool:
    return result.kind == Kind.BIDIRECTIONAL or result.metric in _BOTH_AT_ONCE


def _pipelines(result: Result) -> bool:
    return result.suite == "overlap" and result.metric == "together"


_RULES = (
    _Rule("pinned copies of 1 MiB and more", _copies("ce", least=_LARGE_BYTES)),
    _Rule("pinned copies below 1 MiB", _copies("ce", most=_LARGE_BYTES - 1)),
    _Rule("other memory", _copies(*_OTHER_MEMORY, least=_LARGE_BYTES)),
    _Rule("copies by a kernel", _copies("sm", least=_LARGE_BYTES)),
    _Rule("copies in both directions at once", _both_at_once),
    _Rule("pageable copies of 1 MiB and more", _copies("pageable", least=_LARGE_BYTES)),
    _Rule("small copies by the driver", _small_copies(_COPY_TIMES)),
    _Rule("small copies, GPU time", _small_copies(frozenset({"event_delta"}))),
    _Rule("small copies by a window", _small_copies(_COPY_TIMES, window=True)),
    _Rule("window writes", _windows("fenced")),
    _Rule("window reads", _windows("complete")),
    _Rule("window bandwidth", lambda result: result.kind == Kind.WINDOW_BANDWIDTH),
    _Rule("copies beside kernels", _pipelines),
)
