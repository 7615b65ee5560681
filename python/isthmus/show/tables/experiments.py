"""The table of the small-copy experiments: average, minimum and maximum over their runs."""

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.numbers import microseconds
from isthmus.show.page import Table

_NAMES = {
    "kernel_then_copy_cpu_clock": "download, CPU clock",
    "kernel_then_copy_gpu_clock": "download, GPU clock",
    "copy_kernel_copy": "copies around a kernel",
}
_WORDS = {
    "async_over_blocking": "async / blocking",
    "upload": "H2D",
    "download": "D2H",
    "both_ways": "H2D + D2H",
    "download_over_upload": "D2H / H2D",
}
_HEADS = ("experiment", "bytes", "what", "average", "min", "max")
_SAME_STREAM = (
    "download: after a kernel on the same stream, so nothing overlaps; the ways differ in the cost "
    "of calls and waits (async waits once per run)"
)


def experiment_tables(run: Run) -> list[Table]:
    """Lay out every requested experiment."""
    results = [result for result in _experiments(run) if result.status != Status.WAIVED]
    if not results:
        return []
    return [
        Table(
            title="Small copies in experiments, microseconds per iteration (ratios: times)",
            heads=_HEADS,
            rows=tuple(map(_row, results)),
            num_text_columns=3,
        )
    ]


def experiment_notes(run: Run) -> list[str]:
    """Tell the reader why async copies are compared."""
    results = _experiments(run)
    if not any(result.metric == "async_over_blocking" and result.median for result in results):
        return []
    return [_SAME_STREAM]


def _experiments(run: Run) -> list[Result]:
    return [result for result in run.results if result.test in _NAMES]


def _row(result: Result) -> tuple[str, ...]:
    start = (
        _NAMES[result.test],
        format_size(result.bytes),
        _WORDS.get(result.metric, result.metric),
    )
    if result.median is None:
        return (*start, result.status.value, "", "")
    return (*start, *(_number(result, value) for value in (result.mean, result.min, result.max)))


def _number(result: Result, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}x" if result.unit == "1" else microseconds(value)
