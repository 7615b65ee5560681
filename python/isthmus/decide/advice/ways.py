"""The ways to give a buffer to a GPU, and what each costs for one question."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from isthmus.decide.advice.interval import NOTHING, Interval, total
from isthmus.decide.advice.machine import MachineCosts
from isthmus.decide.advice.question import MAX_BYTES, Buffer, Direction, Question
from isthmus.decide.profile.model import MemoryKind, Path
from isthmus.decide.profile.plan import MARGINS, cheapest
from isthmus.ground.life import Life
from isthmus.ground.sizes import format_size


class Name(StrEnum):
    """A way, by what a program calls."""

    PAGEABLE = "malloc, cudaMemcpy"
    PINNED = "cudaMallocHost, cudaMemcpy"
    REGISTERED = "malloc, cudaHostRegister, cudaMemcpy"
    ISTHMUS = "malloc, isthmus.copy"
    NEW_PINNED = "isthmus.pinned (new), isthmus.copy"
    POOL = "isthmus.pinned (pool), isthmus.copy"
    KEPT_PAGEABLE = "cudaMemcpy as it is"
    KEPT_REGISTERED = "cudaHostRegister, cudaMemcpy"
    KEPT_ISTHMUS = "isthmus.copy as it is"


# What copies take beyond a profile's turns; source: five runs of benchmarks/advice on H200.
# Copies by several threads, with memory that isn't a pool's, vary most: a quarter of them took 1.06
# to 1.4 of the predicted time and more, a quarter of the copies of a pool's memory 1.0 to 1.1.
_VARYING = 1.1
# Such an upload of what the driver has just downloaded takes 1.2 to 1.5 of the time, because these
# cores' caches no longer have the bytes. A profile measures uploads of bytes that they have.
_AFTER_A_DOWNLOAD = 1.3


@dataclass(frozen=True, kw_only=True)
class Way:
    """
    What one way costs for a question.

    Attributes:
        name: The way.
        paths: How its bytes cross, by "h2d" and "d2h".
        prepare: Before the first use: allocate, pin. In seconds.
        copies: All copies.
        release: After the last use.
        cost: All of these.
        extrapolated: Whether a size is beyond the profile's.
    """

    name: Name
    paths: Mapping[str, Path]
    prepare: Interval
    copies: Interval
    release: Interval
    cost: Interval
    extrapolated: bool


class NotPossible(Exception):
    """Why a way doesn't serve a question."""


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """The copies in one direction: their path, one of them, and to which size it was measured."""

    path: Path
    once: Interval
    measured_to: int = 0


@dataclass(frozen=True, kw_only=True)
class _Memory:
    """The buffer."""

    allocate: Interval = NOTHING
    free: Interval = NOTHING
    measured_to: int = MAX_BYTES


def ways_of(question: Question, costs: MachineCosts) -> tuple[list[Way], list[tuple[Name, str]]]:
    """Work out every way for a question, the fastest first, and why others aren't possible."""
    found, refused = [], []
    for name, work_out in _WAYS[question.buffer].items():
        try:
            found.append(work_out(question, costs))
        except NotPossible as reason:
            refused.append((name, str(reason)))
    return sorted(found, key=lambda way: way.cost.seconds), refused


def _by_driver(
    name: Name, memory: MemoryKind | None, host: str
) -> Callable[[Question, MachineCosts], Way]:
    """Make a way whose copies are all the driver's."""

    def work_out(question: Question, costs: MachineCosts) -> Way:
        if question.asynchronous and host == "pageable":
            raise NotPossible("an asynchronous cudaMemcpy from pageable memory blocks its caller")
        crossings = {
            direction: _driver_copy(costs, direction, host, size)
            for direction, size in question.crossings.items()
        }
        way = _way(name, question, crossings, _memory(question, costs, memory))
        return _into_new_memory(question, costs, way) if memory == MemoryKind.PAGEABLE else way

    return work_out


