"""Compares the metrics of a small copy with each other."""

import statistics
from collections.abc import Mapping

from isthmus.errors import ImpossibleTime
from isthmus.measure.bench.metrics import EVENT_METRICS, Metric
from isthmus.measure.bench.session import Measurement

# The fastest driver call that does no work takes longer: cuPointerGetAttributes, 60 to 100 ns
# (benchmarks/transfer/README.md); and no event sees less than a clock's tick of
# 32 ns (kernels/portable.cuh).
_MIN_DRIVER_CALL_S = 20e-9
_MIN_EVENT_TIME_S = 10e-9
# The time between events is part of the CPU's wait; a copy behind a gate had to be woken first.
_MAX_COMPLETIONS = 50.0


def check_latencies(found: Measurement, *, by_driver: bool) -> None:
    """Compare a small copy's metrics with each other and with the limits of what is possible."""
    medians = {s.metric: statistics.median(s.seconds) for s in found.samples if s.seconds}
    if by_driver:
        _check_shortest(medians)
    # A wrong clock is wrong in every sample; a thread that lost its core disturbs some of them.
    deltas = [one for s in found.samples if s.metric == Metric.EVENT_DELTA for one in s.seconds]
    delta, completion = min(deltas, default=None), medians.get(Metric.COMPLETION)
    if delta is not None and completion is not None and delta > _MAX_COMPLETIONS * completion:
        raise ImpossibleTime(
            f"the GPU's clock says {delta:.3g} s of a copy that the CPU saw done in "
            f"{completion:.3g} s: a wrong unit, or a wrong clock"
        )


def _check_shortest(medians: Mapping[str, float]) -> None:
    for metric, median in medians.items():
        least = _MIN_EVENT_TIME_S if metric in EVENT_METRICS else _MIN_DRIVER_CALL_S
        if metric != Metric.EVENT_FLOOR and 0 < median < least:
            raise ImpossibleTime(
                f"{metric}: {median:.3g} s is less than any call of a driver takes: "
                "a wrong unit, or a wrong clock"
            )
