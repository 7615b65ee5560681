"""When pinning pays off, and the cost of a byte: derived from a run's other results."""

from collections.abc import Mapping

import pytest

from isthmus.bench.convert import NOT_MEASURED
from isthmus.bench.derived.allocation_fit import allocation_fits
from isthmus.bench.derived.break_even import break_evens, pinned_gains
from isthmus.run.result import Result, Status

_KIB, _MIB = 1 << 10, 1 << 20


def _result(  # noqa: PLR0913 - what a result is told by
    test: str,
    suite: str,
    metric: str,
    size_bytes: int,
    median: float,
    axes: Mapping[str, str | int],
    *,
    unit: str = "s",
    spread: float = 0.0,
) -> Result:
    numbers = {
        "median": median,
        "min": median * (1 - spread),
        "max": median * (1 + spread),
        "iqr": median * spread,
    }
    return Result.model_validate(
        NOT_MEASURED
        | numbers
        | {
            "test": test,
            "suite": suite,
            "status": Status.PASSED,
            "source": None,
            "target": None,
            "direction": None,
            "bytes": size_bytes,
            "metric": metric,
            "clock": "host",
            "blocked": False,
            "unit": unit,
            "first_call_s": 1.0,
            "verified_on": "host",
            "cpu_cache": "warm",
            "host_pages_by_node": None,
            "axes": dict(axes),
        }
    )


def _life(
    metric: str, memory: str, seconds: Mapping[int, float], spread: float = 0
) -> list[Result]:
    return [
        _result("host_memory_life", "alloc", metric, size, time, {"memory": memory}, spread=spread)
        for size, time in seconds.items()
    ]


def _one(results: list[Result], metric: str) -> Result:
    return next(result for result in results if result.metric == metric)


def test_pinning_pays_from_between_the_last_loss_and_the_first_win() -> None:
    pageable = _life("life_one_way", "pageable", {_KIB: 1.0, _MIB: 2.0, 4 * _MIB: 8.0})
    pinned = _life("life_one_way", "pinned", {_KIB: 3.0, _MIB: 4.0, 4 * _MIB: 4.0})
    found = _one(break_evens(pageable + pinned), "break_even_one_way")
    assert (found.status, found.unit, found.n) == (Status.PASSED, "B", 3)
    assert (found.min, found.max) == (_MIB, 4 * _MIB)
    # Twice the time at 1 MiB and half at 4 MiB: the middle of the two on logarithmic paper.
    assert found.median == pytest.approx(2 * _MIB)
    assert (found.first_call_s, found.verified_on, found.axes) == (None, None, {"memory": "pinned"})


def test_pinning_that_wins_small_and_loses_later_pays_only_after_the_loss() -> None:
    pageable = _life("life_one_way", "pageable", {_KIB: 2.0, _MIB: 2.0, 4 * _MIB: 8.0})
    pinned = _life("life_one_way", "pinned", {_KIB: 1.0, _MIB: 4.0, 4 * _MIB: 4.0})
    assert _one(break_evens(pageable + pinned), "break_even_one_way").min == _MIB


def test_pinning_that_never_pays_is_waived_with_the_largest_size() -> None:
    pageable = _life("life_both_ways", "pageable", {_KIB: 1.0, _MIB: 2.0})
    pinned = _life("life_both_ways", "pinned", {_KIB: 0.5, _MIB: 4.0})
    found = _one(break_evens(pageable + pinned), "break_even_both_ways")
    assert (found.status, found.median) == (Status.WAIVED, None)
    assert str(_MIB) in (found.reason or "")


def test_pinning_that_always_pays_does_so_from_the_smallest_size_or_less() -> None:
    pageable = _life("life_one_way", "pageable", {_KIB: 1.0, _MIB: 2.0})
    pinned = _life("life_one_way", "huge_pinned", {_KIB: 0.5, _MIB: 1.0})
    found = _one(break_evens(pageable + pinned), "break_even_one_way")
    assert (found.min, found.median, found.max) == (0, _KIB, _KIB)


def _steps(memory: str, have: float, upload: float, spread: float = 0) -> list[Result]:
    return [
        *_life("allocate", memory, {_MIB: have * 0.75}, spread),
        *_life("free", memory, {_MIB: have * 0.25}, spread),
        *_life("life_upload", memory, {_MIB: upload}, spread),
    ]


def test_memory_has_paid_after_its_extra_cost_over_what_each_upload_saves() -> None:
    results = _steps("pageable", 2.0, 3.0) + _steps("pinned", 8.0, 1.0)
    found = _one(break_evens(results), "break_even_copies")
    assert (found.unit, found.bytes) == ("1", _MIB)
    assert [found.min, found.median, found.max] == pytest.approx([3.0, 3.0, 3.0])


def test_the_number_of_uploads_lies_between_what_the_quartiles_allow() -> None:
    results = _steps("pageable", 2.0, 3.0, 0.1) + _steps("pinned", 8.0, 1.0, 0.1)
    found = _one(break_evens(results), "break_even_copies")
    # By hand, quartiles 5 % to each side of a median. To have it costs 8 - 2 = 6 more, at least
    # 7.6 - 2.1 = 5.5, at most 8.4 - 1.9 = 6.5. An upload saves 3 - 1 = 2, at least 2.85 - 1.05 =
    # 1.8, at most 3.15 - 0.95 = 2.2.
    by_hand = [5.5 / 2.2, 6 / 2, 6.5 / 1.8]
    assert [found.min, found.median, found.max] == pytest.approx(by_hand)
    assert found.iqr == pytest.approx(by_hand[2] - by_hand[0])


