"""At which rate results of the emulated device say that bytes crossed its modelled link."""

from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Suite
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.run.model import Result, Run, Status

# The profile `small`, cpp/emulator/src/machine/profiles.cpp.
LINK_BYTES_PER_S = 3e9
# What rounding and the fit of a line may add.
TOLERANCE = 1.02
# Suites whose bytes stay on one side, or whose rates aren't those of copies.
ELSEWHERE = {Suite.HOST, Suite.ALLOC}
BOTH_WAYS = {"duplex_memcpy_ce", "duplex_overlap"}
# Times at whose end all bytes have crossed.
COMPLETE = {
    Metric.COMPLETION,
    Metric.EVENT_DELTA,
    Metric.RECIPROCAL_THROUGHPUT,
    Metric.FENCED,
    Metric.COMPLETE,
    Metric.MEMCPY_PINNED,
    Metric.MEMCPY_PAGEABLE,
}


def bytes_per_s(result: Result) -> float | None:
    """Give the rate at which a result's bytes crossed the link; None if it doesn't say."""
    test = BY_NAME[result.test]
    if result.status != Status.PASSED or test.suite in ELSEWHERE or result.bytes is None:
        return None
    metric = Metric(result.metric)
    crossed = metric in COMPLETE or (metric in test.metrics and test.moves_all(metric))
    if not crossed or not result.median:
        return None
    return result.median if result.unit == "B/s" else result.bytes / result.median


def too_fast(run: Run) -> list[str]:
    """List the results whose bytes were faster than the modelled link."""
    found = []
    for result in run.results:
        rate = bytes_per_s(result)
        limit = LINK_BYTES_PER_S * TOLERANCE * (2 if result.test in BOTH_WAYS else 1)
        if rate is not None and rate > limit:
            found.append(f"{result.test} {result.metric} {result.bytes} B: {rate / 1e9} GB/s")
    return found
