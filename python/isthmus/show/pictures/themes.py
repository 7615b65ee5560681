"""What each picture of a run shows, how it is divided into panels, and the words for its curves."""

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.ground.sizes import format_size
from isthmus.measure.run.naming import Kind
from isthmus.measure.run.programs import UNIT, USUAL_UNIT_BYTES, WAY
from isthmus.measure.run.result import Result
from isthmus.show.tables.host import STORES
from isthmus.show.tables.labels import direction_of

Word = Callable[[Result], str]
_MEMORIES = {
    "ce": "pinned",
    "pageable": "pageable",
    "registered": "registered",
    "write_combined": "write-combined",
    "huge_pages": "huge pages",
    "pool": "device pool",
    "sm": "mapped, by a kernel",
}
_SHAPES = {
    "streams": "one copy shared by streams",
    "2d": "2-D copies",
    "3d": "3-D copies",
    "array": "CUDA arrays",
    "contents": "contents",
    "offset": "offsets",
}
_SMALL_WAYS = {"sm": "by a kernel", "window": "through a window"}
_PROGRAM_WAYS = {
    "ideal": "data on the GPU before",
    "copies": "copies alone, no kernels",
    "programmer": "the program's copies",
    "managed": "managed memory",
    "managed_hints": "managed, prefetched",
    "managed_batches": "managed, by batches",
    "zero_copy": "pinned memory in place",
    "whole_page": "paged: whole pages",
    "single_range": "paged: one range",
    "ranges": "paged: ranges",
    "units": "paged: units",
    "tree": "paged: tree",
    "adaptive": "paged: adaptive",
    "read_through": "paged, nothing held",
    "promised": "paged: units, promised",
    "prefetched": "paged: prefetched, promised",
    "prefetched_first": "paged: prefetched before, promised",
}
_METRICS = {
    "api_return": "until the call returns",
    "completion": "until complete",
    "event_delta": "between GPU events",
    "event_floor": "between GPU events, nothing copied",
    "reciprocal_throughput": "back to back, each",
    "visible": "until the other side reads it",
    "duplex_total": "both together",
    "duplex_h2d": "H2D of both",
    "duplex_d2h": "D2H of both",
    "copy_alone": "copies alone",
    "compute_alone": "kernels alone",
    "together": "copies and kernels",
    "memcpy_pinned": "cudaMemcpy, pinned",
    "memcpy_pageable": "cudaMemcpy, pageable",
    "memcpy_4_bytes": "cudaMemcpy of 4 B",
    "launched": "push by a launched kernel",
    "asked": "push by a running kernel",
    "allocate": "allocate",
    "free": "free",
    "pair": "allocate and free, back to back",
    "allocate_live": "allocate, several alive",
    "free_live": "free, several alive",
    "allocate_return": "allocate, until the call returns",
    "free_return": "free, until the call returns",
    "life_upload": "upload",
    "life_download": "download",
    "life_one_way": "allocate, upload, free",
    "life_both_ways": "allocate, upload, download, free",
    "alone": "alone",
    "aggregate": "all together",
}
_ALLOCATIONS = {
    "cuda_malloc": "cudaMalloc",
    "cuda_malloc_host": "cudaMallocHost",
    "cuda_host_alloc_write_combined": "cudaHostAlloc, write-combined",
    "cuda_host_register": "cudaHostRegister",
    "cuda_malloc_pitch": "cudaMallocPitch",
    "cuda_malloc_array": "cudaMallocArray",
    "cuda_malloc_3d": "cudaMalloc3D",
    "cuda_malloc_3d_array": "cudaMalloc3DArray",
    "cuda_malloc_managed": "cudaMallocManaged",
    "cuda_malloc_async": "cudaMallocAsync",
    "cuda_malloc_async_kept": "cudaMallocAsync, pool keeps",
    "cu_mem_create": "cuMemCreate",
}
_EXPERIMENTS = {
    "kernel_then_copy_cpu_clock": "a kernel, then a download: CPU clock",
    "kernel_then_copy_gpu_clock": "a kernel, then a download: GPU clock",
    "copy_kernel_copy": "copy, kernel, copy: only the copies",
}
_DEVICE_MEMORIES = frozenset({"device", "pool", "managed"})
# These follow from the size, or are the same in all of a test.
_SILENT = frozenset({"live", "iterations", "memory", "rows", "slices", "row_bytes", "pieces"})