def test_a_number_of_uploads_without_a_sure_saving_has_no_upper_end() -> None:
    results = _steps("pageable", 2.0, 1.1, 0.4) + _steps("pinned", 8.0, 1.0, 0.4)
    found = _one(break_evens(results), "break_even_copies")
    # An upload saves 0.1 by the medians, and by the quartiles between 0.88 - 1.2 and 1.32 - 0.8.
    assert found.median == pytest.approx(60)
    assert found.min == pytest.approx((6.4 - 2.4) / (1.32 - 0.8))
    assert (found.max, found.iqr) == (None, None)


def test_the_crossing_of_two_curves_is_where_their_ratio_is_one_on_logarithmic_paper() -> None:
    pageable = _life("life_one_way", "pageable", {_MIB: 1.0, 16 * _MIB: 16.0})
    pinned = _life("life_one_way", "pinned", {_MIB: 8.0, 16 * _MIB: 8.0})
    # 8 times at 1 MiB and half at 16 MiB: three of the four halvings are needed for a ratio of 1,
    # and so three of the four doublings of the size.
    found = _one(break_evens(pageable + pinned), "break_even_one_way")
    assert found.median == pytest.approx(8 * _MIB)


def test_memory_whose_uploads_are_no_quicker_never_pays() -> None:
    results = _steps("pageable", 2.0, 1.0) + _steps("pinned", 8.0, 1.0)
    found = _one(break_evens(results), "break_even_copies")
    assert (found.status, found.reason) == (
        Status.WAIVED,
        "an upload from it takes no less time",
    )


def test_memory_that_is_cheaper_to_have_has_paid_at_once() -> None:
    results = _steps("pageable", 2.0, 3.0) + _steps("huge_pinned", 1.0, 1.0)
    assert _one(break_evens(results), "break_even_copies").median == 0


def test_memory_that_is_cheaper_to_have_may_still_cost_more_by_the_quartiles() -> None:
    results = _steps("pageable", 2.0, 3.0, 0.4) + _steps("huge_pinned", 1.9, 1.0, 0.4)
    found = _one(break_evens(results), "break_even_copies")
    # At most 2.28 - 1.6 more to have, at least 2.4 - 1.2 saved by an upload.
    assert [found.min, found.median, found.max] == pytest.approx([0, 0, 0.68 / 1.2])


def test_memory_that_is_cheaper_to_have_and_slower_to_copy_is_only_ahead_for_so_many_uploads() -> (
    None
):
    results = _steps("pageable", 4.0, 1.0) + _steps("pinned", 1.0, 2.5)
    found = _one(break_evens(results), "break_even_copies")
    assert (found.status, found.median) == (Status.WAIVED, None)
    assert (found.reason or "").endswith("ahead for 2.0 only")


def test_nothing_is_compared_that_was_not_measured() -> None:
    assert break_evens(_life("life_one_way", "pinned", {_KIB: 1.0})) == []
    assert break_evens([]) == []


def _rate(memory: str, bytes_per_s: float, spread: float) -> Result:
    return _result(
        "host_to_device_pinned_vs_pageable",
        "pinned_vs_pageable",
        "bandwidth",
        _MIB,
        bytes_per_s,
        {"memory": memory},
        unit="B/s",
        spread=spread,
    )


def test_a_large_copys_gain_is_pinned_over_pageable_with_what_both_spread() -> None:
    (gain,) = pinned_gains([_rate("pageable", 5e9, 0.2), _rate("pinned", 50e9, 0.0)])
    assert (gain.metric, gain.unit) == ("pinned_gain", "1")
    assert [gain.min, gain.median, gain.max] == pytest.approx([10 / 1.1, 10, 10 / 0.9])
    assert pinned_gains([_rate("pinned", 50e9, 0.0)]) == []


def _pairs(seconds: Mapping[int, float]) -> list[Result]:
    return [
        _result("alloc_cuda_malloc", "alloc", "pair", size, time, {"live": 64 if size < 9 else 2})
        for size, time in seconds.items()
    ]


def test_a_byte_more_costs_what_the_line_through_all_sizes_says() -> None:
    sizes = [4, 4 * _KIB, 64 * _KIB, _MIB, 16 * _MIB]
    start, rate, error = allocation_fits(_pairs({size: 1e-5 + size / 2e9 for size in sizes}))
    assert (start.metric, rate.metric) == ("allocation_start", "allocation_rate")
    assert start.median == pytest.approx(1e-5)
    assert rate.median == pytest.approx(2e9)
    assert error.median == pytest.approx(0, abs=1e-9)
    assert (start.n, start.axes) == (5, {})


def test_bytes_that_cost_nothing_have_no_rate() -> None:
    sizes = [4, 4 * _KIB, 64 * _KIB, _MIB, 16 * _MIB]
    _, rate, _ = allocation_fits(_pairs({size: 1e-5 + size * 1e-15 for size in sizes}))
    assert rate.status == Status.WAIVED
    assert "16 MiB" in (rate.reason or "")
