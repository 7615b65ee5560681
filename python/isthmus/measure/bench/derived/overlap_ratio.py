"""How close a pipeline comes to its longer half: derived from its three times."""

from collections.abc import Mapping, Sequence

from isthmus.measure.bench.metrics import Metric
from isthmus.measure.run.derived_result import NOT_MEASURED
from isthmus.measure.run.result import Failure, Result, Status

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
    update = NOT_MEASURED | {
        "metric": Metric.OVERLAP_RATIO.value,
        "unit": "1",
        "mean": None,
        "num_outliers": None,
        "clock_reasons": None,
        "first_call_s": None,
        "verified_on": None,
        "samples": None,
    }
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