def _by_isthmus(
    name: Name, memory: MemoryKind | None, host: str
) -> Callable[[Question, MachineCosts], Way]:
    """Make a way whose copies take the cheapest path."""

    def work_out(question: Question, costs: MachineCosts) -> Way:
        crossings = {
            direction: cheapest_copy(question, costs, direction, host, size)
            for direction, size in question.crossings.items()
        }
        crossings = _in_programs(name, crossings)
        way = _way(name, question, crossings, _memory(question, costs, memory))
        return _into_new_memory(question, costs, way) if memory == MemoryKind.PAGEABLE else way

    return work_out


def _memory(question: Question, costs: MachineCosts, memory: MemoryKind | None) -> _Memory:
    if memory is None:
        return _Memory()
    if memory not in costs.memories():
        raise NotPossible("such memory isn't available, or wasn't measured")
    if memory == MemoryKind.POOL and question.life == Life.FIRST_TIME:
        raise NotPossible("the first time, a pool has no memory yet")
    kinds = [memory]
    if memory == MemoryKind.REGISTERED and question.buffer == Buffer.NEW:
        kinds.append(MemoryKind.PAGEABLE)  # what is registered
    size, life = question.size_bytes, question.life
    for kind in kinds:
        if kind != MemoryKind.POOL and costs.is_one_point(kind) and size > costs.allocated_to(kind):
            only = format_size(costs.allocated_to(kind))
            raise NotPossible(f"{kind.replace('_', ' ')} memory was measured at {only} alone")
    return _Memory(
        allocate=total(costs.allocate(kind, size, life) for kind in kinds),
        free=total(costs.free(kind, size, life) for kind in kinds),
        # A block of a pool costs the same at every size.
        measured_to=min(
            MAX_BYTES if kind == MemoryKind.POOL else costs.allocated_to(kind) for kind in kinds
        ),
    )


def _driver_copy(costs: MachineCosts, direction: str, host: str, size_bytes: int) -> Crossing:
    once = costs.copy(Path.DRIVER, direction, host, size_bytes)
    if once is None:
        raise NotPossible(f"the driver's {direction.upper()} copies weren't measured")
    return Crossing(
        path=Path.DRIVER, once=once, measured_to=costs.measured_to(Path.DRIVER, direction, host)
    )


def cheapest_copy(
    question: Question, costs: MachineCosts, direction: str, host: str, size_bytes: int
) -> Crossing:
    """Choose as the native core does, by time and margin; windows are open already."""
    crossings = {
        path: crossing
        for path in MARGINS
        if (crossing := copy_by(question, costs, path, direction, host, size_bytes)) is not None
    }
    path = cheapest({path: one.once.seconds for path, one in crossings.items()}, direction)
    if path is None:
        raise NotPossible(_why_none(question, costs, direction, size_bytes))
    return crossings[path]


def _in_programs(name: Name, crossings: Mapping[str, Crossing]) -> dict[str, Crossing]:
    """Lengthen copies by several threads to what programs see."""
    factor = 1.0 if name == Name.POOL else _VARYING
    if "d2h" in crossings and crossings["d2h"].path == Path.DRIVER:
        factor *= _AFTER_A_DOWNLOAD
    return {
        way: replace(one, once=one.once.times(factor)) if one.path == Path.WINDOW_THREADS else one
        for way, one in crossings.items()
    }


def _why_none(question: Question, costs: MachineCosts, direction: str, size_bytes: int) -> str:
    """Say why an asynchronous copy of pageable memory has no path."""
    busy = "every path but staging keeps its caller busy"
    first = costs.measured_from(Path.STAGED, direction, "pageable")
    if first is None:
        return f"{busy}, and staging wasn't measured"
    if size_bytes < first:
        return f"{busy}, and copies below {format_size(first)} aren't staged"
    return f"{busy}, and staging by {question.cores or costs.cores:g} cores wasn't measured"


