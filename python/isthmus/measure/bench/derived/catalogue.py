"""The results that are derived when a run's results are complete, area by area."""

from collections.abc import Callable, Mapping, Sequence

from isthmus.measure.bench.derived.fit import allocation_fits, fits
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN
from isthmus.measure.bench.tests.catalogue import BY_NAME, WindowKind, WindowTest
from isthmus.measure.run.break_even import break_evens, pinned_gains
from isthmus.measure.run.result import NOT_DERIVED, NOT_MEASURED, Failure, Result, Status

_OURS = {WindowKind.WRITE: Metric.FENCED, WindowKind.READ: Metric.COMPLETE}
_PUSH = "window_push"
_RIVALS = {
    Metric.CROSSOVER_PINNED: Metric.MEMCPY_PINNED,
    Metric.CROSSOVER_PAGEABLE: Metric.MEMCPY_PAGEABLE,
    Metric.CROSSOVER_PUSH: Metric.ASKED,
}
# Test, metric, threads, cache: a combination with one time at each size.
_Curve = tuple[str, str, int, str]


def crossovers(results: Sequence[Result]) -> list[Result]:
    """
    Compare each way of copying through a window with each alternative: the largest size up to which
    the window is faster at every size (0: at none), and the largest that was compared.
    """
    curves = _curves(results)
    found = []
    for ours, times in curves.items():
        test = BY_NAME.get(ours[0])
        if isinstance(test, WindowTest) and ours[1] == _OURS.get(test.kind):
            for metric in test.derived:
                rival = curves.get(_rival(metric, ours), {})
                found += _compare(test, metric, ours, times, rival)
    return found


def _curves(results: Sequence[Result]) -> dict[_Curve, dict[int, float]]:
    curves: dict[_Curve, dict[int, float]] = {}
    for result in results:
        if result.status == Status.PASSED and result.median is not None:
            key = (result.test, result.metric, result.num_threads, result.cpu_cache)
            curves.setdefault(key, {})[result.bytes] = result.median
    return curves


def _rival(metric: Metric, ours: _Curve) -> _Curve:
    """CUDA's copies have no threads of ours, and a kernel's stores have no CPU cache."""
    test, _, _, cache = ours
    if metric == Metric.CROSSOVER_PUSH:
        return (_PUSH, _RIVALS[metric], PLAIN.num_threads, PLAIN.cpu_cache)
    return (test, _RIVALS[metric], PLAIN.num_threads, cache)


def _compare(
    test: WindowTest,
    metric: Metric,
    ours: _Curve,
    times: Mapping[int, float],
    rival: Mapping[int, float],
) -> list[Result]:
    sizes = sorted(times.keys() & rival.keys())
    if not sizes:
        return []
    won = 0
    for size in sizes:
        if times[size] >= rival[size]:
            break
        won = size
    source, target = test.ends(Metric(ours[1]), PLAIN)
    numbers = {"median": won, "min": won, "max": won, "p99": won, "iqr": 0, "n": len(sizes)}
    return [
        Result(
            test=test.name,
            suite=test.suite.value,
            status=Status.PASSED,
            source=source,
            target=target,
            direction=test.direction and test.direction.value,
            bytes=sizes[-1],
            metric=metric.value,
            clock="host",
            blocked=False,
            unit="B",
            first_call_s=None,
            verified_on=None,
            host_pages_by_node=None,
            cpu_cache=ours[3],
            num_threads=ours[2],
            **(NOT_MEASURED | numbers),
        )
    ]


# A pipeline can't end before its longer half. If something delayed the half that ran alone, there
# is no ratio. A difference larger than this has another cause.
_MIN_RATIO = 0.9
_MIN_BELIEVED = 0.2
_HALVES = (Metric.COPY_ALONE, Metric.COMPUTE_ALONE)


def overlap_ratios(results: Sequence[Result]) -> list[Result]:
    """
    Divide each pipeline's time by that of its longer half: 1 if the shorter half is hidden, 2 if
    nothing is and both are equal. Less than 1 is waived; so much less that a clock is wrong is an
    error.
    """
    return [
        _ratio(times)
        for times in _pipelines(results).values()
        if {Metric.TOGETHER, *_HALVES} <= times.keys()
    ]


def _pipelines(results: Sequence[Result]) -> dict[tuple[object, ...], dict[str, Result]]:
    pipelines: dict[tuple[object, ...], dict[str, Result]] = {}
    for result in results:
        if result.suite == "overlap" and result.status == Status.PASSED:
            key = (result.test, result.bytes, *sorted(result.axes.items()))
            pipelines.setdefault(key, {})[result.metric] = result
    return pipelines


def _ratio(times: Mapping[str, Result]) -> Result:
    together = times[Metric.TOGETHER]
    longest = max(_median(times[half]) for half in _HALVES)
    ratio = _median(together) / longest
    update = NOT_DERIVED | {"metric": Metric.OVERLAP_RATIO.value, "unit": "1"}
    if ratio < _MIN_RATIO:
        return together.model_copy(update=update | _impossible(ratio))
    numbers = dict.fromkeys(("median", "min", "max", "p99"), ratio)
    return together.model_copy(update=update | numbers | {"iqr": 0.0, "n": together.n})


def _impossible(ratio: float) -> dict[str, object]:
    words = f"the pipeline took {ratio:.2f} of the time of its longer half"
    if ratio < _MIN_BELIEVED:
        failure = Failure(symbol=None, code=None, code_name=None, message=f"{words}: impossible")
        return {"status": Status.ERROR, "error": failure}
    reason = f"discarded: {words}, so another program interfered"
    return {"status": Status.WAIVED, "reason": reason}


def _median(result: Result) -> float:
    return result.median or 0.0


_AREAS: tuple[Callable[[Sequence[Result]], list[Result]], ...] = (
    crossovers,
    fits,
    allocation_fits,
    break_evens,
    pinned_gains,
    overlap_ratios,
)


def derived(results: Sequence[Result]) -> list[Result]:
    """Derive results from those that were measured."""
    return [found for derive in _AREAS for found in derive(results)]
