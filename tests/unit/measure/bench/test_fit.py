import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.measure.bench.derived.fit import fit_line, fits
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.bench_test import BenchTest, Variation
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.run.result import Result

SIZES = [4, 64, 1024, 16384, 1 << 20, 1 << 28]
START_S, S_PER_BYTE = 2e-6, 1 / 55e9


def line_times(start: float = START_S, slope: float = S_PER_BYTE) -> dict[int, float]:
    return {size: start + slope * size for size in SIZES}


def measured(
    test: str, times: dict[int, float], variation: Variation | None = None
) -> list[Result]:
    def answer(asked: BenchTest, size_bytes: int) -> FakeMeasurement:
        del asked
        return FakeMeasurement([FakeSamples("copy_time", [times[size_bytes]])])

    points = [
        Point(BY_NAME[test], size, *([] if variation is None else [variation])) for size in times
    ]
    return run_points(
        FakeSession(answer), points, RunSettings(budget_s=1.0, keep_samples=True), Watcher()
    ).results


@given(
    start=st.floats(1e-7, 1e-4, allow_nan=False),
    bytes_per_s=st.floats(1e8, 1e12, allow_nan=False),
)
def test_a_line_is_found_again_from_its_own_times(start: float, bytes_per_s: float) -> None:
    line = fit_line(line_times(start, 1 / bytes_per_s))
    assert line is not None
    assert math.isclose(line.start_s, start, rel_tol=1e-6)
    assert math.isclose(1 / line.s_per_byte, bytes_per_s, rel_tol=1e-6)
    assert math.isclose(line.half_bandwidth_bytes, start * bytes_per_s, rel_tol=1e-6)
    assert line.worst_error < 1e-6


def test_a_copy_of_half_the_bandwidth_takes_twice_as_long_as_its_bytes() -> None:
    line = fit_line(line_times())
    assert line is not None
    size = line.half_bandwidth_bytes
    assert (line.start_s + size * line.s_per_byte) / (size * line.s_per_byte) == pytest.approx(2)


def test_the_error_says_how_far_a_time_is_from_the_line() -> None:
    line = fit_line(line_times() | {16384: 2 * line_times()[16384]})
    assert line is not None
    assert 0.2 < line.worst_error < 0.8


def test_a_start_below_zero_is_no_start() -> None:
    line = fit_line({size: size * 1e-9 * (1 if size > 1000 else 0.5) for size in SIZES})
    assert line is not None
    assert line.start_s == 0


@pytest.mark.parametrize(
    "times",
    [
        dict.fromkeys(SIZES[:4], 1e-06),
        {size: 1e-6 * size for size in (100, 110, 120, 130, 140)},
    ],
    ids=["too few sizes", "sizes too near to each other"],
)
def test_what_says_nothing_about_a_line_has_none(times: dict[int, float]) -> None:
    assert fit_line(times) is None


def test_times_that_do_not_grow_have_no_bandwidth() -> None:
    assert fit_line({size: 1 / size for size in SIZES}) is None


def test_a_sweep_gets_four_results_in_their_own_units() -> None:
    found = fits(measured("host_to_device_memcpy_registered", line_times()))
    values: dict[str, Any] = {result.metric: (result.unit, result.median) for result in found}
    assert values["fit_start"] == ("s", pytest.approx(START_S))
    assert values["fit_bandwidth"] == ("B/s", pytest.approx(1 / S_PER_BYTE))
    assert values["half_bandwidth_size"] == ("B", pytest.approx(START_S / S_PER_BYTE))
    assert values["fit_error"] == ("1", pytest.approx(0, abs=1e-9))
    assert {(r.source, r.target, r.n, r.samples) for r in found} == {
        ("registered", "device", len(SIZES), None)
    }


def test_each_circumstance_has_a_line_of_its_own() -> None:
    name = "host_to_device_memcpy_contents"
    results = [
        result
        for what, factor in (("random", 1), ("zeros", 0.5))
        for result in measured(
            name,
            {size: factor * time for size, time in line_times().items()},
            Variation(axes=(("contents", what),)),
        )
    ]
    starts = {
        str(result.axes["contents"]): result.median
        for result in fits(results)
        if result.metric == "fit_start"
    }
    assert starts == {
        "random": pytest.approx(START_S),
        "zeros": pytest.approx(START_S / 2),
    }


def test_what_failed_is_in_no_line() -> None:
    results = measured("host_to_device_memcpy_pool", line_times())
    assert fits(results[:4]) == []