def copy_by(
    question: Question,
    costs: MachineCosts,
    path: Path,
    direction: str,
    host: str,
    size_bytes: int,
) -> Crossing | None:
    """Predict a copy by a path; None if it isn't possible, or wasn't measured."""
    once = costs.copy(path, direction, host, size_bytes)
    if once is None or not _allowed(question, costs, path, host):
        return None
    reach = costs.measured_to(path, direction, host)
    if path in {Path.WINDOW, Path.WINDOW_THREADS} and size_bytes > reach:
        return None
    if path == Path.STAGED:
        slowdown = costs.staging_slowdown(direction, question.cores)
        if slowdown is None:
            return None
        once = once.times(slowdown)
    return Crossing(path=path, once=once, measured_to=reach)


def _allowed(question: Question, costs: MachineCosts, path: Path, host: str) -> bool:
    if path == Path.WINDOW_THREADS and question.cores is not None:
        return question.cores >= costs.cores and not question.asynchronous
    if not question.asynchronous:
        return True
    # The caller itself makes copies through windows, and waits in cudaMemcpy of pageable memory.
    return path == Path.STAGED or (path == Path.DRIVER and host == "pinned")


def _into_new_memory(question: Question, costs: MachineCosts, way: Way) -> Way:
    """Correct a download into new memory: its pages are touched by the copy, not before it."""
    if question.direction != Direction.FROM_DEVICE:
        return way
    path = way.paths["d2h"]
    first = costs.new_download(path, question.size_bytes, question.life)
    slowdown = costs.staging_slowdown("d2h", question.cores) if path == Path.STAGED else 1.0
    if first is None or slowdown is None:
        return way
    others = way.copies.times((question.uses - 1) / question.uses)
    copies = total([first.times(slowdown), others])
    return replace(way, prepare=NOTHING, copies=copies, release=NOTHING, cost=copies)


def _way(name: Name, question: Question, crossings: Mapping[str, Crossing], memory: _Memory) -> Way:
    copies = total(crossing.once.times(question.uses) for crossing in crossings.values())
    reached = all(
        size <= crossings[direction].measured_to for direction, size in question.crossings.items()
    )
    return Way(
        name=name,
        paths={direction: crossing.path for direction, crossing in crossings.items()},
        prepare=memory.allocate,
        copies=copies,
        release=memory.free,
        cost=total([memory.allocate, copies, memory.free]),
        extrapolated=not reached or question.size_bytes > memory.measured_to,
    )


_WAYS: Mapping[Buffer, Mapping[Name, Callable[[Question, MachineCosts], Way]]] = {
    Buffer.NEW: {
        Name.PAGEABLE: _by_driver(Name.PAGEABLE, MemoryKind.PAGEABLE, "pageable"),
        Name.PINNED: _by_driver(Name.PINNED, MemoryKind.PINNED, "pinned"),
        Name.REGISTERED: _by_driver(Name.REGISTERED, MemoryKind.REGISTERED, "pinned"),
        Name.ISTHMUS: _by_isthmus(Name.ISTHMUS, MemoryKind.PAGEABLE, "pageable"),
        Name.NEW_PINNED: _by_isthmus(Name.NEW_PINNED, MemoryKind.NEW_PINNED, "pinned"),
        Name.POOL: _by_isthmus(Name.POOL, MemoryKind.POOL, "pinned"),
    },
    Buffer.PAGEABLE: {
        Name.KEPT_PAGEABLE: _by_driver(Name.KEPT_PAGEABLE, None, "pageable"),
        Name.KEPT_REGISTERED: _by_driver(Name.KEPT_REGISTERED, MemoryKind.REGISTERED, "pinned"),
        Name.KEPT_ISTHMUS: _by_isthmus(Name.KEPT_ISTHMUS, None, "pageable"),
    },
    Buffer.PINNED: {
        Name.KEPT_PAGEABLE: _by_driver(Name.KEPT_PAGEABLE, None, "pinned"),
        Name.KEPT_ISTHMUS: _by_isthmus(Name.KEPT_ISTHMUS, None, "pinned"),
    },
}