@dataclass(frozen=True, kw_only=True)
class Theme:
    """
    One picture.

    Attributes:
        spread: Whether minimum and maximum are drawn, because they are what is asked.
        reference: The label of the curve to which the others are compared in further panels,
            because they lie close to each other; None for none.
    """

    name: str
    title: str
    panel: Word
    label: Word
    spread: bool = False
    reference: str | None = None


def theme_of(result: Result) -> Theme:
    """Choose the picture of a sampled time or rate."""
    return _BY_KIND.get(result.kind, _of_suite)(result)


def _of_suite(result: Result) -> Theme:
    if result.test in _EXPERIMENTS:
        return _EXPERIMENT
    if result.test == "duplex_memcpy_ce":
        return _BOTH_WAYS
    if result.test == "host_memory_life":
        return _LIVES
    if result.suite in {"multi", "numa"}:
        return _GPUS if result.suite == "multi" else _NODES
    return Theme(
        name=(result.suite or "all").replace("_", "-"),
        title=_SUITES.get(result.suite, result.suite.capitalize()),
        panel=lambda found: _plain(found.test),
        label=lambda found: _joined(_metric(found), *_circumstances(found)),
    )


def _copies(result: Result) -> Theme:
    return _MEMORY if result.way in _MEMORIES else _SHAPE


def _small(result: Result) -> Theme:
    cold = result.cpu_cache == "cold"
    where = "bytes not in the CPU's caches" if cold else ""
    ending = "-cold" if cold else ""
    return Theme(
        name=f"latency-{result.direction}{ending}",
        title=_joined(f"Small copies, {direction_of(result)}", where),
        panel=_metric,
        label=lambda found: _SMALL_WAYS.get(found.way, found.way),
    )


def _program(result: Result) -> Theme:
    usual = int(result.axes.get(UNIT, USUAL_UNIT_BYTES)) == USUAL_UNIT_BYTES
    return _PROGRAMS if usual else _PROGRAM_UNITS


def _alloc(result: Result) -> Theme:
    return _DEVICE_ALLOC if result.target in _DEVICE_MEMORIES else _HOST_ALLOC


def _metric(result: Result) -> str:
    if result.metric == "bandwidth":
        return ""
    return _METRICS.get(result.metric, _plain(result.metric))


def _circumstances(result: Result) -> list[str]:
    axes = {name: value for name, value in result.axes.items() if name not in _SILENT}
    words = result.model_copy(update={"axes": axes}).variation
    return [words] if words else []


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))


def _shape_panel(result: Result) -> str:
    # Offsets are compared at one size: curves over sizes would all be the same.
    size = format_size(result.bytes) if result.way == "offset" else ""
    return _joined(_SHAPES.get(result.way, _plain(result.way)), size)


def _shape_label(result: Result) -> str:
    axes = result.axes
    if "row_bytes" in axes:
        numbers = [str(axes[name]) for name in ("rows", "slices") if name in axes]
        shape = " x ".join([format_size(int(axes["row_bytes"])), *numbers])
        return _joined(direction_of(result), f"rows of {shape}" if not numbers else shape)
    return _joined(direction_of(result), *_circumstances(result))


def _piece_words(result: Result) -> str:
    return f"{direction_of(result)}, {_metric(result)}"


def _gpu_words(result: Result) -> str:
    axes = {name: str(value) for name, value in result.axes.items()}
    who = f"GPU {axes['gpu']}" if "gpu" in axes else "all GPUs"
    whom = f"with GPU {axes['peer']}" if "peer" in axes else ""
    loaded = result.metric == "bandwidth" and "_all_" in result.test + "_"
    how = "while all copy" if loaded and not whom else _metric(result)
    return _joined(" ".join(filter(None, (who, whom))), how)


def _node_words(result: Result) -> str:
    return f"node {result.axes.get('node')}, GPU {result.axes.get('gpu')}"


def _by_whom(result: Result) -> str:
    words = _plain(result.test).removeprefix("numa ").replace(" memcpy", "")
    engine = words.removesuffix(" ce").removesuffix(" sm")
    by = {"ce": ", by copy engine", "sm": ", by a kernel"}.get(words[-2:], "")
    return f"{engine}{by}"


def _allocation_words(result: Result) -> str:
    name = _ALLOCATIONS.get(result.way, _plain(result.way))
    return _joined(name, *_circumstances(result))


def _program_way(result: Result) -> str:
    way = str(result.axes.get(WAY, ""))
    return _PROGRAM_WAYS.get(way, _plain(way))


def _unit_words(result: Result) -> str:
    return f"{_program_way(result)} of {format_size(int(result.axes[UNIT]))}"


def _memory_of(result: Result) -> str:
    return _plain(str(result.axes.get("memory", "")))


