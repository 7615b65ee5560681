"""Whether a computation should go to the GPU: its own times, and those of the copies it needs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from isthmus.decide.advice.interval import NOTHING, Interval, total
from isthmus.decide.advice.machine import MachineCosts
from isthmus.decide.advice.question import MAX_BYTES, MAX_USES, Question
from isthmus.decide.advice.sentence import time_text
from isthmus.decide.advice.ways import NotPossible, cheapest_copy, copy_by
from isthmus.decide.profile.model import Path, Profile
from isthmus.errors import UsageError
from isthmus.ground.sizes import format_size

# Break-even sizes are searched in so many steps for each power of two.
_STEPS = 16
# What both directions at once cost each: 54.8 GB/s alone, 46.4 together, in 256 MiB from pinned
# memory in benchmarks/link/h100/run.json.
_BOTH_AT_ONCE = 1.18
# A time outside is a mistake: a cycle takes 3e-10 s, and a year has 3e7 s.
_MIN_SECONDS, _MAX_SECONDS = 1e-12, 1e9


class Transport(StrEnum):
    """How data crosses for a computation on the GPU. Buffers exist, and are used again."""

    PAGEABLE = "cudaMemcpy, pageable memory"
    STAGED = "isthmus.copy, pageable memory, staged"
    WINDOW = "isthmus.copy, through a window"
    PINNED = "cudaMemcpy, pinned memory"
    OVERLAPPED = "pinned memory, copies beside kernels"


@dataclass(frozen=True, kw_only=True)
class Computation:
    """
    A computation that the CPU and the GPU can both do.

    Attributes:
        up_bytes: What goes to the GPU each time; 0 if everything is there.
        down_bytes: What comes back each time.
        cpu_seconds: What the CPU takes each time.
        gpu_seconds: What the GPU takes each time, without copies.
        times: How often it is done.
        resident_bytes: What goes to the GPU once, before the first time, such as weights.
        cores: The cores that copies may use, with the caller's; None: all.
    """

    up_bytes: int
    down_bytes: int
    cpu_seconds: float
    gpu_seconds: float
    times: int = 1
    resident_bytes: int = 0
    cores: float | None = None

    def __post_init__(self) -> None:
        """Refuse what has no answer."""
        sizes = {"up": self.up_bytes, "down": self.down_bytes, "resident": self.resident_bytes}
        for name, size in sizes.items():
            if not 0 <= size <= MAX_BYTES:
                raise UsageError(
                    f"{size} bytes {name}", hint=f"a size is from 0 to {format_size(MAX_BYTES)}"
                )
        for name, seconds in (("CPU", self.cpu_seconds), ("GPU", self.gpu_seconds)):
            if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
                raise UsageError(
                    f"{seconds:g} seconds on the {name}",
                    hint=f"give a time from {_MIN_SECONDS:g} to {_MAX_SECONDS:g} s",
                )
        if not 0 < self.times <= MAX_USES:
            raise UsageError(f"{self.times} times", hint=f"1 to {MAX_USES} times")
        if self.cores is not None and not (isfinite(self.cores) and self.cores > 0):
            raise UsageError(f"{self.cores:g} cores", hint="more than 0 cores")

    def scaled(self, factor: float) -> "Computation":
        """Give the same computation on more or less data, if its time grows with its bytes."""
        return replace(
            self,
            up_bytes=_scaled(self.up_bytes, factor),
            down_bytes=_scaled(self.down_bytes, factor),
            cpu_seconds=_within(self.cpu_seconds * factor),
            gpu_seconds=_within(self.gpu_seconds * factor),
        )


def _scaled(size_bytes: int, factor: float) -> int:
    """Scale a size; what crosses at all has a byte at least."""
    return max(min(1, size_bytes), round(size_bytes * factor))


def _within(seconds: float) -> float:
    return min(max(seconds, _MIN_SECONDS), _MAX_SECONDS)


@dataclass(frozen=True, kw_only=True)
class OnGpu:
    """
    The computation on the GPU with one transport.

    Attributes:
        transport: How data crosses.
        before: What is done once: the copy of the resident bytes. In seconds.
        each: One time, with its copies.
        cost: Everything.
        extrapolated: Whether a size is beyond the profile's.
        pays_from_times: From how many times on the GPU takes less time; None: never.
        pays_from_factor: From which multiple of the bytes on it does, up to the largest copies that
            were measured or asked for, if both times grow with the bytes; None: it doesn't there,
            or no bytes cross.
    """

    transport: Transport
    before: Interval
    each: Interval
    cost: Interval
    extrapolated: bool
    pays_from_times: int | None
    pays_from_factor: float | None


@dataclass(frozen=True, kw_only=True)
class OffloadAdvice:
    """
    Whether a computation should go to the GPU.

    Attributes:
        computation: What was asked.
        profile: From which it is answered.
        cpu_seconds: All times on the CPU.
        ways: The GPU with each transport, the fastest first.
        refused: Transports that aren't possible, each with the reason.
        sentence: The answer in words.
    """

    computation: Computation
    profile: Profile
    cpu_seconds: float
    ways: Sequence[OnGpu]
    refused: Sequence[tuple[Transport, str]]
    sentence: str

    @property
    def gpu_pays(self) -> bool:
        """Whether the GPU takes less time."""
        return self.ways[0].cost.seconds < self.cpu_seconds

    def __str__(self) -> str:
        """Give the answer in words."""
        return self.sentence


def offload_advice(computation: Computation, profile: Profile) -> OffloadAdvice:
    """Say whether a computation should go to the GPU, and from which size and how many times on."""
    costs = MachineCosts(profile, computation.cores)
    ways, refused = [], []
    for transport in Transport:
        try:
            ways.append(_on_gpu(computation, costs, transport))
        except NotPossible as reason:
            refused.append((transport, str(reason)))
    if not ways:
        reasons = "; ".join(f"{transport}: {why}" for transport, why in refused)
        raise UsageError(f"no transport is possible: {reasons}", hint="ask without --cores")
    ways.sort(key=lambda way: way.cost.seconds)
    cpu_seconds = computation.cpu_seconds * computation.times
    return OffloadAdvice(
        computation=computation,
        profile=profile,
        cpu_seconds=cpu_seconds,
        ways=ways,
        refused=refused,
        sentence=_sentence(computation, ways, cpu_seconds),
    )


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """One time on the GPU: its copies and its work, and what comes before."""

    before: Interval
    slower: Interval
    """What the longer copy takes more while the other one runs."""
    up: Interval
    work: Interval
    down: Interval


def _on_gpu(computation: Computation, costs: MachineCosts, transport: Transport) -> OnGpu:
    steps = _steps(computation, costs, transport)
    each = _each(steps, transport)
    gain = computation.cpu_seconds - each.seconds
    return OnGpu(
        transport=transport,
        before=steps.before,
        each=each,
        cost=_all(steps, transport, computation.times),
        extrapolated=_is_extrapolated(computation, costs, transport),
        pays_from_times=_times(computation, steps, transport) if gain > 0 else None,
        pays_from_factor=_factor(computation, costs, transport),
    )


def _each(steps: _Steps, transport: Transport) -> Interval:
    parts = (steps.up, steps.work, steps.down)
    if transport == Transport.OVERLAPPED:
        copies = total([max(steps.up, steps.down), steps.slower])
        return max(copies, steps.work)
    return total(parts)


def _all(steps: _Steps, transport: Transport, times: int) -> Interval:
    """Add everything; copies that overlap add only the longest step after the first time."""
    each = _each(steps, transport)
    if transport == Transport.OVERLAPPED:
        return total([steps.before, steps.up, steps.work, steps.down, each.times(times - 1)])
    return total([steps.before, each.times(times)])


def _times(computation: Computation, steps: _Steps, transport: Transport) -> int | None:
    """Divide what is spent once by what each time gains."""
    each = _each(steps, transport).seconds
    once = _all(steps, transport, 1).seconds - each
    needed = max(1, math.floor(once / (computation.cpu_seconds - each)) + 1)
    return needed if needed <= MAX_USES else None


def _factor(computation: Computation, costs: MachineCosts, transport: Transport) -> float | None:
    """Find the smallest multiple of the bytes from which on the GPU takes less time."""
    largest = max(computation.up_bytes, computation.down_bytes)
    if largest == 0:
        return None

    def pays(factor: float) -> bool:
        scaled = computation.scaled(factor)
        try:
            steps = _steps(scaled, costs, transport)
        except NotPossible:
            return False
        cost = _all(steps, transport, scaled.times).seconds
        return cost < scaled.cpu_seconds * scaled.times

    # From a byte to the largest copy that was measured.
    lowest = -math.ceil(math.log2(largest) * _STEPS)
    highest = max(0, math.floor(math.log2(_reach(costs, transport) / largest) * _STEPS))
    factors: list[float] = [2.0 ** (step / _STEPS) for step in range(lowest, highest + 1)]
    paying = [pays(factor) for factor in factors]
    if not paying[-1]:
        return None
    losses = [place for place, pay in enumerate(paying) if not pay]
    return factors[losses[-1] + 1 if losses else 0]


def _reach(costs: MachineCosts, transport: Transport) -> int:
    """Give the largest copies that were measured in both directions; 1 if there are none."""
    path, host = _PATHS[transport]
    return max(1, min(costs.measured_to(path, direction, host) for direction in ("h2d", "d2h")))


def _is_extrapolated(computation: Computation, costs: MachineCosts, transport: Transport) -> bool:
    _, host = _PATHS[transport]
    driver = costs.measured_to(Path.DRIVER, "h2d", host)
    crossing = max(computation.up_bytes, computation.down_bytes)
    return computation.resident_bytes > driver or crossing > _reach(costs, transport)


def _steps(computation: Computation, costs: MachineCosts, transport: Transport) -> _Steps:
    path, host = _PATHS[transport]
    work, resident = computation.gpu_seconds, computation.resident_bytes
    # What goes up once takes isthmus.copy's cheapest path, or cudaMemcpy, as the row says.
    once = path if path == Path.DRIVER else None
    both = min(computation.up_bytes, computation.down_bytes)
    least, most = (
        _crossing(computation, costs, "d2h", size, path, host).seconds
        for size in (min(1, both), both)
    )
    slower = (_BOTH_AT_ONCE - 1) * (most - least)  # of what bytes take, not of the calls
    return _Steps(
        before=_crossing(computation, costs, "h2d", resident, once, host),
        slower=Interval(slower, slower, slower),
        up=_crossing(computation, costs, "h2d", computation.up_bytes, path, host),
        work=Interval(work, work, work),
        down=_crossing(computation, costs, "d2h", computation.down_bytes, path, host),
    )


def _crossing(
    computation: Computation,
    costs: MachineCosts,
    direction: str,
    size_bytes: int,
    path: Path | None,
    host: str,
) -> Interval:
    """Predict a copy by a path, or by the cheapest one."""
    if size_bytes == 0:
        return NOTHING
    if path == Path.STAGED and size_bytes < (costs.measured_from(path, direction, host) or 0):
        path = Path.DRIVER  # copies that are too short to be staged
    if path == Path.WINDOW and size_bytes > (reach := costs.measured_to(path, direction, host)):
        raise NotPossible(f"copies through windows were measured up to {format_size(reach)}")
    asked = Question(size_bytes=size_bytes, cores=computation.cores)
    if path is None:
        return cheapest_copy(asked, costs, direction, host, size_bytes).once
    found = copy_by(asked, costs, path, direction, host, size_bytes)
    if found is None:
        raise NotPossible("the profile has no such copies, or none by so few cores")
    return found.once


_PATHS: Mapping[Transport, tuple[Path, str]] = {
    Transport.PAGEABLE: (Path.DRIVER, "pageable"),
    Transport.STAGED: (Path.STAGED, "pageable"),
    Transport.WINDOW: (Path.WINDOW, "pageable"),
    Transport.PINNED: (Path.DRIVER, "pinned"),
    Transport.OVERLAPPED: (Path.DRIVER, "pinned"),
}


def _sentence(computation: Computation, ways: Sequence[OnGpu], cpu_seconds: float) -> str:
    best = ways[0]
    often = "once" if computation.times == 1 else f"{computation.times} times"
    gpu, cpu = time_text(best.cost.seconds), time_text(cpu_seconds)
    if best.cost.seconds < cpu_seconds:
        gain = cpu_seconds / best.cost.seconds
        return (
            f"Use the GPU: {gpu} with {best.transport}, {often}, copies included; "
            f"the CPU takes {cpu}, {gain:.3g} times as long."
        )
    said = f"Stay on the CPU: {cpu}, {often}; the GPU takes {gpu}, copies included."
    repeated = [(way.pays_from_times, way) for way in ways if way.pays_from_times is not None]
    if not repeated:
        return f"{said} Repeating it changes nothing."
    times, way = min(repeated, key=lambda one: one[0])
    return f"{said} It pays from {times} times on ({way.transport})."


def scaled_size(computation: Computation, factor: float) -> int:
    """Give the bytes that cross each time at a multiple of the computation."""
    scaled = computation.scaled(factor)
    return scaled.up_bytes + scaled.down_bytes
