"""Up to which size a window is faster than its alternatives: derived from other results."""

from collections.abc import Mapping, Sequence

from isthmus.measure.bench.tests.bench_test import PLAIN
from isthmus.measure.bench.tests.catalogue import BY_NAME, Metric, WindowKind, WindowTest
from isthmus.measure.run.derived_result import NOT_MEASURED
from isthmus.measure.run.result import Result, Status

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
