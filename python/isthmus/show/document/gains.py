"""What a program can change, and what each change would gain, by this run's own results."""

from collections.abc import Iterable

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind, directed_name
from isthmus.show.document.lookup import (
    DIRECTIONS,
    bandwidths,
    best,
    improvement,
    largest_common,
    passed,
)
from isthmus.show.document.parts import Gain, Pair
from isthmus.show.quantities import readable

# Smaller changes are within what differs from run to run.
_WORTH = 1.1
_USUAL_BYTES = 4
_MANY_WAYS = {
    "batch": "in one batch",
    "graph": "in one graph",
    "kernel": "in one kernel",
    "packed": "packed into one copy",
}
_LIFE = "allocating and freeing {}"
_PINNED = {
    "pinned": "pinned memory",
    "registered": "registered memory",
    "huge_pinned": "pinned huge pages",
}


def gains_of(run: Run) -> tuple[Gain, ...]:
    """List the changes that bring more than 10 % somewhere; the largest gain first."""
    found = (
        _pin(run),
        _window(run),
        _many(run),
        _fresh(run),
        _pin_faster(run),
        _overlap(run),
        _both_ways(run),
        _managed(run),
        _near(run),
    )
    kept = [gain for gain in found if gain is not None and gain.factor >= _WORTH]
    return tuple(sorted(kept, key=lambda gain: -gain.factor))


def _pin(run: Run) -> Gain | None:
    cases = []
    for direction, noun in DIRECTIONS.items():
        pageable, pinned = (bandwidths(run, direction, way) for way in ("pageable", "ce"))
        size = largest_common(pageable, pinned)
        if size is not None:
            cases.append((f"{noun} of {format_size(size)}", pageable[size], pinned[size]))
    how = (
        "Use `isthmus.pinned.empty`, `cudaHostAlloc`, or `pin_memory()` in PyTorch. `isthmus.copy` "
        "copies other memory through pinned memory, with several threads"
    )
    return _gain("Pin the memory that is copied", how, cases, "bandwidth")


def _window(run: Run) -> Gain | None:
    cases = []
    for direction, noun in DIRECTIONS.items():
        blocking, window = (
            passed(run, directed_name(direction, Kind.SMALL_COPY, way), "completion")
            for way in ("blocking", "window")
        )
        size = _USUAL_BYTES if _USUAL_BYTES in blocking.keys() & window.keys() else None
        if size is not None:
            case = f"{noun} of {format_size(size)}, until complete"
            cases.append((case, blocking[size], window[size]))
    how = "Use `isthmus.window`, or `isthmus.copy`, which makes small copies through windows"
    return _gain("Copy a few bytes through a window", how, cases, "window")


