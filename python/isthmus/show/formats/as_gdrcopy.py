"""
A run in the formats of GDRCopy's tests: copylat, copybw, apiperf and pplat, from our windows.

Headings, columns and separators are GDRCopy's, so programs that read its output can read this one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from isthmus.errors import UsageError
from isthmus.ground.spelling import one_line
from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.heading import emulated_warning

_US_PER_S = 1e6
# copybw divides by 1024 twice. Source: https://github.com/NVIDIA/gdrcopy
_BYTES_PER_MB = 1 << 20
_TO, _FROM = "gdr_copy_to_mapping", "gdr_copy_from_mapping"
_LIFE = ("pin", "map", "get_info", "unmap", "unpin")
# `posted` is the API call alone; `fenced` includes the store fence.
_WARNING = (
    "WARNING: Measuring the API invocation overhead as observed by the CPU. Data might not be "
    "ordered all the way to the GPU internal visibility."
)
_PING_PONG = (
    "CPU writes to gpu_flag. GPU polls on the expected gpu_flag value. GPU writes back via "
    "cpu_flag. CPU polls on the expected cpu_flag value. We report the round-trip time from when "
    "CPU writes to gpu_flag until it observes the update in cpu_flag."
)


GDRCOPY_TESTS = frozenset(
    f"window_{name}"
    for name in ("write", "read", "bandwidth_write", "bandwidth_read", "lifecycle", "ping_pong")
)
"""The tests that this format has tables for."""


def as_gdrcopy(run: Run) -> str:
    """Write a run's windows as GDRCopy's tests print theirs, without what wasn't measured."""
    sections = [
        _latency(run, "window_write", "memcpy_pinned", "cuMemcpy_H2D"),
        _latency(run, "window_read", "memcpy_pinned", "cuMemcpy_D2H"),
        _latency(run, "window_write", "fenced", _TO),
        _latency(run, "window_read", "complete", _FROM),
        _bandwidth(run),
        _life(run),
        _round_trip(run),
    ]
    if not any(sections):
        reasons = [one.reason for one in run.results if one.test in GDRCOPY_TESTS and one.reason]
        why = reasons[0] if reasons else f"needs one of {', '.join(sorted(GDRCOPY_TESTS))}"
        raise UsageError(one_line(f"run {run.run.id} has nothing for --format gdrcopy: {why}"))
    lines = [*_head(run), *(line for section in sections for line in section)]
    return "\n".join(lines) + "\n"


def _head(run: Run) -> list[str]:
    device, warning = run.machine.device, emulated_warning(run.machine)
    bus = device.pci_address.partition(".")[0]
    windows = run.machine.windows
    return [
        f"isthmus {run.run.isthmus_version}, in the format of GDRCopy's tests",
        *([f"NOTE: {warning}"] if warning else []),
        f"GPU id:{device.ordinal}; name: {device.name}; Bus id: {bus}",
        f"selecting device {device.ordinal}",
        *([f"window backend: {windows.backend}, {windows.instructions}"] if windows else []),
        "",
    ]


def _latency(run: Run, test: str, metric: str, name: str) -> list[str]:
    results = _plain(run, test, metric)
    if not results:
        return []
    repeats = max((result.n or 0) * (result.copies_per_sample or 1) for result in results)
    tabs = "\t\t\t" if name.startswith("gdr") else "\t\t"
    return [
        f"{name} num iters for each size: {repeats}",
        *([_WARNING] if name == _TO else []),
        f"Test {tabs} Size(B) \t Median Time(us) \t Min. Time(us)",
        *(
            f"{name} \t {result.bytes:8d} \t {_us(result.median):11.4f} \t {_us(result.min):11.4f}"
            for result in results
        ),
        "",
    ]


def _bandwidth(run: Run) -> list[str]:
    lines = []
    tests = (("writing", "write"), ("reading", "read"))
    for doing, word in tests:
        test = f"window_bandwidth_{word}"
        for result in _plain(run, test, "bandwidth"):
            repeats = (result.n or 0) * (result.copies_per_sample or 1)
            numbers = f"median {_mb(result.median):.6g}MB/s, min {_mb(result.min):.6g}MB/s"
            lines += [
                f"{doing} test, size={result.bytes} offset=0 num_iters={repeats}",
                f"{word} BW: {numbers}",
            ]
    return [*lines, ""] if lines else []


def _life(run: Run) -> list[str]:
    steps = {step: _by_size(_plain(run, "window_lifecycle", step)) for step in _LIFE}
    sizes = sorted({size for found in steps.values() for size in found})
    if not sizes:
        return []
    heads = "\t".join(f"{step}.Time(us)" for step in _LIFE)
    lines = []
    for size in sizes:
        lines.append(f"Stat\tSize(B)\t{heads}")
        lines += [
            f"{name}\t{size}\t{_columns(steps, size, number)}" for name, number in _NUMBERS.items()
        ]
    return [*lines, ""]


def _columns(
    steps: Mapping[str, Mapping[int, Result]], size: int, number: Callable[[Result], float | None]
) -> str:
    """Write a step's times; "nan" for a step that the backend doesn't have."""
    found = (steps[step].get(size) for step in _LIFE)
    return "\t".join("nan" if one is None else f"{_us(number(one)):f}" for one in found)


def _round_trip(run: Run) -> list[str]:
    """The CPU's flag is in GPU memory, through a window; the GPU's flag is in host memory."""
    results = [
        result
        for result in _plain(run, "window_ping_pong", "round_trip")
        if (result.source, result.target, result.data) == ("device", "pinned", None)
    ]
    if not results:
        return []
    result = results[0]
    return [
        f"Running {result.n} iterations with flag size {result.bytes} bytes.",
        "",
        _PING_PONG,
        "CPU does the time measurement.",
        "",
        (
            f"Round-trip latency per iteration is (min) {_us(result.min):.4f}, "
            f"(median) {_us(result.median):.4f} us"
        ),
        "",
    ]


_NUMBERS: dict[str, Callable[[Result], float | None]] = {
    "median": lambda result: result.median,
    "min": lambda result: result.min,
}


def _plain(run: Run, test: str, metric: str) -> Sequence[Result]:
    """List a metric's results as GDRCopy measures: one thread, warm caches, near memory."""
    found = [
        result
        for result in run.results
        if (result.test, result.metric, result.status) == (test, metric, Status.PASSED)
        and (result.cpu_cache, result.num_threads) == ("warm", 1)
        and result.cpu_node in {None, "near"}
        and not result.axes
    ]
    return sorted(found, key=lambda result: result.bytes)


def _by_size(results: Iterable[Result]) -> dict[int, Result]:
    return {result.bytes: result for result in results}


def _us(seconds: float | None) -> float:
    return (seconds or 0.0) * _US_PER_S


def _mb(bytes_per_s: float | None) -> float:
    return (bytes_per_s or 0.0) / _BYTES_PER_MB
