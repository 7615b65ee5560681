"""
Families of results that are judged together.

A family has one direction, one unit and one clock. Its results measure the same part of the
machine, so that a real change moves most of them. All other results that were sampled
(allocations, first calls, managed memory) are in families of what is left of a suite.
"""

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.measure.run.naming import Kind
from isthmus.measure.run.result import Result


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    One metric of one test at one size, in the same circumstances and measured the same way.

    Attributes:
        circumstances: Everything else that must be equal, name and value.
    """

    test: str
    metric: str
    size_bytes: int
    unit: str
    circumstances: tuple[tuple[str, str], ...]
    words: str


def subject_of(result: Result) -> Subject:
    """Name what a result measures."""
    fixed = {
        "source": result.source,
        "target": result.target,
        "direction": result.direction,
        "clock": result.clock,
        "blocked": result.blocked,
        "cpu_cache": result.cpu_cache,
        "num_threads": result.num_threads,
        "cpu_node": result.cpu_node,
        "data": result.data,
    }
    named = fixed | dict(result.axes)
    known = ((name, str(value)) for name, value in named.items() if value is not None)
    return Subject(
        test=result.test,
        metric=result.metric,
        size_bytes=result.bytes,
        unit=result.unit,
        circumstances=tuple(sorted(known)),
        words=result.variation,
    )


_LARGE_BYTES = 1 << 20
# A copy by the copy engine: host memory that is pinned in another way, or the device's pool.
_OTHER_MEMORY = frozenset({"registered", "write_combined", "huge_pages", "pool"})
_BOTH_AT_ONCE = frozenset({"duplex_total"})
_COPY_TIMES = frozenset({"completion", "reciprocal_throughput"})
_DIRECTIONS = {"h2d": "H2D", "d2h": "D2H"}
_CLOCKS = {"device": "the GPU's clock", "host": "the CPU's clock"}
_NUMBERS = {"B/s": "rates", "s": "times"}
_SPECIAL = {"api_return": "calls until they return", "lifecycle": "opening and closing of windows"}


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
        drift: Its row in the table of stated drifts; by default that of its clock.
    """

    name: str
    unit: str
    clock: str
    staged: bool = False
    drift: str = ""


@dataclass(frozen=True)
class _Rule:
    name: str
    holds: Callable[[Result], bool]


def family_of(result: Result, *, emulated: bool = False) -> Family | None:
    """
    Give the family of results that processes repeat well; None if there is none, or if the result
    wasn't to be sampled.
    """
    if not is_sampled(result):
        return None
    for rule in _RULES:
        if rule.holds(result):
            by_cpu = emulated and (result.way == "sm" or result.suite == "overlap")
            clock = "host" if by_cpu else result.clock
            staged = result.way == "pageable"
            drift = "staged" if staged else "pinned" if rule.name.startswith("pinned") else clock
            return Family(
                name=_name(rule, result, by_cpu=by_cpu),
                unit=result.unit,
                clock=clock,
                staged=staged,
                drift="emulated" if emulated and clock == "host" else drift,
            )
    return None


def any_family_of(result: Result, *, emulated: bool = False) -> Family | None:
    """
    Give the family in which a result is compared; None if it wasn't sampled as time or rate, or if
    an emulated device's CPU has disturbed it.
    """
    found = family_of(result, emulated=emulated)
    if found is not None or emulated or not is_sampled(result):
        return found
    special = _SPECIAL.get(result.metric) or _SPECIAL.get(result.way)
    rest = f"other {_NUMBERS[result.unit]} of {result.kind or result.suite}".replace("_", " ")
    wild = special or result.kind == Kind.PINNED_VS_PAGEABLE
    return Family(
        name=f"{special or rest}, by {_CLOCKS[result.clock]}",
        unit=result.unit,
        clock=result.clock,
        drift="wild" if wild else "host",
    )


def is_sampled(result: Result) -> bool:
    """Whether a result was sampled, or should have been, as time or rate; not derived."""
    derived = result.median is not None and not result.stopped_by
    return result.unit in _NUMBERS and not derived


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
    _Rule("small copies through a window", _small_copies(_COPY_TIMES, window=True)),
    _Rule("window writes", _windows("fenced")),
    _Rule("window reads", _windows("complete")),
    _Rule("window bandwidth", lambda result: result.kind == Kind.WINDOW_BANDWIDTH),
    _Rule("copies beside kernels", _pipelines),
)