def _many(run: Run) -> Gain | None:
    cases = []
    for direction, noun in DIRECTIONS.items():
        pairs = _many_pairs(run, direction)
        pair = max(pairs, key=lambda pair: improvement(*pair) or 0.0, default=None)
        if pair is not None:
            pieces = int(pair[0].axes["pieces"])
            each = format_size(pair[0].bytes // pieces)
            way = f"{_MANY_WAYS[pair[1].way]} instead of one by one"
            cases.append((f"{noun} of {pieces} pieces of {each}, {way}", *pair))
    how = "Call `isthmus.copy` once with a list of arrays, instead of once for each array"
    return _gain("Batch small copies into one call", how, cases, "latency")


def _many_pairs(run: Run, direction: str) -> list[tuple[Result, Result]]:
    """Pair a loop over copies with the best other way to make the same copies."""
    name = directed_name(direction, Kind.MANY_COPIES)
    alone = [r for r in run.results if r.test == f"{name}_loop"]
    pieces = {r.axes["pieces"] for r in alone if "pieces" in r.axes}
    pairs = []
    for number in sorted(pieces, key=int):
        axes = {"pieces": number}
        loops = passed(run, f"{name}_loop", "completion", axes=axes)
        others = [passed(run, f"{name}_{way}", "completion", axes=axes) for way in _MANY_WAYS]
        for size, loop in loops.items():
            other = best(found[size] for found in others if size in found)
            pairs += [(loop, other)] if other else []
    return pairs


def _fresh(run: Run) -> Gain | None:
    """Compare whole lives of memory: pageable, and the best other kind."""
    cases = []
    for metric, case in (
        ("life_one_way", "allocating, uploading and freeing"),
        ("life_both_ways", "allocating, uploading, downloading and freeing"),
    ):
        pageable = passed(run, "host_memory_life", metric, axes={"memory": "pageable"})
        others = [
            passed(run, "host_memory_life", metric, axes={"memory": memory}) for memory in _PINNED
        ]
        size = max(pageable, default=None)
        other = best(found[size] for found in others if size in found) if size else None
        if size is not None and other is not None:
            memory = _PINNED[str(other.axes["memory"])]
            cases.append((f"{case} {format_size(size)} in {memory}", pageable[size], other))
    how = (
        "Use `isthmus.pinned.empty`, which pins huge pages and keeps them for the next allocation. "
        "The chapter on break-even says from which size other memory costs less"
    )
    return _gain("Pin even memory that is used once", how, cases, "break-even")


def _pin_faster(run: Run) -> Gain | None:
    usual, ours = (_allocate_and_free(run, way) for way in ("cuda_malloc_host", "isthmus_pinned"))
    size = largest_common(usual, ours)
    cases = [] if size is None else [(_LIFE.format(format_size(size)), usual[size], ours[size])]
    how = "Use `isthmus.pinned.empty` instead of `cudaMallocHost`; it reuses pinned memory"
    return _gain("Pin huge pages, and reuse pinned memory", how, cases, "allocation")


def _allocate_and_free(run: Run, way: str) -> dict[int, Result]:
    """Add up both times by size: a program pays for both, and one may be dearer for the other."""
    allocate, free = (passed(run, f"alloc_{way}", metric) for metric in ("allocate", "free"))
    sums = {
        size: (one.median or 0.0) + (free[size].median or 0.0)
        for size, one in allocate.items()
        if size in free
    }
    return {size: allocate[size].model_copy(update={"median": sums[size]}) for size in sums}


def _overlap(run: Run) -> Gain | None:
    cases = []
    for direction, noun in DIRECTIONS.items():
        name = directed_name(direction, Kind.OVERLAP, "double_buffering")
        found = [r for r in run.results if (r.test, r.metric) == (name, "together")]
        whole = [r for r in found if str(r.axes.get("chunks")) == "1" and r.median]
        shared = best(r for r in found if str(r.axes.get("chunks")) != "1")
        if whole and shared is not None:
            case = f"{noun} of {format_size(whole[0].bytes)} and its kernels"
            cases.append((f"{case}, in {shared.axes['chunks']} parts", whole[0], shared))
    how = "Use two buffers and two streams, or `isthmus.torch.prefetch` for batches in PyTorch"
    return _gain("Copy one part while the GPU computes on another", how, cases, "overlap")


def _both_ways(run: Run) -> Gain | None:
    both, alone = passed(run, "duplex_memcpy_ce", "duplex_total"), bandwidths(run, "h2d", "ce")
    size = largest_common(both, alone)
    cases = [] if size is None else [(f"copies of {format_size(size)}", alone[size], both[size])]
    how = "Use one stream for each direction, and pinned memory for both"
    return _gain("Upload and download at the same time", how, cases, "bandwidth")


def _managed(run: Run) -> Gain | None:
    cases = []
    for direction, noun in DIRECTIONS.items():
        demand, prefetched = (
            passed(run, directed_name(direction, Kind.MANAGED, way), "bandwidth")
            for way in ("demand", "prefetched")
        )
        size = largest_common(demand, prefetched)
        if size is not None:
            cases.append((f"{noun} of {format_size(size)}", demand[size], prefetched[size]))
    how = "Call `cudaMemPrefetchAsync` before the first use"
    return _gain("Prefetch managed memory", how, cases, "bandwidth")


def _near(run: Run) -> Gain | None:
    """Compare the GPU's own CPU node with the slowest other one."""
    gpu, near = str(run.machine.device.ordinal), run.machine.device.numa_node
    cases = []
    for direction, noun in DIRECTIONS.items():
        name = f"numa_{directed_name(direction, Kind.MEMCPY, 'ce')}"
        of_node = {
            str(r.axes.get("node")): r
            for r in run.results
            if r.test == name and str(r.axes.get("gpu")) == gpu and r.median
        }
        own = of_node.pop(str(near), None)
        if own is not None and of_node:
            far = min(of_node.values(), key=lambda result: result.median or 0.0)
            cases.append((f"{noun} of {format_size(own.bytes)}", far, own))
    how = f"Use `numactl --cpunodebind={near} --membind={near}` for programs with this GPU"
    return _gain("Keep thread and memory on the GPU's NUMA node", how, cases, "numa")


def _gain(
    change: str, how: str, cases: Iterable[tuple[str, Result, Result]], chapter: str
) -> Gain | None:
    pairs = tuple(
        Pair(
            case=case,
            before=readable(before.median or 0.0, before.unit),
            after=readable(after.median or 0.0, after.unit),
            factor=factor,
        )
        for case, before, after in cases
        if (factor := improvement(before, after)) is not None
    )
    return Gain(change=change, how=how, pairs=pairs, chapter=chapter) if pairs else None
