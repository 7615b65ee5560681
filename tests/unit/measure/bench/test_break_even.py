"""When pinning pays off, and the cost of a byte: derived from a run's other results."""

from collections.abc import Mapping

import pytest

from isthmus.ground.life import Life
from isthmus.measure.bench.derived.fit import allocation_fits
from isthmus.measure.run.break_even import break_evens, pinned_gains, with_both_lives
from isthmus.measure.run.result import NOT_MEASURED, Result, Status

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


_Seconds = Mapping[int, float]


def _lives(memory: str, seconds: _Seconds) -> list[Result]:
    """Lives of which all but a thousandth is the upload, as is the download."""
    parts = {"allocate": 5e-4, "free": 5e-4, "life_upload": 0.999, "life_download": 0.999}
    return [
        _result("host_memory_life", "alloc", step, size, time * part, {"memory": memory})
        for size, time in seconds.items()
        for step, part in parts.items()
    ]


def _blocks(test: str, seconds: _Seconds, suffix: str = "", **axes: str) -> list[Result]:
    return [
        _result(test, "alloc", f"{step}{suffix}", size, time / 2, {"live": 64, **axes})
        for size, time in seconds.items()
        for step in ("allocate", "free")
    ]


def _first_time(pageable: _Seconds, memory: str, pinned: _Seconds) -> list[Result]:
    return break_evens(_lives("pageable", pageable) + _lives(memory, pinned))


def _one(results: list[Result], metric: str, life: Life = Life.FIRST_TIME) -> Result:
    return next(r for r in results if (r.metric, r.axes["life"]) == (metric, life))


def test_pinning_pays_from_between_the_last_loss_and_the_first_win() -> None:
    pageable, pinned = {_KIB: 1.0, _MIB: 2.0, 4 * _MIB: 8.0}, {_KIB: 3.0, _MIB: 4.0, 4 * _MIB: 4.0}
    found = _one(_first_time(pageable, "registered", pinned), "break_even_one_way")
    assert (found.status, found.unit, found.n) == (Status.PASSED, "B", 3)
    assert (found.min, found.max) == (_MIB, 4 * _MIB)
    # Twice the time at 1 MiB and half at 4 MiB: the middle of the two on logarithmic paper.
    assert found.median == pytest.approx(2 * _MIB)
    assert (found.first_call_s, found.verified_on) == (None, None)
    assert found.axes == {"memory": "registered", "life": "first time"}


def test_pinning_that_wins_small_and_loses_later_pays_only_after_the_loss() -> None:
    pageable, pinned = {_KIB: 2.0, _MIB: 2.0, 4 * _MIB: 8.0}, {_KIB: 1.0, _MIB: 4.0, 4 * _MIB: 4.0}
    found = _first_time(pageable, "registered", pinned)
    assert _one(found, "break_even_one_way").min == _MIB


def test_pinning_that_never_pays_is_waived_with_the_largest_size() -> None:
    found = _first_time({_KIB: 1.0, _MIB: 2.0}, "registered", {_KIB: 0.5, _MIB: 4.0})
    one = _one(found, "break_even_both_ways")
    assert (one.status, one.median) == (Status.WAIVED, None)
    assert str(_MIB) in (one.reason or "")


def test_pinning_that_always_pays_does_so_from_the_smallest_size_or_less() -> None:
    found = _first_time({_KIB: 1.0, _MIB: 2.0}, "huge_pinned", {_KIB: 0.5, _MIB: 1.0})
    one = _one(found, "break_even_one_way")
    assert (one.min, one.median, one.max) == (0, _KIB, _KIB)


def test_the_crossing_of_two_curves_is_where_their_ratio_is_one_on_logarithmic_paper() -> None:
    pageable, pinned = {_MIB: 1.0, 16 * _MIB: 16.0}, {_MIB: 8.0, 16 * _MIB: 8.0}
    # 8 times at 1 MiB and half at 16 MiB: three of the four halvings are needed for a ratio of 1,
    # and so three of the four doublings of the size.
    found = _one(_first_time(pageable, "registered", pinned), "break_even_one_way")
    assert found.median == pytest.approx(8 * _MIB)


def _kept_blocks() -> list[Result]:
    """Copies take 1 s, from pinned memory half. Both keep 1 MiB; 64 MiB have new pages always."""
    copies = dict.fromkeys((_MIB, 64 * _MIB), 1.0)
    lives = [
        *_lives("pageable", copies),
        *_lives("pinned", dict.fromkeys(copies, 0.5)),
    ]
    return [
        *(r for r in lives if r.metric.startswith("life_")),
        *_blocks("host_memory_life", {_MIB: 5.0, 64 * _MIB: 300.0}, memory="pageable"),
        *_blocks("host_memory_life", {_MIB: 0.1, 64 * _MIB: 200.0}, memory="pinned"),
        *_blocks("alloc_malloc", {_MIB: 0.01, 64 * _MIB: 300.0}, pages="touched"),
        *_blocks("alloc_cuda_malloc_host", {_MIB: 2.0, 64 * _MIB: 200.0}),
        *_blocks("alloc_cuda_malloc_host", {_MIB: 9.0}, "_live"),
    ]


def test_steady_kept_blocks_of_malloc_meet_those_of_the_driver() -> None:
    found = _one(break_evens(_kept_blocks()), "break_even_one_way", Life.STEADY)
    # 1.01 s against 2.5 s; 301 against 200.5.
    assert (found.min, found.max) == (_MIB, 64 * _MIB)


def test_the_first_time_new_pages_meet_new_pages() -> None:
    """Malloc's new pages against the driver's kept block said: 64 KiB or less."""
    found = _one(break_evens(_kept_blocks()), "break_even_one_way")
    # 6 s against 9.5 s of blocks that stay alive, not against 0.6 s of one that was kept.
    assert (found.min, found.max) == (_MIB, 64 * _MIB)


def test_lives_with_kept_blocks_alone_say_nothing_about_pinned_memory() -> None:
    assert _first_time({_KIB: 1.0, _MIB: 2.0}, "pinned", {_KIB: 0.5, _MIB: 1.0}) == []


def test_runs_that_told_no_lives_apart_are_read_with_both() -> None:
    measured = _kept_blocks()
    old = measured[0].model_copy(update={"metric": "break_even_one_way", "median": 65536.0})
    read = with_both_lives([*measured, old])
    assert read == [*measured, *break_evens(measured)]
    assert {r.axes["life"] for r in read if r.metric.startswith("break_even_")} == set(Life)
    assert with_both_lives(read) == read


def test_nothing_is_compared_that_was_not_measured() -> None:
    assert break_evens(_lives("pinned", {_KIB: 1.0})) == []
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