_SUITES = {
    "overlap": "Copies beside kernels",
    "latency": "Access to host memory",
}
_MEMORY = Theme(
    name="bandwidth",
    title="Bandwidth by kind of memory",
    panel=direction_of,
    label=lambda found: _joined(_MEMORIES[found.way], *_circumstances(found)),
    reference="pinned",
)
_SHAPE = Theme(
    name="bandwidth-shapes",
    title="Bandwidth of other kinds of copies",
    panel=_shape_panel,
    label=_shape_label,
)
_MANAGED = Theme(
    name="bandwidth-managed",
    title="Bandwidth of managed memory",
    panel=direction_of,
    label=lambda found: _plain(found.way),
)
_BOTH_WAYS = Theme(
    name="bandwidth-both-ways",
    title="Bandwidth of copies in both directions at once",
    panel=lambda found: "while twice as many run the other way" if found.direction else "together",
    label=lambda found: _joined(
        _metric(found), direction_of(found), "by a kernel" if found.way == "sm" else ""
    ),
)
_MANY = Theme(
    name="bandwidth-many-copies",
    title="Many copies",
    panel=_piece_words,
    label=lambda found: _joined(found.way, f"{found.axes.get('pieces', 'several')} pieces"),
)
_EXPERIMENT = Theme(
    name="latency-experiments",
    title="Small copies in experiments, each iteration",
    panel=lambda found: _EXPERIMENTS[found.test],
    label=lambda found: _METRICS.get(found.metric, _plain(found.metric)),
)
_PINNED_VS_PAGEABLE = Theme(
    name="pinned-vs-pageable",
    title="Pinned against pageable host memory, allocated anew between copies",
    panel=direction_of,
    label=_memory_of,
    spread=True,
)
_WINDOW = Theme(
    name="windows",
    title="Windows beside cudaMemcpy",
    panel=lambda found: _joined(_plain(found.way), "cold" if found.cpu_cache == "cold" else ""),
    label=lambda found: _joined(
        "" if found.way == "ping_pong" else _metric(found),
        f"{found.source} to {found.target} flag" if found.way == "ping_pong" else "",
        *(word for word in _circumstances(found) if word != "cold"),
    ),
)
_WINDOW_RATES = Theme(
    name="windows-bandwidth",
    title="Bandwidth of windows",
    panel=lambda found: found.way,
    label=lambda found: _joined(*_circumstances(found)) or "1 thread",
)
_HOST = Theme(
    name="host",
    title="Copies within host memory",
    panel=lambda found: "node to node" if found.way == "node_to_node" else "by one core and by all",
    label=lambda found: _joined(STORES.get(found.way, ""), *_circumstances(found)),
)
_HOST_ALLOC = Theme(
    name="alloc-host-memory",
    title="The cost of host memory",
    panel=_metric,
    label=_allocation_words,
)
_DEVICE_ALLOC = Theme(
    name="alloc-device-memory",
    title="The cost of device memory",
    panel=_metric,
    label=_allocation_words,
)
_GPUS = Theme(name="multi", title="Several GPUs", panel=_by_whom, label=_gpu_words)
_NODES = Theme(name="numa", title="Each CPU node with each GPU", panel=_by_whom, label=_node_words)
_LIVES = Theme(
    name="alloc-lives",
    title="Host memory from allocation to freeing, copied in between",
    panel=_metric,
    label=_memory_of,
)
_PROGRAMS = Theme(
    name="paging",
    title="Programs, by units of 1 KiB",
    panel=lambda found: found.way,
    label=_program_way,
)
_PROGRAM_UNITS = Theme(
    name="paging-units",
    title="Programs, by other units",
    panel=lambda found: found.way,
    label=_unit_words,
)
_BY_KIND: dict[Kind | None, Callable[[Result], Theme]] = {
    Kind.MEMCPY: _copies,
    Kind.SMALL_COPY: _small,
    Kind.MANAGED: lambda _: _MANAGED,
    Kind.BIDIRECTIONAL: lambda _: _BOTH_WAYS,
    Kind.MANY_COPIES: lambda _: _MANY,
    Kind.PINNED_VS_PAGEABLE: lambda _: _PINNED_VS_PAGEABLE,
    Kind.WINDOW: lambda _: _WINDOW,
    Kind.WINDOW_BANDWIDTH: lambda _: _WINDOW_RATES,
    Kind.HOST_MEMCPY: lambda _: _HOST,
    Kind.ALLOC: _alloc,
    Kind.PAGING: _program,
}
